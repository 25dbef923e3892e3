import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'

/** A call to the tables, as it went by. */
export interface StorageCall {
  seq: number
  /** `BatchGetItem`, `TransactWriteItems` … */
  operation: string
}

/** What to do to one of the next calls. */
export interface StorageFault {
  /** how many calls pass first */
  skip: number
  /** before: the engine never sees the call; after: its effect takes place, the answer is lost */
  when: 'before' | 'after'
  /** `reset` breaks the connection; the others are errors as the engine would send them */
  kind: 'reset' | 'error' | 'throttle' | 'conflict'
  /** only calls of this operation count */
  operation?: string
  /** how many calls in a row are struck; default 1 */
  times?: number
}

/**
 * A place between functions and engine where calls are counted and made to fail: tests assert numbers of round
 * trips with it, and try every point at which a request may crash. Commands come over HTTP, so that tests in
 * other processes can use it: `POST /_tap/calls`, `/_tap/reset`, `/_tap/fault`.
 */
export interface StorageTap {
  url: string
  close(): Promise<void>
}

const MOST_REMEMBERED = 10_000

export async function startStorageTap(engineUrl: string): Promise<StorageTap> {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const target = new URL(engineUrl)
  let calls: StorageCall[] = []
  let faults: (StorageFault & { seen: number })[] = []
  let seq = 0

  function faultFor(operation: string): StorageFault | undefined {
    for (const fault of faults) {
      if (fault.operation !== undefined && fault.operation !== operation) continue
      fault.seen += 1
      if (fault.seen > fault.skip && fault.seen <= fault.skip + (fault.times ?? 1)) return fault
    }
    return undefined
  }

  const server = createServer((incoming, response) => {
    if (incoming.url?.startsWith('/_tap/')) return void command(incoming, response)
    const operation = String(incoming.headers['x-amz-target'] ?? '').split('.')[1] ?? ''
    seq += 1
    calls.push({ seq, operation })
    if (calls.length > MOST_REMEMBERED) calls = calls.slice(-MOST_REMEMBERED / 2)
    const fault = faultFor(operation)
    if (fault?.when === 'before') return strike(fault, response)
    const outgoing = request(
      {
        host: target.hostname,
        port: target.port,
        method: incoming.method,
        path: incoming.url,
        headers: incoming.headers,
        agent,
      },
      answer => {
        if (fault) {
          answer.resume()
          return strike(fault, response)
        }
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
    outgoing.on('error', () => response.destroy())
    incoming.pipe(outgoing)
  })

  async function command(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString('utf8')) : {}
    if (incoming.url === '/_tap/fault') faults.push({ ...(body as StorageFault), seen: 0 })
    const answer = JSON.stringify({ calls })
    if (incoming.url === '/_tap/reset') {
      calls = []
      faults = []
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(answer)
  }

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

const errors = {
  error: { status: 500, type: 'InternalServerError' },
  throttle: { status: 400, type: 'ProvisionedThroughputExceededException' },
  conflict: { status: 400, type: 'TransactionCanceledException' },
} as const

function strike({ kind }: StorageFault, response: ServerResponse): void {
  if (kind === 'reset') {
    response.destroy()
    return
  }
  const { status, type } = errors[kind]
  const reasons = kind === 'conflict' ? { CancellationReasons: [{ Code: 'TransactionConflict' }] } : {}
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' })
  response.end(
    JSON.stringify({
      __type: `com.amazonaws.dynamodb.v20120810#${type}`,
      message: 'struck by the tap',
      ...reasons,
    }),
  )
}
