import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { newConnections } from './provider/drills/connections.ts'
import {
  type ArrangedFault,
  arrange,
  faultFor,
  type StorageFault,
  strike,
  withheld,
} from './storage-faults.ts'

/** A call to the tables, as it went by. */
export interface StorageCall {
  seq: number
  /** `BatchGetItem`, `TransactWriteItems` … */
  operation: string
  /** a fault met it */
  struck: boolean
  /** items that the engine read for a query or a scan, whether or not it told of them */
  scanned: number
}

/**
 * A place between functions and engine where calls are counted and made to fail: tests assert numbers of round
 * trips with it, and try every point at which a request may crash. Commands come over HTTP, so that tests in
 * other processes can use it: `POST /_tap/calls`, `/_tap/reset`, `/_tap/fault`, `/_tap/release`, `/_tap/drop`.
 */
export interface StorageTap {
  url: string
  close(): Promise<void>
}

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

const MOST_REMEMBERED = 10_000

export async function startStorageTap(engineUrl: string): Promise<StorageTap> {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const target = new URL(engineUrl)
  let calls: StorageCall[] = []
  let faults: ArrangedFault[] = []
  const held: (() => void)[] = []
  let seq = 0
  const connections = newConnections()

  const forward = ({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const outgoing = request(
        {
          host: target.hostname,
          port: target.port,
          method,
          path: url,
          headers: { ...headers, 'content-length': body.length },
          agent,
        },
        answer => {
          contentOf(answer).then(
            content => resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body: content }),
            reject,
          )
        },
      )
      outgoing.on('error', reject)
      outgoing.end(body)
    })

  async function pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const operation = String(incoming.headers['x-amz-target'] ?? '').split('.')[1] ?? ''
    const body = await contentOf(incoming)
    if (!connections.lives(incoming.socket)) return void incoming.socket.resetAndDestroy()
    const fault = faultFor(faults, operation, String(incoming.headers['amz-sdk-invocation-id']))
    seq += 1
    const call = { seq, operation, struck: fault !== undefined, scanned: 0 }
    calls.push(call)
    if (calls.length > MOST_REMEMBERED) calls = calls.slice(-MOST_REMEMBERED / 2)
    if (fault?.kind === 'delay') await setTimeout(fault.delayMs)
    if (fault?.kind === 'hold') await new Promise<void>(resolve => held.push(resolve))
    if (fault?.kind === 'unprocessed') return answerWith(response, await partly(incoming, body))
    if (fault?.when === 'before') return strike(fault, response)
    const answer = await forward(incoming, body)
    call.scanned = scannedIn(answer.body)
    if (fault?.when === 'after') return strike(fault, response)
    answerWith(response, answer)
  }

  /** Part of a batch read, the rest named as not processed. */
  async function partly(incoming: IncomingMessage, body: Buffer): Promise<Answer> {
    const { asked, left } = withheld(body)
    const answer = await forward(incoming, asked)
    const content = JSON.parse(answer.body.toString('utf8')) as object
    return { ...answer, body: Buffer.from(JSON.stringify({ ...content, UnprocessedKeys: left })) }
  }

  async function command(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await contentOf(incoming)).toString('utf8')
    if (incoming.url === '/_tap/fault') faults.push(arrange(JSON.parse(body) as StorageFault))
    if (incoming.url === '/_tap/drop') connections.drop()
    const answer = JSON.stringify({ calls, held: held.length })
    if (incoming.url === '/_tap/reset') calls = []
    if (incoming.url === '/_tap/reset' || incoming.url === '/_tap/release') {
      faults = incoming.url === '/_tap/reset' ? [] : faults.filter(({ fault }) => fault.kind !== 'hold')
      for (const go of held.splice(0)) go()
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(answer)
  }

  const server = createServer((incoming, response) => {
    const work = incoming.url?.startsWith('/_tap/') ? command(incoming, response) : pass(incoming, response)
    work.catch(() => response.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    close: () => {
      server.closeAllConnections()
      agent.destroy()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
}

const scannedIn = (body: Buffer): number =>
  Number(/"ScannedCount":(\d+)/.exec(body.toString('latin1'))?.[1] ?? 0)

async function contentOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function answerWith(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, 'content-length': body.length })
  response.end(body)
}
