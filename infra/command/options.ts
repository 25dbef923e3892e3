import { parseArgs } from 'node:util'
import { type CommandEnvironment, variableOf } from './connection.ts'
import { Ended } from './ended.ts'

/** What the command does, each by its first word. */
export const commandRows = {
  login: { words: '', help: 'logs in by the identity that AWS gave this workload, and prints the token' },
  'token-helper': { words: 'get|store|erase', help: 'the token helper of the command lines vault and bao' },
  status: { words: '[CLUSTER …]', help: 'role, lag, operation and readiness of clusters' },
  switch: { words: 'FROM TO', help: 'planned switch: TO takes over from FROM, then FROM follows TO' },
} as const
export type CommandName = keyof typeof commandRows

interface CommandOption {
  /** what stands for its value in the help; absent: it takes none */
  readonly value?: string
  /** variables that are read where it is not given, in this order */
  readonly variables?: readonly string[]
  readonly of: readonly CommandName[]
  readonly help: string
}

const LOGIN = ['login', 'token-helper'] as const
const SET = ['status', 'switch'] as const

/** All options: what is read, from where else, and what the help tells follow from the rows. */
const options = {
  address: { value: 'URL', variables: ['BAO_ADDR', 'VAULT_ADDR'], of: LOGIN, help: 'of the cluster' },
  mount: {
    value: 'PATH',
    variables: ['CLOUD_AUTH_MOUNT'],
    of: LOGIN,
    help: 'where the auth method is (cloud; elsewhere it is often aws)',
  },
  role: {
    value: 'NAME',
    variables: ['CLOUD_AUTH_ROLE'],
    of: LOGIN,
    help: 'role to log in with (the principal’s name)',
  },
  method: {
    value: 'TYPE',
    variables: ['CLOUD_AUTH_METHOD'],
    of: LOGIN,
    help: 'iam: a signed caller-identity request; ec2: the instance’s signed document (iam)',
  },
  // the SDK reads AWS_PROFILE itself, behind keys that stand in the environment
  profile: { value: 'NAME', of: LOGIN, help: 'of the AWS configuration, for iam' },
  region: {
    value: 'REGION',
    variables: ['CLOUD_AUTH_REGION'],
    of: LOGIN,
    help: 'region of STS to sign for; auto: the one configured (the global endpoint)',
  },
  'header-value': {
    value: 'TEXT',
    variables: ['CLOUD_AUTH_HEADER_VALUE'],
    of: LOGIN,
    help: 'the server’s iam_server_id_header_value, for iam',
  },
  document: {
    value: 'KIND',
    variables: ['CLOUD_AUTH_DOCUMENT'],
    of: LOGIN,
    help: 'for ec2: rsa2048, pkcs7 or identity (rsa2048)',
  },
  namespace: {
    value: 'PATH',
    variables: ['BAO_NAMESPACE', 'VAULT_NAMESPACE'],
    of: LOGIN,
    help: 'of the cluster',
  },
  export: { of: ['login'], help: 'print lines for a POSIX shell instead' },
  watch: { of: ['status'], help: 'look again and again, until Ctrl-C' },
  every: { value: 'SECONDS', of: ['status'], help: 'between two looks of --watch (2)' },
  yes: { of: ['switch'], help: 'ask nothing before each step' },
  json: { of: ['login', ...SET], help: 'the result as JSON' },
} as const satisfies Readonly<Record<string, CommandOption>>

export type OptionOf = keyof typeof options
const rows = Object.entries(options) as [OptionOf, CommandOption][]
const rowsOf = (command: CommandName) => rows.filter(([, { of }]) => of.includes(command))

/** A command line, read. `values`: what was given, or stands in the environment. */
export interface Read {
  command: CommandName
  values: { readonly [Name in OptionOf]?: string }
  /** options without a value */
  flags: ReadonlySet<OptionOf>
  words: readonly string[]
}

/** What a token helper is called with: no command line of `vault` or `bao` gives it more words. */
const HELPER_WORDS = ['get', 'store', 'erase']

/**
 * Reads a command line.
 * @returns the help's text where that was asked for
 * @throws Ended `usage`
 */
export function readCommand(args: readonly string[], environment: CommandEnvironment): Read | string {
  const [first = '', ...rest] = args
  if (['', 'help', '--help', '-h'].includes(first)) return helpOfAll()
  const isBareHelper = HELPER_WORDS.includes(first)
  const command = isBareHelper ? 'token-helper' : first
  if (!isCommand(command)) throw new Ended('usage', `there is no command ${JSON.stringify(first)}`)
  const own = rowsOf(command)
  const { values, positionals } = parsed(isBareHelper ? args : rest, own)
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

function parsed(args: readonly string[], own: typeof rows): ReturnType<typeof parseArgs> {
  const known = own.map(([name, { value }]) => [name, { type: value ? 'string' : 'boolean' }] as const)
  const help = ['help', { type: 'boolean', short: 'h' }] as const
  try {
    return parseArgs({
      args: [...args],
      options: Object.fromEntries([...known, help]),
      allowPositionals: true,
    })
  } catch (error) {
    throw new Ended('usage', (error as Error).message.split('. To specify')[0]?.split('\n')[0] ?? '')
  }
}

const helpOfAll = (): string => `cloud-auth COMMAND [options]

${Object.entries(commandRows)
  .map(([name, { words, help }]) => `  ${`${name} ${words}`.padEnd(30)}${help}`)
  .join('\n')}

cloud-auth COMMAND --help tells the options. Certificates, time limits and tokens are found as vault and bao find them
(VAULT_CACERT, VAULT_CLIENT_TIMEOUT, VAULT_TOKEN …, or BAO_…).
`

function helpOf(command: CommandName): string {
  const { words, help } = commandRows[command]
  const told = rowsOf(command).map(([name, { value = '', help: does, variables }]) => {
    const from = variables ? ` [${variables.join(', ')}]` : ''
    return `  ${`--${name} ${value}`.padEnd(22)}${does}${from}`
  })
  return `${`cloud-auth ${command} ${words}`.trimEnd()}\n\n${help}\n\n${told.join('\n')}\n`
}

/** The caller's token, where the environment has one. */
export const tokenIn = (environment: CommandEnvironment): string | undefined =>
  variableOf(environment, 'TOKEN')
