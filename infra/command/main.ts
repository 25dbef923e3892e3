import { constants } from 'node:os'
import { runAgent } from './agent/run.ts'
import { createCompletion } from './completion.ts'
import { readApiConnection } from './connection.ts'
import { CommandEnded, type ExitName, exitCodes } from './ended.ts'
import { explainLogin } from './login/explain.ts'
import { runHelper, runLogin } from './login/runs.ts'
import { type CommandName, type ParsedCommand, parseCommandLine } from './options.ts'
import { createTerminalWriter, escapeToOneLine, type TerminalText, usesColours } from './output.ts'
import type { CommandPorts } from './ports.ts'
import { createProgressLine } from './progress.ts'
import { openProveAccount } from './prove/account.ts'
import { prove } from './prove/prove.ts'
import { type NamedCluster, parseNamedCluster } from './set/look.ts'
import { printSetStatus } from './set/status.ts'
import { type SwitchProgress, switchPrimaryOfSet } from './set/switch.ts'
import { openTerminal } from './terminal.ts'
import { runTokenCall } from './tokens.ts'

const env = process.env
// suppresses the SDK's warning about Node versions, which would be printed next to every token
env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true'
const terminal = openTerminal()

const progressLine = createProgressLine(process.stderr, env)
const show = createTerminalWriter(process.stdout, usesColours(process.stdout, env))
const complain = createTerminalWriter(process.stderr)
const print = (text: TerminalText): void => {
  progressLine.clear()
  show(text)
}
const say = (text: string): void => {
  progressLine.clear()
  complain(`${text}\n`)
}
/** Asks the user, and shows no progress meanwhile. */
const ask = (...question: Parameters<typeof terminal.line>): Promise<string | undefined> =>
  progressLine.hideDuring(() => terminal.line(...question))
const ports: CommandPorts = { environment: env, print, say }

if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
  delete env['NODE_TLS_REJECT_UNAUTHORIZED']
  say(
    'NODE_TLS_REJECT_UNAUTHORIZED is ignored and certificates are verified. Name the CA certificate in VAULT_CACERT',
  )
}

/** The commands of `cloud-auth`, by name. @returns the exit or an exit code, unless the command throws */
const runs: Readonly<Record<CommandName, (read: ParsedCommand) => Promise<ExitName | number>>> = {
  login: read => runLogin(read, ports),
  explain: read => explainLogin(read, ports),
  // from its first message on, the agent tells its waits, and a program may use the terminal
  agent: read =>
    runAgent(read, {
      ...ports,
      say: text => {
        progressLine.stop()
        say(text)
      },
    }),
  lookup: read => runTokenCall({ ...read, command: 'lookup' }, ports),
  renew: read => runTokenCall({ ...read, command: 'renew' }, ports),
  revoke: read => runTokenCall({ ...read, command: 'revoke' }, ports),
  'token-helper': read => runHelper(read, ports, terminal.drain),
  status,
  switch: planned,
  prove: proof,
  completion: async ({ words }) => {
    print(createCompletion(words))
    return 'done'
  },
}

/** Returns the clusters that the command line names, else the clusters of the environment. */
function clustersOf({ words }: ParsedCommand): readonly NamedCluster[] {
  const named = words.length > 0 ? words : (env['CLOUD_AUTH_CLUSTERS'] ?? '').split(/\s+/).filter(Boolean)
  if (named.length === 0)
    throw new CommandEnded(
      'usage',
      'name each cluster by its address or the path of its cluster.json, as arguments or in CLOUD_AUTH_CLUSTERS',
    )
  return named.map(parseNamedCluster)
}

async function status(read: ParsedCommand): Promise<ExitName> {
  const clusters = clustersOf(read)
  if (read.values.every !== undefined && !read.flags.has('watch'))
    throw new CommandEnded('usage', '--every needs --watch')
  const every = read.flags.has('watch') ? Number(read.values.every ?? 2) : undefined
  if (every !== undefined && !(every >= 0.1 && every <= 86_400))
    throw new CommandEnded('usage', '--every must be a number of seconds, at least 0.1')
  const ending = new AbortController()
  if (every !== undefined) process.once('SIGINT', () => ending.abort())
  return printSetStatus(clusters, {
    connection: readApiConnection(env),
    json: read.flags.has('json'),
    ...(every === undefined ? {} : { every }),
    clear: () => (process.stdout.isTTY ? void process.stdout.write('\x1b[H\x1b[J') : undefined),
    print,
    signal: ending.signal,
  })
}

