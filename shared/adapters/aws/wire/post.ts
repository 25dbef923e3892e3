import type { Agent, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request as plainRequest } from 'node:http'
import { request } from 'node:https'
import {
  agents,
  awaitResponse,
  limitConnectTime,
  readAtMost,
  resendOnDeadConnection,
} from '../connections.ts'
import { CONNECT_MS, LARGEST_ANSWER } from './limits.ts'
import { unreadableAnswer } from './service-error.ts'

/** Where a service is reached. */
export interface WireAddress {
  secure: boolean
  hostname: string
  /** empty: that of the protocol */
  port: string
  /** host as it is signed, with the port where it is not that of the protocol */
  host: string
  path: string
}

export interface WireAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** What took too long: it is not known whether it was done. */
const late = (what: string): Error =>
  Object.assign(new Error(what), { name: 'TimeoutError', code: 'ETIMEDOUT' })

export const wireAddress = (url: URL): WireAddress => ({
  secure: url.protocol === 'https:',
  hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
  port: url.port,
  host: url.host,
  path: url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`,
})

/** A body, with what is signed of its request. */
export type WireBody = string | Uint8Array

/**
 * Sends a POST and reads its answer, over a connection that is kept. A kept connection that proves dead is replaced
 * at once, so the request may take effect twice.
 * @param ms after which it is given up, answered in part or not at all, on whichever connection
 * @param isOnce whether it is sent once, over a connection of its own
 * @throws Error: `TimeoutError` when it took too long, `UnreadableAnswer` for an answer that is too large, otherwise
 * what the connection ended with (`code`)
 */
function post(
  address: WireAddress,
  headers: Record<string, string>,
  body: WireBody,
  ms: number,
  isOnce = false,
): Promise<WireAnswer> {
  if (isOnce) return attempt(address, headers, body, ms, false)
  const until = performance.now() + ms
  const agent = agents[address.secure ? 'https:' : 'http:']
  return resendOnDeadConnection(() => attempt(address, headers, body, until - performance.now(), agent))
}

/** The way out of all calls to AWS. Tests stand in it. */
export const wire = { post }

/** Headers of which this module has its own. */
const OWN_HEADERS = ['host', 'content-length']

/** Headers as Node takes them without looking through them once more: names and values in turn. */
function listOf({ host }: WireAddress, headers: Record<string, string>, body: WireBody): string[] {
  const list = ['host', host, 'content-length', String(Buffer.byteLength(body))]
  for (const name in headers) if (!OWN_HEADERS.includes(name)) list.push(name, headers[name] ?? '')
  return list
}

/** @param agent false: none, for a connection of its own */
function attempt(
  address: WireAddress,
  headers: Record<string, string>,
  body: WireBody,
  ms: number,
  agent: Agent | false,
): Promise<WireAnswer> {
  const { secure, hostname, port, path } = address
  return new Promise((resolve, reject) => {
    const call = (secure ? request : plainRequest)({
      host: hostname,
      port,
      method: 'POST',
      path,
      headers: listOf(address, headers, body),
      agent,
      ...(secure ? { servername: hostname } : {}),
    })
    // the promise ends first: once an answer has begun, destroying a call does not say why
    const giveUp = (error: Error): void => {
      reject(error)
      call.destroy(error)
    }
    const timer = setTimeout(() => giveUp(late('the service did not answer in time')), ms)
    limitConnectTime(call, CONNECT_MS, () => giveUp(late(`no connection within ${CONNECT_MS} ms`)))
    call.on('close', () => clearTimeout(timer))
    awaitResponse(call).then(readAll).then(resolve, giveUp)
    call.end(body)
  })
}

async function readAll(answer: IncomingMessage): Promise<WireAnswer> {
  const body = await readAtMost(LARGEST_ANSWER, answer)
  if (!body) throw unreadableAnswer(`the answer is longer than ${LARGEST_ANSWER} bytes`)
  return { status: answer.statusCode ?? 0, headers: answer.headers, body }
}
