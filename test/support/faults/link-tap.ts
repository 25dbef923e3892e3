import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import type { TlsSecrets } from '../../../infra/local/gateway/tls.ts'
import { closeServer, listenOnLoopback } from '../../../infra/local/os/loopback.ts'
import { keepNewestElements } from '../../../infra/local/provider/faults/kept.ts'

/** A network fault on calls of the link between two clusters. */
export type LinkFault = {
  /** number of calls that the fault affects; default 1 */
  times?: number
} & (
  | {
      /**
       * `drop-request`: the request never arrives. `drop-answer`: the request arrives, and its answer is
       * lost. `duplicate`: the request arrives twice, and the second answer is lost. `reorder`: the request
       * arrives after the next request, or after some seconds if no other request follows.
       */
      kind: 'drop-request' | 'drop-answer' | 'duplicate' | 'reorder'
    }
  | { kind: 'delay'; ms: number }
  /** the answer breaks off after `bytes` bytes */
  | { kind: 'truncate'; bytes: number }
)

/** Direction in which the link passes nothing: requests, answers, or both. */
export type LinkCut = 'there' | 'back' | 'both'

/** A call of the link that passed the link tap. */
export interface LinkCall {
  path: string
  /** the fault that affected the call, if any */
  fault?: LinkFault['kind'] | 'cut'
}

/** A proxy on the link between two clusters that loses, delays, duplicates, reorders and truncates calls. */
export interface LinkTap {
  /** address at which one cluster reaches the other */
  url: string
  arrange(fault: LinkFault): void
  /** blocks calls of the link until `heal` */
  cut(way: LinkCut): void
  /** lets calls of the link pass again, including calls that were held back */
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
 * Starts a link tap.
 * @param target base URL of the called cluster
 * @param tls absent: plain HTTP; else the tap ends TLS, as load balancers do
 */
export async function startLinkTap(target: string, tls?: TlsSecrets): Promise<LinkTap> {
  const agent = new Agent({ keepAlive: true })
  const { hostname, port: targetPort } = new URL(target)
  let faults: (LinkFault & { left: number })[] = []
  let cut: LinkCut | undefined
  const calls: LinkCall[] = []
  /** requests that wait until the next request has passed */
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
    keepNewestElements(calls, REMEMBERED, [kind === undefined ? { path } : { path, fault: kind }])
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
  const url = await listenOnLoopback(server)
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
      await closeServer(server)
    },
  }
}

/** Waits until the next call of the link has passed, or for some seconds if no call comes. */
const outOfOrder = (waiting: (() => void)[]): Promise<void> =>
  Promise.race([new Promise<void>(resolve => waiting.push(resolve)), setTimeout(LINK_CALL_TIMEOUT_MS)])

/** Sends the head and the first bytes of an answer, then breaks the connection to the client. */
function breakOff(response: ServerResponse, { status, headers, body }: LinkAnswer, bytes: number): void {
  response.writeHead(status, { ...headers, 'content-length': body.length })
  response.write(body.subarray(0, bytes), () => response.destroy())
}
