import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request as plainRequest } from 'node:http'
import { request } from 'node:https'
import { agents, limitConnecting, overLivingConnection } from '../connections.ts'
import { CONNECT_MS, LARGEST_ANSWER } from './limits.ts'
import { unreadable } from './service-error.ts'

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

/**
 * Sends a POST and reads its answer, over a connection that is kept. A kept connection that proves dead is replaced
 * at once: what is sent may take effect twice.
 * @param ms after which it is given up, answered in part or not at all, on whichever connection
 * @throws Error: `TimeoutError` when it took too long, `UnreadableAnswer` for an answer that is too large, otherwise
 * what the connection ended with (`code`)
 */
function post(
  address: WireAddress,
  headers: Record<string, string>,
  body: string,
  ms: number,
): Promise<WireAnswer> {
  const until = performance.now() + ms
  return overLivingConnection(() => once(address, headers, body, until - performance.now()))
}

/** The way out of all calls over the wire. Tests stand in it. */
export const wire = { post }

/** Headers as Node takes them without looking through them once more: names and values in turn. */
function listOf({ host }: WireAddress, headers: Record<string, string>, body: string): string[] {
  const list = ['host', host, 'content-length', String(Buffer.byteLength(body))]
  for (const name in headers) if (name !== 'host') list.push(name, headers[name] ?? '')
  return list
}

function once(
  address: WireAddress,
  headers: Record<string, string>,
  body: string,
  ms: number,
): Promise<WireAnswer> {
  const { secure, hostname, port, path } = address
  return new Promise((resolve, reject) => {
    const agent = agents[secure ? 'https:' : 'http:']
    const call = (secure ? request : plainRequest)({
      host: hostname,
      port,
      method: 'POST',
      path,
      headers: listOf(address, headers, body),
      agent,
      ...(secure ? { servername: hostname } : {}),
    })
    const timer = setTimeout(() => giveUp(call, reject, late('the service did not answer in time')), ms)
    limitConnecting(call, CONNECT_MS, () =>
      giveUp(call, reject, late(`no connection within ${CONNECT_MS} ms`)),
    )
    let answered = false
    call.on('response', answer => {
      answered = true
      readAll(answer, resolve, error => giveUp(call, reject, error))
    })
    call.on('error', reject)
    call.on('close', () => {
      clearTimeout(timer)
      // Node ends a call that is answered 101 (Switching Protocols) without a response and without an error
      if (!answered) reject(unreadable('the connection ended without an answer'))
    })
    call.end(body)
  })
}

/** Ends a call. The promise is told first: once an answer has begun, destroying a call does not say why. */
function giveUp(call: ClientRequest, reject: (error: Error) => void, error: Error): void {
  reject(error)
  call.destroy(error)
}

function readAll(
  answer: IncomingMessage,
  resolve: (answer: WireAnswer) => void,
  reject: (error: Error) => void,
): void {
  const chunks: Buffer[] = []
  let size = 0
  answer.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > LARGEST_ANSWER) reject(unreadable(`the answer is longer than ${LARGEST_ANSWER} bytes`))
    else chunks.push(chunk)
  })
  // an answer that breaks off has no end
  answer.on('error', reject)
  answer.on('end', () => {
    const [only, ...more] = chunks
    const body = more.length === 0 ? (only ?? Buffer.alloc(0)) : Buffer.concat(chunks)
    resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body })
  })
}
