import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readAuthorities } from '../../../build/authorities.ts'
import { checkoutRoot } from '../../../checkout.ts'

interface Option {
  /** placeholder and parser of the option's value; absent: the option takes no value */
  readonly value?: string
  readonly read?: (text: string, name: string) => unknown
  readonly help: string
  /** true: a pair of hosts chooses the value itself */
  readonly notOfAPair?: true
}

/** All options of `npm start`. Parsing, help and the command's options are derived from the rows of options. */
const options = {
  cluster: {
    value: 'NAME',
    read: nameOf,
    help: 'name of the cluster, whose state is kept in .local/NAME (default local)',
    notOfAPair: true,
  },
  port: { value: 'N', read: portOf, help: 'port of the API (default 8200; 0: any)' },
  'link-port': {
    value: 'N',
    read: portOf,
    help: 'gRPC port on which other clusters reach this cluster (0: any)',
    notOfAPair: true,
  },
  'provider-port': {
    value: 'N',
    read: portOf,
    help: 'port of the imitated AWS (0: any)',
    notOfAPair: true,
  },
  'metadata-port': {
    value: 'N',
    read: portOf,
    help: 'port of the metadata service of an instance, for logins by hand (0: any)',
    notOfAPair: true,
  },
  pair: {
    help: 'run two clusters as two processes: east, a DR primary, on port N, and west, its secondary, on port N + 1',
  },
  aws: {
    value: 'NAME',
    read: nameOf,
    help: 'use the imitated AWS of another cluster of this machine (default: the cluster’s own)',
    notOfAPair: true,
  },
  provider: {
    value: 'URL',
    read: originOf,
    help: 'use a running imitated AWS, with its control token in CLOUD_AUTH_CONTROL_TOKEN',
    notOfAPair: true,
  },
  region: {
    value: 'REGION',
    read: regionOf,
    help: 'AWS region of the cluster (default us-east-1)',
    notOfAPair: true,
  },
  memory: { help: 'keep nothing' },
  once: { help: 'end the cluster after the demonstration' },
  'one-at-a-time': { help: 'each Lambda environment serves one request at a time, as on ordinary Lambda' },
  'ca-bundles': {
    value: 'DIR',
    read: bundlesOf,
    help: 'directory of CA certificates that ca_file and ca_path may name',
  },
  'legacy-signatures': { help: 'accept SHA-1 and RSA-1024 identity documents' },
  help: { help: 'this text' },
} as const satisfies Readonly<Record<string, Option>>

type OptionName = keyof typeof options
const rows = Object.entries(options) as [OptionName, Option][]

export const START_HELP_TEXT = `npm start [-- options]        a cluster on this machine, then a login of each type

${rows.map(([name, { value = '', help }]) => `  ${`--${name} ${value}`.padEnd(23)}${help}`).join('\n')}

Without these options a cluster keeps the ports, the region and the AWS of its last start.
CLOUD_AUTH_STATE in the environment names another directory than .local.
`

/**
 * The checked options of `npm start`. Port 0 means any free port; an absent port means the port of the last
 * start.
 */
export type StartOptions = {
  [N in OptionName]?: (typeof options)[N] extends { read: (text: string, name: string) => infer Value }
    ? Value
    : boolean
}

/** An invalid command line, explained in one line. */
export class StartUsageError extends Error {}

const MORE = 'see npm start -- --help'

/**
 * Parses a command line.
 * @param environment contains options that npm took because the `--` before them is missing
 * @throws StartUsageError
 */
export function readStartOptions(args: string[], environment: NodeJS.ProcessEnv): StartOptions {
  rejectTakenOptions(args, environment)
  const { values, tokens } = parseWords(args)
  if (tokens.some(({ kind }) => kind === 'option-terminator'))
    throw new StartUsageError(`a second -- has no effect; leave it out (${MORE})`)
  const asked: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(values) as [OptionName, string | boolean][])
    asked[name] = typeof value === 'string' ? (options[name] as Option).read?.(value, name) : value
  for (const [one, others, why] of contradictions)
    for (const other of others)
      if (asked[one] !== undefined && asked[other] !== undefined)
        throw new StartUsageError(`--${one} and --${other} cannot be used together: ${why}`)
  return asked
}

const parsable = Object.fromEntries(
  rows.map(([name, { value }]) => [name, { type: value ? 'string' : 'boolean' } as const]),
)

function parseWords(args: string[]) {
  try {
    return parseArgs({ args, options: parsable, tokens: true })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL')
      throw new StartUsageError(`${quoted(message)} is not an option; ${MORE}`)
    throw new StartUsageError(`${message.split('\n')[0]?.split('. To specify')[0]}: ${MORE}`)
  }
}

const quoted = (message: string): string => /'[^']*'/.exec(message)?.[0] ?? ''

/**
 * Rejects a command line whose options npm took. npm takes options that are given before `--`, and the
 * command would silently run without these options.
 */
function rejectTakenOptions(args: readonly string[], environment: NodeJS.ProcessEnv): void {
  const taken = Object.keys(options).filter(
    name => name !== 'help' && environment[`npm_config_${name.replaceAll('-', '_')}`] !== undefined,
  )
  if (taken.length === 0) return
  const meant = taken.map(name => `--${name}`).join(' ')
  throw new StartUsageError(
    `npm took ${meant} as its own option. Use npm start -- ${meant}${args.length > 0 ? ` ${args.join(' ')}` : ''}`,
  )
}

const OF_A_PAIR = rows.flatMap(([name, { notOfAPair }]) => (notOfAPair ? [name] : []))

const contradictions: readonly [OptionName, readonly OptionName[], string][] = [
  ['pair', OF_A_PAIR, 'a pair has fixed names and ports and its own imitated AWS'],
  ['provider', ['aws', 'provider-port'], '--provider uses a running imitated AWS and starts none'],
]

function originOf(text: string, name: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:')
    throw new StartUsageError(`--${name} must be a URL such as http://127.0.0.1:4566`)
  return url.origin
}

function regionOf(text: string, name: string): string {
  if (!/^[a-z]{2}(-[a-z]+)+-\d+$/.test(text))
    throw new StartUsageError(`--${name} must be a region such as us-east-1`)
  return text
}

function bundlesOf(text: string, name: string): string {
  if (!existsSync(resolve(checkoutRoot, text)))
    throw new StartUsageError(`--${name}: there is no directory ${text}`)
  try {
    readAuthorities(text)
  } catch (error) {
    throw new StartUsageError(`--${name}: ${(error as Error).message}`)
  }
  return text
}

function nameOf(text: string, name: string): string {
  if (!/^[\w-][\w.-]{0,63}$/.test(text))
    throw new StartUsageError(`--${name}: a cluster name has at most 64 letters, digits, "_", "-" and "."`)
  return text
}

function portOf(text: string, name: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new StartUsageError(`--${name} must be a number from 0 (any free port) to 65535`)
  return Number(text)
}
