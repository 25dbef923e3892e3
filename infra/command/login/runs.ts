import { quoteForShell } from '../../../shared/console/commands.ts'
import { CommandEnded, type ExitName } from '../ended.ts'
import type { ParsedCommand } from '../options.ts'
import { type CommandPorts, readEnvironmentToken } from '../ports.ts'
import { createLoginBody, type LoginAuth, logInToCluster, readLoginTarget } from './login.ts'
import { formatLogin, writeLoginFile } from './login-file.ts'
import { runTokenHelper } from './token-helper.ts'

/** Runs `cloud-auth login`. @throws CommandEnded */
export async function runLogin(read: ParsedCommand, ports: CommandPorts): Promise<ExitName> {
  const { flags, values, words } = read
  if (words.length > 0) throw new CommandEnded('usage', `login takes no argument: ${words[0]}`)
  if (flags.has('json') && flags.has('export'))
    throw new CommandEnded('usage', '--json and --export cannot be used together')
  if (flags.has('dry-run')) return writeLogin(read, ports)
  if (values.output !== undefined || flags.has('show-secrets'))
    throw new CommandEnded('usage', '--output and --show-secrets need --dry-run')
  const { environment, print, say } = ports
  const { base, connection, options } = readLoginTarget(values, environment)
  const auth = await logInToCluster(options, environment, connection, say)
  const nonce = environment['CLOUD_AUTH_NONCE'] ? undefined : auth.metadata?.['nonce']
  if (nonce !== undefined && !flags.has('json') && !flags.has('export'))
    say(
      'The server chose a nonce for this instance. Later logins need the nonce; --json and --export print the nonce.',
    )
  print(formatLoginResult(read, auth, base, nonce))
  return 'done'
}

/** Writes the login instead of sending it. */
async function writeLogin({ values, flags }: ParsedCommand, ports: CommandPorts): Promise<ExitName> {
  const { environment, print, say } = ports
  const { output } = values
  if (flags.has('json') || flags.has('export'))
    throw new CommandEnded('usage', '--dry-run gives no token, so --json and --export do not apply')
  if ((output !== undefined) === flags.has('show-secrets'))
    throw new CommandEnded(
      'usage',
      'the login is a credential, so --dry-run needs either --output FILE, or --show-secrets to print the login',
    )
  const { options } = readLoginTarget(values, environment)
  const login = await createLoginBody(options, environment, () => undefined)
  if (output === undefined) {
    say(`This login is a credential: ${WHO_MAY_USE_IT}.`)
    print(formatLogin(login))
  } else {
    writeLoginFile(output, login)
    say(`Wrote the login to ${output}. The login is a credential: ${WHO_MAY_USE_IT}.`)
  }
  return 'done'
}

const WHO_MAY_USE_IT = 'whoever has it can log in as this workload, with a signed request for fifteen minutes'

function formatLoginResult(
  { flags, values }: ParsedCommand,
  auth: LoginAuth,
  base: string,
  nonce: string | undefined,
): string {
  if (flags.has('json')) return `${JSON.stringify(auth, null, 2)}\n`
  if (!flags.has('export')) return `${auth.client_token}\n`
  return formatShellExports({
    VAULT_ADDR: base.replace(/\/v1$/, ''),
    VAULT_NAMESPACE: values.namespace,
    VAULT_TOKEN: auth.client_token,
    CLOUD_AUTH_NONCE: nonce,
  })
}

/** Runs `cloud-auth token-helper`. @param drain reads standard input to its end */
export async function runHelper(
  { values, words }: ParsedCommand,
  { environment, print, say }: CommandPorts,
  drain: () => Promise<void>,
): Promise<ExitName> {
  const { base, connection, options } = readLoginTarget(values, environment)
  const logIn = async () => (await logInToCluster(options, environment, connection, say)).client_token
  const token = readEnvironmentToken(environment)
  // prints no line break, because the clients use the whole output as the token
  print(await runTokenHelper(words, { base, connection, token, drain, logIn }))
  return 'done'
}

/** Formats variables as `export` lines for a POSIX shell; undefined values are omitted. */
export const formatShellExports = (variables: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(variables)
    .flatMap(([name, value]) => (value === undefined ? [] : [`export ${name}=${quoteForShell(value)}\n`]))
    .join('')
