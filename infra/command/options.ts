import { parseArgs } from 'node:util'
import type { CommandEnvironment } from './connection.ts'
import { CommandEnded } from './ended.ts'

// the build of the command replaces this name; a checkout does not define it
declare const BUILT_VERSION: string
const version = typeof BUILT_VERSION === 'string' ? BUILT_VERSION : 'not built'

export interface CommandRow {
  /** words after the command, as the help shows them */
  readonly words: string
  /** the words that the command accepts; absent: any */
  readonly choices?: readonly string[]
  readonly help: string
}

/** The commands by their first word. */
export const commandRows = {
  login: { words: '', help: 'logs in with this workload’s AWS identity and prints the token' },
  explain: {
    words: '',
    help: 'shows why a login is refused: each check, what was seen, what the role admits',
  },
  agent: {
    words: '[-- PROGRAM …]',
    help: 'keeps a token fresh in a file or for a program, and follows the active cluster of CLOUD_AUTH_CLUSTERS',
  },
  lookup: { words: '', help: 'shows the policies, the expiry and the other data of a token' },
  renew: { words: '', help: 'extends a token' },
  revoke: { words: '', help: 'revokes a token and its children' },
  'token-helper': {
    words: 'get|store|erase',
    choices: ['get', 'store', 'erase'],
    help: 'is a token helper for the commands vault and bao',
  },
  status: { words: '[CLUSTER …]', help: 'shows role, lag, operation and readiness of clusters' },
  switch: { words: 'FROM TO', help: 'planned switch: TO takes over from FROM, then FROM follows TO' },
  prove: { words: '[RUN]', help: 'deploys a release into an AWS account, checks it, and deletes it again' },
  completion: {
    words: 'bash|zsh|fish',
    choices: ['bash', 'zsh', 'fish'],
    help: 'prints the script that completes command lines in a shell',
  },
} as const satisfies Readonly<Record<string, CommandRow>>
export type CommandName = keyof typeof commandRows

interface CommandOption {
  /** placeholder of the option's value in the help; absent: the option takes no value */
  readonly value?: string
  /** environment variables that replace a missing option, in this order */
  readonly variables?: readonly string[]
  /** values that the option accepts; absent: any */
  readonly choices?: readonly string[]
  readonly of: readonly CommandName[]
  readonly help: string
}

const PROOF = ['login', 'explain', 'token-helper'] as const
const LOGIN = [...PROOF, 'agent'] as const
const TOKEN = ['lookup', 'renew', 'revoke'] as const
const SET = ['status', 'switch'] as const

