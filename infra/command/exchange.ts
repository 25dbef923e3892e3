import type { IncomingMessage } from 'node:http'
import { request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import { parsedObject } from '../../shared/values/json.ts'
import type { Connection } from './connection.ts'
import { Ended } from './ended.ts'
import { inOneLine } from './output.ts'
import { schemeFault } from './scheme.ts'

/** One request. */
export interface Asking {
  method?: 'GET' | 'POST' | 'PUT'
  /** absent: none is sent */
  body?: object
  token?: string
  /** instead of the one that clients of the API send */
  headers?: Readonly<Record<string, string>>
}

/** An answer, whatever its status. */
export interface Heard {
  status: number
  /** seconds after which the same may be asked again, within bounds; absent: nothing usable is said */
  retryAfter?: number
  /** empty where the answer is no JSON object */
  body: Readonly<Record<string, unknown>>
  text: string
}

/** Bytes of an answer, unless the caller wants less. */
const MOST_BYTES = 8 * 2 ** 20
/** Seconds: what a server names outside of these neither makes a client hammer it nor keeps it waiting. */
const RETRY_AFTER = { least: 1, most: 60 }

/**
 * Sends one request on a connection of its own, to this address alone, and reads its answer: bounded in time and in size.
 * Certificates are verified, whatever NODE_TLS_REJECT_UNAUTHORIZED says.
 * @returns the answer; `location`: where a redirection leads, which is not followed
 * @throws Ended `unreachable`
 */
export async function exchange(
  url: URL,
  asking: Asking,
  connection: Connection,
  mostBytes = MOST_BYTES,
): Promise<Heard & { location?: string }> {
  try {
    return await answered(url, asking, connection, mostBytes)
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException
    const why =
      name === 'AbortError' || name === 'TimeoutError'
        ? `no answer within ${connection.timeoutMs / 1000} s`
        : (code ?? message)
    const fault = schemeFault(url, error as NodeJS.ErrnoException)
    const more = fault === undefined ? '' : `: ${fault}`
    throw new Ended('unreachable', `${url.origin} cannot be reached (${inOneLine(why)})${more}`)
  }
}

function answered(
  url: URL,
  { method = 'GET', body, token, headers: named = { 'x-vault-request': 'true' } }: Asking,
  { timeoutMs, namespace, ...tls }: Connection,
  mostBytes: number,
): Promise<Heard & { location?: string }> {
  const sent = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...named,
    ...(token === undefined ? {} : { 'x-vault-token': token }),
    ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
    ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const secure = url.protocol === 'https:'
  const { ca, ...identity } = tls
  const options = {
    method,
    headers,
    // whoever switches clusters meets no connection of before
    agent: false as const,
    signal: AbortSignal.timeout(timeoutMs),
    ...(secure ? { ...identity, ...(ca ? { ca: [...ca] } : {}), rejectUnauthorized: true } : {}),
  }
  return new Promise((resolve, reject) => {
    const asked = (secure ? secureRequest : plainRequest)(url, options, response => {
      readAnswer(response, mostBytes).then(resolve, reject)
    })
    asked.once('error', reject)
    // 101, and nothing would follow
    asked.once('upgrade', (_, socket) => {
      socket.destroy()
      reject(new Error('it changes to another protocol'))
    })
    asked.end(sent)
  })
}

async function readAnswer(
  response: IncomingMessage,
  mostBytes: number,
): Promise<Heard & { location?: string }> {
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
    body: parsedObject(text) ?? {},
    ...(after === undefined ? {} : { retryAfter: after }),
    ...(headers.location === undefined ? {} : { location: headers.location }),
  }
}

/** Seconds that `Retry-After` names, within bounds; undefined: it names none. */
function retryAfterIn(header: string | undefined): number | undefined {
  const seconds = /^-?\d+$/.test(header ?? '')
    ? Number(header)
    : (Date.parse(header ?? '') - Date.now()) / 1000
  if (Number.isNaN(seconds)) return undefined
  return Math.ceil(Math.min(RETRY_AFTER.most, Math.max(RETRY_AFTER.least, seconds)))
}
