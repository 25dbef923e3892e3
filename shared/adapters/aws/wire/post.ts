import type { Agent, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request as plainRequest } from 'node:http'
import { request } from 'node:https'
import {
  awaitResponse,
  httpsAgents,
  limitConnectTime,
  readBodyUpTo,
  resendOnDeadConnection,
} from '../connections.ts'
import { CONNECT_TIMEOUT_MS, MAX_ANSWER_BYTES } from './limits.ts'
import { unreadableAnswerError } from './service-error.ts'

/** The address of a service. */
export interface WireAddress {
  secure: boolean
  hostname: string
  /** `port`: empty means the protocol's default port */
  port: string
  /** the signed host, with the port unless it is the protocol's default */
  host: string
  path: string
}

export interface WireAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** Returns the error for a timeout of a request. After a timeout it is unknown whether the request took effect. */
const late = (what: string): Error =>
  Object.assign(new Error(what), { name: 'TimeoutError', code: 'ETIMEDOUT' })

export const wireAddress = (url: URL): WireAddress => ({
  secure: url.protocol === 'https:',
  hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
  port: url.port,
  host: url.host,
  path: url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`,
})

/** The body of a request. */
export type WireBody = string | Uint8Array

/**
 * Sends a POST and reads its answer, over a kept connection. A kept connection that turns out to be dead is
 * replaced at once, so the request may take effect twice.
 * @param ms timeout of the whole answer, on all connections together
 * @param isOnce whether the request is sent only once, over a connection of its own
 * @throws Error: `TimeoutError` when the answer took too long, `UnreadableAnswer` for an answer that is too large,
 * otherwise the error of the connection (`code`)
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
  const agent = httpsAgents[address.secure ? 'https:' : 'http:']
  return resendOnDeadConnection(() => attempt(address, headers, body, until - performance.now(), agent))
}

/** Sends all calls to AWS. Tests replace this sender. */
export const wireTransport = { post }

/** Headers that this module sets itself. */
const OWN_HEADERS = ['host', 'content-length']

/** Returns headers as a flat list of names and values, which Node takes without checking them again. */
function listOf({ host }: WireAddress, headers: Record<string, string>, body: WireBody): string[] {
  const list = ['host', host, 'content-length', String(Buffer.byteLength(body))]
  for (const name in headers) if (!OWN_HEADERS.includes(name)) list.push(name, headers[name] ?? '')
  return list
}

/**
 * Makes one attempt of a POST.
 * @param agent false: the attempt gets a connection of its own
 */
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
    // The promise is rejected first, because after the answer has begun, destroying a call no longer reports the
    // reason.
    const giveUp = (error: Error): void => {
      reject(error)
      call.destroy(error)
    }
    const timer = setTimeout(() => giveUp(late('the service did not answer in time')), ms)
    limitConnectTime(call, CONNECT_TIMEOUT_MS, () =>
      giveUp(late(`no connection within ${CONNECT_TIMEOUT_MS} ms`)),
    )
    call.on('close', () => clearTimeout(timer))
    awaitResponse(call).then(readAll).then(resolve, giveUp)
    call.end(body)
  })
}

async function readAll(answer: IncomingMessage): Promise<WireAnswer> {
  const body = await readBodyUpTo(MAX_ANSWER_BYTES, answer)
  if (!body) throw unreadableAnswerError(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`)
  return { status: answer.statusCode ?? 0, headers: answer.headers, body }
}
