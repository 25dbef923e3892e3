import { formatCheckValue } from '../../shared/console/explained.ts'
import { defined } from '../../shared/values/defined.ts'
import { formatDuration, parseDuration } from '../../shared/values/duration.ts'
import { isObject } from '../../shared/values/json.ts'
import { requestUntilAccepted, sendRequest } from './ask.ts'
import { parseApiBase, readApiConnection } from './connection.ts'
import { CommandEnded, type ExitName } from './ended.ts'
import type { ApiRequestOptions } from './exchange.ts'
import type { ParsedCommand } from './options.ts'
import { escapeToOneLine } from './output.ts'
import { type CommandPorts, readNeededToken } from './ports.ts'

interface TokenCall {
  /** request for the caller's own token */
  path: string
  method: NonNullable<ApiRequestOptions['method']>
  /** POST for the token of an accessor */
  accessorPath: string
  /** member of the answer that the command prints */
  member: 'data' | 'auth' | undefined
  /** formats the member for people */
  format(shown: Readonly<Record<string, unknown>>): string
}

const calls: Readonly<Record<'lookup' | 'renew' | 'revoke', TokenCall>> = {
  lookup: {
    path: 'auth/token/lookup-self',
    method: 'GET',
    accessorPath: 'auth/token/lookup-accessor',
    member: 'data',
    format: shown =>
      Object.entries(shown)
        .map(([name, value]) => `${`${name} `.padEnd(19)}${escapeToOneLine(formatCheckValue(value))}\n`)
        .join(''),
  },
  renew: {
    path: 'auth/token/renew-self',
    method: 'POST',
    accessorPath: 'auth/token/renew-accessor',
    member: 'auth',
    format: ({ lease_duration: left }) =>
      typeof left === 'number' ? `The token expires in ${formatDuration(left)}.\n` : '',
  },
  revoke: {
    path: 'auth/token/revoke-self',
    method: 'POST',
    accessorPath: 'auth/token/revoke-accessor',
    member: undefined,
    format: () => 'The token is revoked.\n',
  },
}

const REPEAT_MS = 60_000
/** Members of an answer that contain the token itself. */
const SECRET = ['id', 'client_token']

/**
 * Looks up, renews or revokes the token of the environment, or with that token the token of an accessor.
 * @throws CommandEnded
 */
export async function runTokenCall(
  { command, values, flags, words }: ParsedCommand & { command: keyof typeof calls },
  { environment, print, say }: CommandPorts,
): Promise<ExitName> {
  if (words.length > 0)
    throw new CommandEnded('usage', `${command} takes no argument, and reads the token from VAULT_TOKEN`)
  const token = readNeededToken(environment, command)
  const base = parseApiBase(values.address ?? 'https://127.0.0.1:8200')
  const connection = readApiConnection(environment, values.namespace)
  const { member, format } = calls[command]
  const accessor = readAccessor(values.accessor)
  const { path, method } = accessor === undefined ? calls[command] : ofAccessor(calls[command])
  const body = defined({ accessor, increment: readIncrement(values.increment) })
  const asking = { method, token, ...(Object.keys(body).length > 0 ? { body } : {}) }
  const label = `${path} at ${new URL(base).origin}`
  const answer = await requestUntilAccepted(() => sendRequest(base, path, asking, connection), {
    timeoutMs: REPEAT_MS,
    say,
    label,
  })
  const { [member ?? '']: found } = answer
  const warnings = Array.isArray(answer['warnings'])
    ? answer['warnings'].map(warning => escapeToOneLine(String(warning)))
    : []
  // servers answer 200 with a warning if no token has the accessor
  if (command === 'revoke' && accessor !== undefined && warnings.length > 0)
    throw new CommandEnded('refused', `${label} revoked no token: ${warnings.join('; ')}`)
  for (const warning of warnings) say(warning)
  if (member !== undefined && !isObject(found))
    throw new CommandEnded('refused', `${new URL(base).origin} answered ${path} without ${member}`)
  const shown = Object.fromEntries(Object.entries(found ?? {}).filter(([name]) => !SECRET.includes(name)))
  print(flags.has('json') ? `${JSON.stringify(shown, null, 2)}\n` : format(shown))
  return 'done'
}

const ofAccessor = ({ accessorPath }: TokenCall) => ({ path: accessorPath, method: 'POST' }) as const

/** Matches the prefix of a token. An accessor has no prefix. */
const TOKEN_PREFIX = /^(hv[sbr]|s|b|r)\./

function readAccessor(text: string | undefined): string | undefined {
  if (text === '') throw new CommandEnded('usage', '--accessor must not be empty')
  if (text !== undefined && TOKEN_PREFIX.test(text))
    throw new CommandEnded(
      'usage',
      '--accessor must be an accessor, not a token. All users of a machine can see arguments, so consider the token stolen',
    )
  return text
}

function readIncrement(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const seconds = parseDuration(text)
  if (!seconds) throw new CommandEnded('usage', '--increment must be a duration such as 3600 or 1h')
  return seconds
}
