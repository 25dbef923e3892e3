import type { IncomingMessage } from 'node:http'
import { request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import { parseJsonObject } from '../../shared/values/json.ts'
import type { ApiConnection } from './connection.ts'
import { CommandEnded } from './ended.ts'
import { escapeToOneLine } from './output.ts'
import { findConnectionCure } from './scheme.ts'

/** One HTTP request. */
export interface ApiRequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'LIST' | 'DELETE'
  /** an absent body means that no body is sent */
  body?: object
  /** body that is not JSON; needs a `content-type` in `headers` */
  text?: string
  token?: string
  /** headers that replace the default header `x-vault-request` */
  headers?: Readonly<Record<string, string>>
}

/** An HTTP response of any status. */
export interface ApiResponse {
  status: number
  /** seconds until the request may be repeated, within bounds; absent: no usable Retry-After */
  retryAfter?: number
  /** the parsed body; empty if the body is not a JSON object */
  body: Readonly<Record<string, unknown>>
  text: string
}

/** Maximum number of bytes of an answer, unless the caller sets a lower limit. */
const MOST_BYTES = 8 * 2 ** 20
/**
 * Bounds for Retry-After in seconds, so that a server can neither make the client hammer it nor keep the
 * client waiting.
 */
const RETRY_AFTER = { least: 1, most: 60 }

/**
 * Sends one request on a new connection to this URL only, and reads the answer, bounded in time and size. The
 * connection verifies certificates even if NODE_TLS_REJECT_UNAUTHORIZED is 0.
 * @returns the answer; `location` is the target of a redirect, which is not followed
 * @throws CommandEnded `unreachable`
 */
export async function exchangeApiRequest(
  url: URL,
  asking: ApiRequestOptions,
  connection: ApiConnection,
  mostBytes = MOST_BYTES,
): Promise<ApiResponse & { location?: string }> {
  try {
    return await sendOnce(url, asking, connection, mostBytes)
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException
    const why =
      name === 'AbortError' || name === 'TimeoutError'
        ? `no answer within ${connection.timeoutMs / 1000} s`
        : (code ?? message)
    const fault = findConnectionCure(url, error as NodeJS.ErrnoException)
    const more = fault === undefined ? '' : `: ${fault}`
    throw new CommandEnded('unreachable', `${url.origin} cannot be reached (${escapeToOneLine(why)})${more}`)
  }
}

function sendOnce(
  url: URL,
  { method = 'GET', body, text, token, headers: named = { 'x-vault-request': 'true' } }: ApiRequestOptions,
  { timeoutMs, namespace, signal, ...tls }: ApiConnection,
  mostBytes: number,
): Promise<ApiResponse & { location?: string }> {
  const sent = body === undefined ? text : JSON.stringify(body)
  const headers = {
    ...named,
    ...(token === undefined ? {} : { 'x-vault-token': token }),
    ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    // Node sends the body of a DELETE request without a length, so the server would not read it
    ...(sent === undefined ? {} : { 'content-length': Buffer.byteLength(sent) }),
  }
  const secure = url.protocol === 'https:'
  const { ca, ...identity } = tls
  const options = {
    method,
    headers,
    // a reused connection could still lead to the previous primary after a switch
    agent: false as const,
    signal: AbortSignal.timeout(timeoutMs),
    ...(secure ? { ...identity, ...(ca ? { ca: [...ca] } : {}), rejectUnauthorized: true } : {}),
  }
  return new Promise((resolve, reject) => {
    const asked = (secure ? secureRequest : plainRequest)(url, options, response => {
      readAnswer(response, mostBytes).then(resolve, reject)
    })
    asked.once('error', reject)
    const interrupt = (): void => void asked.destroy(new Error('interrupted'))
    signal?.addEventListener('abort', interrupt)
    asked.once('close', () => signal?.removeEventListener('abort', interrupt))
    // after status 101 no response would follow
    asked.once('upgrade', (_, socket) => {
      socket.destroy()
      reject(new Error('the server switches to another protocol'))
    })
    asked.end(sent)
  })
}

async function readAnswer(
  response: IncomingMessage,
  mostBytes: number,
): Promise<ApiResponse & { location?: string }> {
  const { statusCode: status = 0, headers } = response
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    size += (chunk as Buffer).length
    if (size > mostBytes) throw new Error('the answer is too large')
    chunks.push(chunk as Buffer)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  const after = retryAfterIn(headers['retry-after'])
  return {
    status,
    text,
    body: parseJsonObject(text) ?? {},
    ...(after === undefined ? {} : { retryAfter: after }),
    ...(headers.location === undefined ? {} : { location: headers.location }),
  }
}

/** Returns the seconds of a `Retry-After` header, within bounds. @returns undefined without a valid header */
function retryAfterIn(header: string | undefined): number | undefined {
  const seconds = /^-?\d+$/.test(header ?? '')
    ? Number(header)
    : (Date.parse(header ?? '') - Date.now()) / 1000
  if (Number.isNaN(seconds)) return undefined
  return Math.ceil(Math.min(RETRY_AFTER.most, Math.max(RETRY_AFTER.least, seconds)))
}
