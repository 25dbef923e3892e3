import { formatCheckValue } from '../../shared/console/explained.ts'
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
  path: string
  method: NonNullable<ApiRequestOptions['method']>
  /** member of the answer that the command prints */
  member: 'data' | 'auth' | undefined
  /** formats the member for people */
  format(shown: Readonly<Record<string, unknown>>): string
}

const calls: Readonly<Record<'lookup' | 'renew' | 'revoke', TokenCall>> = {
  lookup: {
    path: 'auth/token/lookup-self',
    method: 'GET',
    member: 'data',
    format: shown =>
      Object.entries(shown)
        .map(([name, value]) => `${`${name} `.padEnd(19)}${escapeToOneLine(formatCheckValue(value))}\n`)
        .join(''),
  },
  renew: {
    path: 'auth/token/renew-self',
    method: 'POST',
    member: 'auth',
    format: ({ lease_duration: left }) =>
      typeof left === 'number' ? `The token expires in ${formatDuration(left)}.\n` : '',
  },
  revoke: {
    path: 'auth/token/revoke-self',
    method: 'POST',
    member: undefined,
    format: () => 'The token is revoked.\n',
  },
}

const REPEAT_MS = 60_000
/** Members of an answer that contain the token itself. */
const SECRET = ['id', 'client_token']

/** Looks up, renews or revokes the token of the environment. @throws CommandEnded */
export async function runTokenCall(
  { command, values, flags, words }: ParsedCommand & { command: keyof typeof calls },
  { environment, print, say }: CommandPorts,
): Promise<ExitName> {
  if (words.length > 0)
    throw new CommandEnded('usage', `${command} takes no argument, and reads the token from VAULT_TOKEN`)
  const token = readNeededToken(environment, command)
  const base = parseApiBase(values.address ?? 'https://127.0.0.1:8200')
  const connection = readApiConnection(environment, values.namespace)
  const { path, method, member, format } = calls[command]
  const increment = readIncrement(values.increment)
  const body = increment === undefined ? undefined : { increment }
  const answer = await requestUntilAccepted(
    () => sendRequest(base, path, { method, token, ...(body ? { body } : {}) }, connection),
    { timeoutMs: REPEAT_MS, say, label: `${path} at ${new URL(base).origin}` },
  )
  const { warnings, [member ?? '']: found } = answer
  if (Array.isArray(warnings)) for (const warning of warnings) say(escapeToOneLine(String(warning)))
  if (member !== undefined && !isObject(found))
    throw new CommandEnded('refused', `${new URL(base).origin} answered ${path} without ${member}`)
  const shown = Object.fromEntries(Object.entries(found ?? {}).filter(([name]) => !SECRET.includes(name)))
  print(flags.has('json') ? `${JSON.stringify(shown, null, 2)}\n` : format(shown))
  return 'done'
}

function readIncrement(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const seconds = parseDuration(text)
  if (!seconds) throw new CommandEnded('usage', '--increment must be a duration such as 3600 or 1h')
  return seconds
}