async function planned(read: ParsedCommand): Promise<ExitName> {
  const [from, to, ...more] = clustersOf(read)
  if (!from || !to || more.length > 0)
    throw new CommandEnded(
      'usage',
      'switch needs two clusters: first the one that serves, then the one that takes over',
    )
  const connection = readApiConnection(env)
  const progress: SwitchProgress = { done: [], where: 'Nothing was changed.' }
  /** Prints the result for `--json`, however the switch ended. */
  const tell = (ended: ExitName, why?: string): void => {
    const told = { from: from.name, to: to.name, ended, ...progress, ...(why ? { why } : {}) }
    if (read.flags.has('json')) print(`${JSON.stringify(told, null, 2)}\n`)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      say(
        `\nInterrupted. ${progress.where} Run the same command again to continue from the current state of the clusters.`,
      )
      tell('interrupted', signal)
      process.exit(128 + constants.signals[signal])
    })
  const token = await operationToken()
  try {
    const confirm = read.flags.has('yes') ? async () => true : confirmed
    const acceptLoss = read.values['accept-loss']
    await switchPrimaryOfSet({ from, to }, { connection, token, acceptLoss, say, confirm, progress })
  } catch (error) {
    if (error instanceof CommandEnded) tell(error.exit, error.message)
    throw error
  }
  tell('done')
  return 'done'
}

async function proof({ values, flags, words }: ParsedCommand): Promise<ExitName> {
  const options = {
    region: values.region,
    peerRegion: values['peer-region'],
    eksCluster: values['eks-cluster'],
    profile: values.profile,
    release: values.release,
    limit: values.limit,
    subnet: values.subnet,
    words,
    isDry: flags.has('dry-run'),
    isCleanup: flags.has('cleanup'),
    keeps: flags.has('keep'),
    isResume: flags.has('resume'),
    json: flags.has('json'),
    showsAccount: flags.has('show-account'),
  }
  return prove(options, {
    environment: env,
    connection: readApiConnection(env),
    print,
    say,
    confirm: flags.has('yes') ? async () => true : confirmed,
    onSignal: called => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => called(signal))
      // the teardown continues when the terminal is gone
      process.stderr.on('error', () => undefined)
    },
    open: openProveAccount,
    reach: address => address,
    linkTo: address => new URL(address).origin,
  })
}

async function confirmed(question: string): Promise<boolean> {
  const answer = await ask(`${question} [y/N] `)
  if (answer === undefined) say('No answer. Use --yes to continue without questions.')
  return /^(y|yes)$/i.test(answer?.trim() ?? '')
}

/** Reads the operation token. The token is never an argument, because all users of a machine can see arguments. */
async function operationToken(): Promise<string> {
  const kept = env['CLOUD_AUTH_OPERATION_TOKEN']
  const token = kept || (await ask('DR operation token: ', { hidden: true }))?.trim()
  if (!token)
    throw new CommandEnded(
      'usage',
      'the DR operation token is missing. Set CLOUD_AUTH_OPERATION_TOKEN, or write it to standard input',
    )
  return token
}

/** Converts an unexpected error, for example an unreadable answer, to an exit. */
const unexpected = (error: unknown): CommandEnded =>
  new CommandEnded(
    'refused',
    `unexpected error: ${escapeToOneLine(error instanceof Error ? error.message : String(error))}`,
  )

/** Reports whether a command shows that it waits. `status --watch` prints by itself, and other programs read the helper. */
const showsProgress = ({ command, flags }: ParsedCommand): boolean =>
  command !== 'token-helper' && !flags.has('watch')

async function main(): Promise<ExitName | number> {
  const read = parseCommandLine(process.argv.slice(2), env)
  if (typeof read !== 'string') {
    if (showsProgress(read)) progressLine.start(`cloud-auth ${read.command}`)
    return runs[read.command](read)
  }
  print(read)
  return 'done'
}

// the reader of the command's output may close it early
process.stdout.on('error', () => process.exit(exitCodes.done))

try {
  const ended = await main()
  process.exitCode = typeof ended === 'number' ? ended : exitCodes[ended]
} catch (error) {
  const { exit, message } = error instanceof CommandEnded ? error : unexpected(error)
  say(exit === 'usage' ? `${message}; see cloud-auth --help` : message)
  process.exitCode = exitCodes[exit]
} finally {
  progressLine.stop()
  terminal.close()
}
