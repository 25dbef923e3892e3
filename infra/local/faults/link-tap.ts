import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import type { TlsSecrets } from '../gateway/tls.ts'
import { endServer, listen } from '../os/loopback.ts'
import { keepNewest } from '../provider/faults/kept.ts'

/** What happens to calls of the link, as networks do it. */
export type LinkFault = {
  /** how many calls it meets; default 1 */
  times?: number
} & (
  | {
      /**
       * `drop-request`: it never arrives. `drop-answer`: it arrives, and nobody hears so. `duplicate`: it arrives twice, and
       * the second answer is lost. `reorder`: it arrives after the next one, or some seconds later where none comes.
       */
      kind: 'drop-request' | 'drop-answer' | 'duplicate' | 'reorder'
    }
  | { kind: 'delay'; ms: number }
  /** the answer breaks off behind so many bytes */
  | { kind: 'truncate'; bytes: number }
)

/** Where nothing comes through: on the way there, on the way back, or on both. */
export type LinkCut = 'there' | 'back' | 'both'

/** A call of the link, as it went by. */
export interface LinkCall {
  path: string
  /** what met it; absent: nothing */
  fault?: LinkFault['kind'] | 'cut'
}

/** A place between two clusters, where their calls are lost, late, doubled, out of order and cut short. */
export interface LinkTap {
  /** what the one cluster knows as the other's address */
  url: string
  arrange(fault: LinkFault): void
  /** lets nothing through until it is healed */
  cut(way: LinkCut): void
  /** lets everything through again; what was held back goes on */
  heal(): void
  calls(): readonly LinkCall[]
  close(): Promise<void>
}

const REMEMBERED = 5000
const LINK_CALL_TIMEOUT_MS = 5000

interface LinkAnswer {
  status: number
  headers: IncomingMessage['headers']
  body: Buffer
}

/**
 * @param target base URL of the cluster that is called
 * @param tls absent: it speaks plain HTTP; else it ends TLS, as balancers do
 */
export async function startLinkTap(target: string, tls?: TlsSecrets): Promise<LinkTap> {
  const agent = new Agent({ keepAlive: true })
  const { hostname, port: targetPort } = new URL(target)
  let faults: (LinkFault & { left: number })[] = []
  let cut: LinkCut | undefined
  const calls: LinkCall[] = []
  /** requests that wait for the next one to go first */
  const waiting: (() => void)[] = []

  const forward = (incoming: IncomingMessage, body: Buffer): Promise<LinkAnswer> =>
    new Promise((resolve, reject) => {
      const { method, url: path, headers } = incoming
      const outgoing = request({ host: hostname, port: targetPort, method, path, headers, agent }, answer => {
        buffer(answer).then(
          content => resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body: content }),
          reject,
        )
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })

  function nextFault(): LinkFault | undefined {
    const found = faults.find(({ left }) => left > 0)
    if (found) found.left -= 1
    return found
  }

  async function pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(incoming)
    const path = incoming.url ?? ''
    const fault = cut === undefined ? nextFault() : undefined
    const kind = cut === undefined ? fault?.kind : 'cut'
    keepNewest(calls, REMEMBERED, [kind === undefined ? { path } : { path, fault: kind }])
    if (cut === 'there' || cut === 'both' || kind === 'drop-request') return void response.destroy()
    if (fault?.kind === 'delay') await setTimeout(fault.ms)
    if (kind === 'reorder') await outOfOrder(waiting)
    const answer = await forward(incoming, body)
    if (kind === 'duplicate') await forward(incoming, body)
    for (const go of waiting.splice(0)) go()
    if (kind === 'drop-answer' || cut !== undefined) return void response.destroy()
    if (fault?.kind === 'truncate') return breakOff(response, answer, fault.bytes)
    response.writeHead(answer.status, answer.headers)
    response.end(answer.body)
  }

  const listener = (incoming: IncomingMessage, response: ServerResponse): void => {
    pass(incoming, response).catch(() => response.destroy())
  }
  const server = tls ? createSecureServer(tls, listener) : createServer(listener)
  const url = await listen(server)
  return {
    url: tls ? url.replace('http:', 'https:') : url,
    arrange: fault => {
      faults = [...faults.filter(({ left }) => left > 0), { ...fault, left: fault.times ?? 1 }]
    },
    cut: way => {
      cut = way
    },
    heal: () => {
      cut = undefined
      faults = []
      for (const go of waiting.splice(0)) go()
    },
    calls: () => calls,
    close: async () => {
      agent.destroy()
      await endServer(server)
    },
  }
}

/** Until the next call has gone first, or none has come for some seconds. */
const outOfOrder = (waiting: (() => void)[]): Promise<void> =>
  Promise.race([new Promise<void>(resolve => waiting.push(resolve)), setTimeout(LINK_CALL_TIMEOUT_MS)])

/** Sends the head and the beginning of an answer, then breaks the connection. */
function breakOff(response: ServerResponse, { status, headers, body }: LinkAnswer, bytes: number): void {
  response.writeHead(status, { ...headers, 'content-length': body.length })
  response.write(body.subarray(0, bytes), () => response.destroy())
}