/** All options. Parsing, environment variables and help are derived from the rows of options. */
const options = {
  address: {
    value: 'URL',
    variables: ['BAO_ADDR', 'VAULT_ADDR'],
    of: [...PROOF, ...TOKEN],
    help: 'address of the cluster (default https://127.0.0.1:8200)',
  },
  mount: {
    value: 'PATH',
    variables: ['CLOUD_AUTH_MOUNT'],
    of: LOGIN,
    help: 'mount path of the auth method (default cloud; on Vault often aws)',
  },
  role: {
    value: 'NAME',
    variables: ['CLOUD_AUTH_ROLE'],
    of: LOGIN,
    help: 'role of the login (default: the name of the principal)',
  },
  method: {
    value: 'TYPE',
    variables: ['CLOUD_AUTH_METHOD'],
    choices: ['iam', 'ec2', 'jwt'],
    of: LOGIN,
    help: 'iam: a signed GetCallerIdentity request; ec2: the instance’s signed document; jwt: a token that AWS signs (default iam)',
  },
  // the SDK itself reads AWS_PROFILE, after keys in the environment
  profile: {
    value: 'NAME',
    of: [...LOGIN, 'prove'],
    help: 'for iam, jwt and prove: profile of the AWS configuration',
  },
  region: {
    value: 'REGION',
    variables: ['CLOUD_AUTH_REGION'],
    of: [...LOGIN, 'prove'],
    help: 'STS region of the signature; auto: the configured AWS region (default: the global endpoint). For prove: region of the stacks',
  },
  'header-value': {
    value: 'TEXT',
    variables: ['CLOUD_AUTH_HEADER_VALUE'],
    of: LOGIN,
    help: 'for iam: the mount’s iam_server_id_header_value',
  },
  audience: {
    value: 'TEXT',
    variables: ['CLOUD_AUTH_AUDIENCE'],
    of: LOGIN,
    help: 'for jwt: audience of the token, one of the mount’s bound_audiences',
  },
  document: {
    value: 'KIND',
    variables: ['CLOUD_AUTH_DOCUMENT'],
    choices: ['rsa2048', 'pkcs7', 'identity'],
    of: LOGIN,
    help: 'for ec2: kind of document, rsa2048, pkcs7 or identity (default rsa2048)',
  },
  namespace: {
    value: 'PATH',
    variables: ['BAO_NAMESPACE', 'VAULT_NAMESPACE'],
    of: [...LOGIN, ...TOKEN],
    help: 'namespace of the cluster',
  },
  login: {
    value: 'FILE',
    of: ['explain'],
    help: 'explain the login in this file, instead of this workload’s',
  },
  output: { value: 'FILE', of: ['login'], help: 'for --dry-run: new file for the login' },
  'show-secrets': { of: ['login'], help: 'for --dry-run: print the login, which is a credential' },
  export: { of: ['login'], help: 'print export lines for a POSIX shell' },
  accessor: {
    value: 'ACCESSOR',
    of: TOKEN,
    help: 'accessor of the token (default: your own token). Your token needs update on auth/token/lookup-accessor, renew-accessor or revoke-accessor',
  },
  increment: { value: 'DURATION', of: ['renew'], help: 'lifetime to ask for (default: that of the role)' },
  file: { value: 'FILE', of: ['agent'], help: 'file for the token; only you may write in its folder' },
  'on-new-token': {
    value: 'SIGNAL',
    of: ['agent'],
    help: 'signal for the program after a new login, in place of a restart',
  },
  revoke: { of: ['agent'], help: 'revoke the token at the end' },
  watch: { of: ['status'], help: 'repeat until Ctrl-C' },
  every: {
    value: 'SECONDS',
    of: ['status', 'agent'],
    help: 'seconds between two status reads of --watch (default 2), or between two health checks of agent (default 10)',
  },
  'peer-region': {
    value: 'REGION',
    of: ['prove'],
    help: 'also joins, switches and loses a second cluster in this region',
  },
  release: {
    value: 'FOLDER',
    of: ['prove'],
    help: 'folder with SHA256SUMS and the templates of the release',
  },
  limit: { value: 'USD', of: ['prove'], help: 'stops at 80 % of this price (default and maximum 5)' },
  subnet: { value: 'ID', of: ['prove'], help: 'subnet of the instance (default: the default VPC)' },
  'eks-cluster': {
    value: 'NAME',
    of: ['prove'],
    help: 'also logs in from a pod of this EKS cluster, in a namespace of its own',
  },
  'dry-run': {
    of: ['login', 'prove'],
    help: 'login: write the login instead of sending it; prove: print what would be made, and its price',
  },
  cleanup: { of: ['prove'], help: 'delete what runs have left, or what RUN has left' },
  keep: { of: ['prove'], help: 'keep the stacks of a complete run, and its root token in a file' },
  resume: { of: ['prove'], help: 'check the claims of the kept RUN again' },
  'show-account': { of: ['prove'], help: 'print account ids in full' },
  'accept-loss': {
    value: 'NAME',
    of: ['switch'],
    help: 'if FROM is lost, NAME (the name of TO) takes over by force, and writes may be lost',
  },
  yes: { of: ['switch', 'prove'], help: 'continue without asking before each step' },
  json: { of: ['login', 'explain', 'lookup', 'renew', ...SET, 'prove'], help: 'print the result as JSON' },
} as const satisfies Readonly<Record<string, CommandOption>>

