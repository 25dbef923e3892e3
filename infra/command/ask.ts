import { request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import { setTimeout } from 'node:timers/promises'
import type { Connection } from './connection.ts'
import { Ended } from './ended.ts'

/** One request of the API. */
export interface Asking {
  method?: 'GET' | 'POST'
  /** absent: none is sent */
  body?: object
  token?: string
}

/** An answer, whatever its status. */
export interface Heard {
  status: number
  /** seconds after which the same may be asked again; absent: nothing is said */
  retryAfter?: number
  /** empty where the answer is no JSON object */
  body: Readonly<Record<string, unknown>>
  text: string
}

const REDIRECTED = [301, 302, 307, 308]
const MOST_BYTES = 8 * 2 ** 20

/**
 * One request on a connection of its own, which follows one redirection, as nodes that stand by answer.
 * @param base where the API begins, see `apiBase`
 * @throws Ended `unreachable`
 */
export async function askOnce(
  base: string,
  path: string,
  asking: Asking,
  connection: Connection,
): Promise<Heard> {
  const first = await exchanged(new URL(`${base}/${path}`), asking, connection)
  if (!REDIRECTED.includes(first.status) || first.location === undefined) return first
  const there = new URL(first.location, `${base}/${path}`)
  if (base.startsWith('https:') && there.protocol !== 'https:')
    throw new Ended('refused', `${base} sends its clients to ${there.origin}, where nothing is encrypted`)
  return exchanged(there, asking, connection)
}

/**
 * One request on a connection of its own, to this address alone.
 * @returns the answer; `location`: where a redirection leads
 * @throws Ended `unreachable`
 */
export async function exchanged(
  url: URL,
  { method = 'GET', body, token }: Asking,
  { timeoutMs, namespace, ...tls }: Connection,
): Promise<Heard & { location?: string }> {
  const sent = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(token === undefined ? {} : { 'x-vault-token': token }),
    ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
    ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
    'x-vault-request': 'true',
  }
  const secure = url.protocol === 'https:'
  const { ca, ...named } = tls
  const options = {
    method,
    headers,
    // whoever switches clusters meets no connection of before
    agent: false as const,
    signal: AbortSignal.timeout(timeoutMs),
    ...(secure ? { ...named, ...(ca ? { ca: [...ca] } : {}) } : {}),
  }
  try {
    return await new Promise<Heard & { location?: string }>((resolve, reject) => {
      const asked = (secure ? secureRequest : plainRequest)(url, options, response => {
        const { statusCode: status = 0, headers: told } = response
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > MOST_BYTES) response.destroy(new Error('the answer is too large'))
          chunks.push(chunk)
        })
        response.once('error', reject)
        response.once('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          const after = Number.parseInt(told['retry-after'] ?? '', 10)
          resolve({
            status,
            text,
            body: objectIn(text),
            ...(Number.isNaN(after) ? {} : { retryAfter: after }),
            ...(told.location === undefined ? {} : { location: told.location }),
          })
        })
      })
      asked.once('error', reject)
      asked.end(sent)
    })
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException
    const why = name === 'AbortError' ? `no answer within ${timeoutMs / 1000} s` : (code ?? message)
    throw new Ended('unreachable', `${url.origin} cannot be reached (${why})`)
  }
}

function objectIn(text: string): Heard['body'] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  } catch {
    return {}
  }
}

/** What a refusal says, in one line. */
export function refusalOf({ status, body, text }: Heard): string {
  const errors = Array.isArray(body['errors']) ? body['errors'].map(String).filter(Boolean) : []
  return `${status} ${errors.length > 0 ? errors.join('; ') : text.slice(0, 300).trim() || 'without a text'}`
}

/** For how long something is asked again, and who is told. */
export interface Patience {
  forMs: number
  say: (text: string) => void
  /** what is asked, as it is told */
  named: string
}

/**
 * A request that has to succeed. It is repeated where the answer says when, as the runbooks do.
 * @returns the answer's body
 * @throws Ended `refused` with what was answered, and what asking throws
 */
export async function askFor(
  asked: () => Promise<Heard>,
  { forMs, say, named }: Patience,
): Promise<Heard['body']> {
  const end = Date.now() + forMs
  for (;;) {
    const heard = await asked()
    if (heard.status < 300) return heard.body
    const told = `${named}: ${refusalOf(heard)}`
    if (heard.retryAfter === undefined || Date.now() > end) throw new Ended('refused', told)
    say(`${told}; asking again in ${heard.retryAfter} s`)
    await setTimeout(heard.retryAfter * 1000)
  }
}
