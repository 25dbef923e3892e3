import { isObject } from '../../../shared/values/json.ts'
import { requestUntilAccepted, sendRequest } from '../ask.ts'
import {
  type ApiConnection,
  type CommandEnvironment,
  parseApiBase,
  readApiConnection,
} from '../connection.ts'
import { CommandEnded } from '../ended.ts'
import type { ParsedCommand } from '../options.ts'
import { TOKEN_TEXT } from '../ports.ts'
import type { LoginBody } from './login-file.ts'
import { checkLoginOptions, createLoginProofFromOptions, type LoginOptions } from './proofs.ts'

/** The `auth` object of a login answer. Durations in seconds. */
export interface LoginAuth {
  readonly client_token: string
  readonly accessor?: string
  readonly policies?: readonly string[]
  readonly metadata?: Readonly<Record<string, string>> | null
  readonly lease_duration?: number
  readonly renewable?: boolean
}

/** Reads the cluster of a login and the options of the login. @throws CommandEnded `usage` */
export function readLoginTarget(values: ParsedCommand['values'], environment: CommandEnvironment) {
  const base = parseApiBase(values.address ?? 'https://127.0.0.1:8200')
  const connection = readApiConnection(environment, values.namespace)
  return { base, connection, options: checkLoginOptions(base, values, environment) }
}

/**
 * Creates the body of this workload's login request.
 * @param say receives a message on an unencrypted address
 */
export async function createLoginBody(
  options: LoginOptions,
  environment: CommandEnvironment,
  say: (text: string) => void,
): Promise<LoginBody> {
  const { base, role } = options
  if (isUnencrypted(base))
    say(`${base} is not encrypted: an eavesdropper can copy the login request and log in`)
  return {
    ...(role === undefined ? {} : { role }),
    ...(await createLoginProofFromOptions(options, environment)),
  }
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
  const { base, mount } = asked
  const path = `auth/${mount}/login`
  const first = await createLoginBody(asked, environment, say)
  let attempts = 0
  const asking = async () => {
    attempts += 1
    // a mount accepts a token of AWS once, and an attempt without an answer may have used the token
    const again = attempts > 1 && asked.method === 'jwt'
    const body = again ? await createLoginBody(asked, environment, () => undefined) : first
    return sendRequest(base, path, { method: 'POST', body }, connection)
  }
  const { auth } = await requestUntilAccepted(asking, { timeoutMs: LOGIN_PAUSE_MS, say, label: path }).catch(
    (error: unknown) => {
      if (!(error instanceof CommandEnded) || error.exit !== 'refused') throw error
      throw new CommandEnded('refused', `${error.message}${describeAttempt(asked)}`)
    },
  )
  return readLoginAuth(auth, base)
}

/** Checks the `auth` object of a login answer. @throws CommandEnded `refused` */
export function readLoginAuth(auth: unknown, base: string): LoginAuth {
  if (!isLogin(auth) || !hasUsableNonce(auth))
    throw new CommandEnded('refused', `${base} answered without a usable token, or with an unusable nonce`)
  return auth
}

/** Describes where a refused login went, and how to find the cause. */
const describeAttempt = ({ base, method, profile }: LoginOptions): string => {
  const by =
    method === 'ec2'
      ? 'the instance’s document'
      : profile
        ? `profile ${profile}`
        : 'the default AWS credentials'
  return `. Address: ${new URL(base).origin}; login by ${by}. To see each check, use cloud-auth explain`
}

/** Reports whether the request leaves this machine unencrypted. */
const isUnencrypted = (base: string): boolean =>
  base.startsWith('http:') && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(base).hostname)

/** Reports whether the server's nonce is absent or safe to print to a terminal and a shell. */
const hasUsableNonce = ({ metadata }: LoginAuth): boolean => {
  const nonce: unknown = metadata?.['nonce']
  return nonce === undefined || (typeof nonce === 'string' && TOKEN_TEXT.test(nonce))
}

const isLogin = (auth: unknown): auth is LoginAuth =>
  isObject(auth) && typeof auth['client_token'] === 'string' && TOKEN_TEXT.test(auth['client_token'])