export type CommandOptionName = keyof typeof options
const rows = Object.entries(options) as [CommandOptionName, CommandOption][]
/** Returns the options of a command, with their names. */
export const optionsOfCommand = (command: CommandName) => rows.filter(([, { of }]) => of.includes(command))

/** A parsed command line. `values` come from options or environment variables. */
export interface ParsedCommand {
  command: CommandName
  values: { readonly [Name in CommandOptionName]?: string }
  /** options without a value */
  flags: ReadonlySet<CommandOptionName>
  words: readonly string[]
}

/**
 * Words of the token helper protocol. `vault` and `bao` call a token helper with exactly one of these words.
 */
const HELPER_WORDS: readonly string[] = commandRows['token-helper'].choices

/**
 * Parses a command line.
 * @returns the parsed command, or the help text if the user requested help
 * @throws CommandEnded `usage`
 */
export function parseCommandLine(
  args: readonly string[],
  environment: CommandEnvironment,
): ParsedCommand | string {
  const [first = '', ...rest] = args
  if (['', 'help', '--help', '-h'].includes(first)) return helpOfAll()
  if (['version', '--version'].includes(first)) return `cloud-auth ${version}\n`
  const isBareHelper = HELPER_WORDS.includes(first)
  const command = isBareHelper ? 'token-helper' : first
  if (!isCommand(command)) throw new CommandEnded('usage', `unknown command ${JSON.stringify(first)}`)
  const own = optionsOfCommand(command)
  const { values, positionals } = parseWords(isBareHelper ? args : rest, own)
  if (values['help'] === true) return helpOf(command)
  return {
    command,
    words: positionals,
    flags: new Set(own.filter(([name]) => values[name] === true).map(([name]) => name)),
    values: Object.fromEntries(
      own.flatMap(([name, { value, variables = [] }]) => {
        const given = values[name] ?? variables.map(one => environment[one] || undefined).find(Boolean)
        return value !== undefined && given !== undefined ? [[name, String(given)]] : []
      }),
    ),
  }
}

const isCommand = (text: string): text is CommandName => Object.hasOwn(commandRows, text)

function parseWords(args: readonly string[], own: typeof rows): ReturnType<typeof parseArgs> {
  const known = own.map(([name, { value }]) => [name, { type: value ? 'string' : 'boolean' }] as const)
  const help = ['help', { type: 'boolean', short: 'h' }] as const
  try {
    return parseArgs({
      args: [...args],
      options: Object.fromEntries([...known, help]),
      allowPositionals: true,
    })
  } catch (error) {
    throw new CommandEnded('usage', (error as Error).message.split('. To specify')[0]?.split('\n')[0] ?? '')
  }
}

const helpOfAll = (): string => `cloud-auth COMMAND [options]

${Object.entries(commandRows)
  .map(([name, { words, help }]) => `  ${`${name} ${words}`.padEnd(30)}${help}`)
  .join('\n')}

cloud-auth COMMAND --help lists the options, and cloud-auth --version prints the version. The command finds certificates, time limits and tokens as vault and bao do
(VAULT_CACERT, VAULT_CLIENT_TIMEOUT, VAULT_TOKEN …, or BAO_…).
`

function helpOf(command: CommandName): string {
  const { words, help } = commandRows[command]
  const told = optionsOfCommand(command).map(([name, { value = '', help: does, variables }]) => {
    const from = variables ? ` [${variables.join(', ')}]` : ''
    return `  ${`--${name} ${value}`.padEnd(22)}${does}${from}`
  })
  return `${`cloud-auth ${command} ${words}`.trimEnd()}\n\n${help}\n\n${told.join('\n')}\n`
}
