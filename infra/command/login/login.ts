import { isObject } from '../../../shared/values/json.ts'
import { requestUntilAccepted, sendRequest } from '../ask.ts'
import type { ApiConnection, CommandEnvironment } from '../connection.ts'
import { CommandEnded } from '../ended.ts'
import { createLoginProofFromOptions, type LoginOptions } from './proofs.ts'

/** The `auth` object of a login answer. Durations in seconds. */
export interface LoginAuth {
  readonly client_token: string
  readonly accessor?: string
  readonly policies?: readonly string[]
  readonly metadata?: Readonly<Record<string, string>> | null
  readonly lease_duration?: number
  readonly renewable?: boolean
}

const LOGIN_PAUSE_MS = 60_000

/**
 * Logs in and returns the `auth` object of the answer.
 * @param say receives messages on retries and on an unencrypted address
 * @throws CommandEnded
 */
export async function logInToCluster(
  asked: LoginOptions,
  environment: CommandEnvironment,
  connection: ApiConnection,
  say: (text: string) => void,
): Promise<LoginAuth> {
  const { base, mount, role } = asked
  if (isUnencrypted(base))
    say(`${base} is not encrypted: an eavesdropper can copy the login request and log in`)
  const body = {
    ...(role === undefined ? {} : { role }),
    ...(await createLoginProofFromOptions(asked, environment)),
  }
  const request = { method: 'POST', body } as const
  const path = `auth/${mount}/login`
  const asking = () => sendRequest(base, path, request, connection)
  const { auth } = await requestUntilAccepted(asking, { timeoutMs: LOGIN_PAUSE_MS, say, label: path })
  if (!isLogin(auth) || !hasUsableNonce(auth))
    throw new CommandEnded('refused', `${base} answered without a usable token, or with an unusable nonce`)
  return auth
}

/** Reports whether the request leaves this machine unencrypted. */
const isUnencrypted = (base: string): boolean =>
  base.startsWith('http:') && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(base).hostname)

/** Matches a token whose characters are all allowed in a header. */
const TOKEN = /^[\x21-\x7e]+$/

/** Reports whether the server's nonce is absent or safe to print to a terminal and a shell. */
const hasUsableNonce = ({ metadata }: LoginAuth): boolean => {
  const nonce: unknown = metadata?.['nonce']
  return nonce === undefined || (typeof nonce === 'string' && TOKEN.test(nonce))
}

const isLogin = (auth: unknown): auth is LoginAuth =>
  isObject(auth) && typeof auth['client_token'] === 'string' && TOKEN.test(auth['client_token'])
