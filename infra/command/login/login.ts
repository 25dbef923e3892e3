import { isObject } from '../../../shared/values/json.ts'
import { askFor, askOnce } from '../ask.ts'
import type { CommandEnvironment, Connection } from '../connection.ts'
import { Ended } from '../ended.ts'
import { type LoginAsked, proofOf } from './proofs.ts'

/** What a login was answered, by the names of the API. Durations in seconds. */
export interface LoggedInAs {
  readonly client_token: string
  readonly accessor?: string
  readonly policies?: readonly string[]
  readonly metadata?: Readonly<Record<string, string>> | null
  readonly lease_duration?: number
  readonly renewable?: boolean
}

const LOGIN_PAUSE_MS = 60_000

/**
 * Logs in.
 * @param say told what is asked again, and what should not be
 * @throws Ended
 */
export async function logIn(
  asked: LoginAsked,
  environment: CommandEnvironment,
  connection: Connection,
  say: (text: string) => void,
): Promise<LoggedInAs> {
  const { base, mount, role } = asked
  if (isOpen(base)) say(`${base} is not encrypted: whoever listens can log in by the same proof`)
  const body = { ...(role === undefined ? {} : { role }), ...(await proofOf(asked, environment)) }
  const request = { method: 'POST', body } as const
  const path = `auth/${mount}/login`
  const asking = () => askOnce(base, path, request, connection)
  const { auth } = await askFor(asking, { forMs: LOGIN_PAUSE_MS, say, named: path })
  if (!isLogin(auth) || !hasUsableNonce(auth))
    throw new Ended('refused', `${base} answers without a token, or with a nonce, that could be used`)
  return auth
}

/** Whether what is sent can be read on the way: not on this machine. */
const isOpen = (base: string): boolean =>
  base.startsWith('http:') && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(base).hostname)

/** What a token may consist of: what a header carries. */
const TOKEN = /^[\x21-\x7e]+$/

/** Whether the server chose a nonce that no line of a shell or a terminal can have. */
const hasUsableNonce = ({ metadata }: LoggedInAs): boolean => {
  const nonce: unknown = metadata?.['nonce']
  return nonce === undefined || (typeof nonce === 'string' && TOKEN.test(nonce))
}

const isLogin = (auth: unknown): auth is LoggedInAs =>
  isObject(auth) && typeof auth['client_token'] === 'string' && TOKEN.test(auth['client_token'])
