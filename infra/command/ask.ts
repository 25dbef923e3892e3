import { setTimeout } from 'node:timers/promises'
import type { ApiConnection } from './connection.ts'
import { CommandEnded } from './ended.ts'
import { type ApiRequestOptions, type ApiResponse, exchangeApiRequest } from './exchange.ts'
import { escapeToOneLine } from './output.ts'

const REDIRECTED = [301, 302, 307, 308]

/**
 * Sends one API request and follows one redirect within the same origin. The command follows no other redirect,
 * because another origin would get the token or the login proof, although the user did not name its host.
 * @param base base URL of the API, see `parseApiBase`
 * @throws CommandEnded `unreachable`, or `refused` for a redirect to another origin
 */
export async function sendRequest(
  base: string,
  path: string,
  asking: ApiRequestOptions,
  connection: ApiConnection,
): Promise<ApiResponse> {
  const url = new URL(`${base}/${path}`)
  const first = await exchangeApiRequest(url, asking, connection)
  if (!REDIRECTED.includes(first.status) || first.location === undefined) return first
  const there = URL.canParse(first.location, url) ? new URL(first.location, url) : undefined
  if (there?.origin !== url.origin)
    throw new CommandEnded(
      'refused',
      `${url.origin} redirects to ${escapeToOneLine(there?.origin ?? first.location)}, but cloud-auth follows no redirects to other addresses. If the new address is the cluster, use the new address`,
    )
  return exchangeApiRequest(there, asking, connection)
}

/** Maximum number of characters to show of the API's errors, and of a text that is not from the API. */
const LONGEST_REFUSAL = 4000
const LONGEST_TEXT = 300

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Describes the API's refusal in one line. */
export function describeRefusal({ status, body, text }: ApiResponse): string {
  const errors = Array.isArray(body['errors']) ? body['errors'].filter(isText) : []
  const told = errors.length > 0 ? errors.join('; ').slice(0, LONGEST_REFUSAL) : text.slice(0, LONGEST_TEXT)
  return `${status} ${escapeToOneLine(told) || 'without a reason'}`
}

/** Options of repeated requests: the duration, and the receiver of messages. */
export interface RepeatOptions {
  timeoutMs: number
  say: (text: string) => void
  /** name of the requested object, for messages */
  label: string
}

/** Seconds until a request is repeated after API Gateway answered in place of the function. */
const GATEWAY_RETRY_S = 5

/**
 * Returns the seconds after which a refused request is repeated, or undefined if the request must not be
 * repeated. API Gateway sends no Retry-After when the function takes longer than 30 s, although the function
 * continues to work.
 */
export function retryDelay({ status, retryAfter, body }: ApiResponse): number | undefined {
  const isOfGateway = (status === 503 || status === 504) && typeof body['message'] === 'string'
  return retryAfter ?? (isOfGateway ? GATEWAY_RETRY_S : undefined)
}

/**
 * Repeats a request until it succeeds. The request is repeated when the answer has Retry-After, or when API
 * Gateway answered in place of the cluster.
 * @returns the body of the answer
 * @throws CommandEnded `refused` with the answer's errors, and every error that `send` throws
 */
export async function requestUntilAccepted(
  send: () => Promise<ApiResponse>,
  { timeoutMs, say, label }: RepeatOptions,
): Promise<ApiResponse['body']> {
  const end = Date.now() + timeoutMs
  for (;;) {
    const response = await send()
    if (response.status < 300) return response.body
    const refusal = `${label}: ${describeRefusal(response)}`
    const delay = retryDelay(response)
    if (delay === undefined || Date.now() > end) throw new CommandEnded('refused', refusal)
    say(`${refusal}; retrying in ${delay} s`)
    await setTimeout(delay * 1000)
  }
}
