import { type LoginExplanation, readLoginExplanation } from '../../../shared/console/explained.ts'
import { isObject } from '../../../shared/values/json.ts'
import { describeRefusal, sendRequest } from '../ask.ts'
import { CommandEnded, type ExitName } from '../ended.ts'
import type { ParsedCommand } from '../options.ts'
import { escapeToOneLine, type Painted, type TerminalText } from '../output.ts'
import { type CommandPorts, readNeededToken } from '../ports.ts'
import { createLoginBody, readLoginTarget } from './login.ts'
import { readLoginFile } from './login-file.ts'

const HANDING = 'hand the login to an administrator, by cloud-auth login --dry-run --output FILE'

/**
 * Asks the cluster for the verdict of each check on a login, and prints the verdicts. The login is that of this
 * workload, or the login in a file.
 * @returns `unwell` if the login would fail
 * @throws CommandEnded
 */
export async function explainLogin(
  { values, flags, words }: ParsedCommand,
  { environment, print, say }: CommandPorts,
): Promise<ExitName> {
  if (words.length > 0) throw new CommandEnded('usage', `explain takes no argument: ${words[0]}`)
  const token = readNeededToken(environment, 'explain', `. Without a token: ${HANDING}`)
  const { base, connection, options } = readLoginTarget(values, environment)
  const given = values.login === undefined ? undefined : readLoginFile(values.login)
  const path = `auth/${options.mount}/role/${roleSegment(options.role ?? given?.['role'])}/explain`
  const { role: _, ...body } = given ?? (await createLoginBody(options, environment, say))
  const answer = await sendRequest(base, path, { method: 'POST', body, token }, connection)
  if (answer.status !== 200) throw new CommandEnded('refused', refusalOf(path, base, answer))
  const { data } = answer.body
  if (!isObject(data)) throw new CommandEnded('refused', `${base} answered ${path} without an explanation`)
  const explained = readLoginExplanation(data)
  print(flags.has('json') ? `${JSON.stringify(data, null, 2)}\n` : formatExplanation(explained))
  return explained.wouldSucceed ? 'done' : 'unwell'
}

function roleSegment(role: unknown): string {
  if (typeof role !== 'string' || role === '')
    throw new CommandEnded('usage', '--role must name the role, because the login names none')
  if (/^\.+$/.test(role)) throw new CommandEnded('usage', '--role must be the name of a role')
  return encodeURIComponent(role)
}

const cures: Readonly<Record<number, string>> = {
  403: `. VAULT_TOKEN needs update on this path. Or ${HANDING}`,
  404: '. The mount or the role does not exist; check --mount and --role',
}

const refusalOf = (path: string, base: string, answer: Parameters<typeof describeRefusal>[0]): string =>
  `${path} at ${new URL(base).origin}: ${describeRefusal(answer)}${cures[answer.status] ?? ''}`

const tones: Readonly<Record<string, Painted['tone']>> = { pass: 'good', fail: 'bad' }

/** Formats an explanation for people: each check with what was seen and what the role admits. */
function formatExplanation({ wouldSucceed, sentence, checks }: LoginExplanation): TerminalText {
  const rows = checks.flatMap(({ check, verdict, message, seen, wanted }) => [
    { tone: tones[verdict] ?? 'dim', text: escapeToOneLine(verdict).padEnd(13) } as const,
    `${escapeToOneLine(check)}\n`,
    ...[
      ['seen', seen],
      ['wanted', wanted],
      ['answer', message],
    ].flatMap(([label = '', text = '']) =>
      text === '' ? [] : [`             ${label.padEnd(8)}${escapeToOneLine(text)}\n`],
    ),
  ])
  return [...rows, '\n', { tone: wouldSucceed ? 'good' : 'bad', text: escapeToOneLine(sentence) }, '\n']
}
