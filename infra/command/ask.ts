import { setTimeout } from 'node:timers/promises'
import type { Connection } from './connection.ts'
import { Ended } from './ended.ts'
import { type Asking, exchange, type Heard } from './exchange.ts'
import { inOneLine } from './output.ts'

const REDIRECTED = [301, 302, 307, 308]

/**
 * Sends one request of the API, and follows one redirection within the address: elsewhere the request, its token and the
 * proof of a login would reach somebody whom nobody has named.
 * @param base where the API begins, see `apiBase`
 * @throws Ended `unreachable`; `refused` where the answer leads elsewhere
 */
export async function askOnce(
  base: string,
  path: string,
  asking: Asking,
  connection: Connection,
): Promise<Heard> {
  const url = new URL(`${base}/${path}`)
  const first = await exchange(url, asking, connection)
  if (!REDIRECTED.includes(first.status) || first.location === undefined) return first
  const there = URL.canParse(first.location, url) ? new URL(first.location, url) : undefined
  if (there?.origin !== url.origin)
    throw new Ended(
      'refused',
      `${url.origin} sends its clients to ${inOneLine(there?.origin ?? first.location)}, which is not followed: name that address if it is the cluster`,
    )
  return exchange(there, asking, connection)
}

/** Characters of a refusal that are shown, and of a text that is none of the API. */
const LONGEST_REFUSAL = 4000
const LONGEST_TEXT = 300

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** What a refusal says, in one line. */
export function refusalOf({ status, body, text }: Heard): string {
  const errors = Array.isArray(body['errors']) ? body['errors'].filter(isText) : []
  const told = errors.length > 0 ? errors.join('; ').slice(0, LONGEST_REFUSAL) : text.slice(0, LONGEST_TEXT)
  return `${status} ${inOneLine(told) || 'without a text'}`
}

/** For how long something is asked again, and who is told. */
export interface Patience {
  forMs: number
  say: (text: string) => void
  /** what is asked, as it is told */
  named: string
}

/** Seconds until a request is repeated that the gateway has answered. */
const GATEWAY_RETRY_S = 5

/**
 * Returns the seconds after which a refused request is repeated; undefined: never. API Gateway names none when it answers
 * itself, because the function took longer than 30 s: what the function does goes on.
 */
export function retryAfterOf({ status, retryAfter, body }: Heard): number | undefined {
  const isOfGateway = (status === 503 || status === 504) && typeof body['message'] === 'string'
  return retryAfter ?? (isOfGateway ? GATEWAY_RETRY_S : undefined)
}

/**
 * A request that has to succeed. It is repeated where the answer says when, as the runbooks do, and where the gateway
 * answered in place of the cluster.
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
    const after = retryAfterOf(heard)
    if (after === undefined || Date.now() > end) throw new Ended('refused', told)
    say(`${told}; asking again in ${after} s`)
    await setTimeout(after * 1000)
  }
}
