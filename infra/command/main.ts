import { constants } from 'node:os'
import { apiBase, connectionOf } from './connection.ts'
import { Ended, type ExitName, exitCodes } from './ended.ts'
import { type LoggedInAs, logIn } from './login/login.ts'
import { loginAsked } from './login/proofs.ts'
import { exportLines } from './login/shell-lines.ts'
import { helpWithToken } from './login/token-helper.ts'
import { type CommandName, type Read, readCommand, tokenIn } from './options.ts'
import { inOneLine, writerTo } from './output.ts'
import { clusterNamed, type NamedCluster } from './set/look.ts'
import { tellStatus } from './set/status.ts'
import { type SwitchDone, switchSet } from './set/switch.ts'
import { openTerminal } from './terminal.ts'

const env = process.env
// of interest to who builds the command: for who runs it, it would stand beside every token
env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true'
const terminal = openTerminal()

const print = writerTo(process.stdout)
const complain = writerTo(process.stderr)
const say = (text: string): void => complain(`${text}\n`)

if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
  delete env['NODE_TLS_REJECT_UNAUTHORIZED']
  say(
    'NODE_TLS_REJECT_UNAUTHORIZED is ignored, certificates are verified: name the authority in VAULT_CACERT',
  )
}

/** What each command does. @returns how it ends, unless it throws */
const runs: Readonly<Record<CommandName, (read: Read) => Promise<ExitName>>> = {
  login,
  'token-helper': tokenHelper,
  status,
  switch: planned,
}

function loginOf({ values }: Read) {
  const base = apiBase(values.address ?? 'https://127.0.0.1:8200')
  const connection = connectionOf(env, values.namespace)
  return { base, connection, run: () => logIn(loginAsked(base, values, env), env, connection, say) }
}

async function login(read: Read): Promise<ExitName> {
  if (read.words.length > 0) throw new Ended('usage', `login takes no word: ${read.words[0]}`)
  if (read.flags.has('json') && read.flags.has('export'))
    throw new Ended('usage', '--json and --export do not go together')
  const { base, run } = loginOf(read)
  const auth = await run()
  const nonce = env['CLOUD_AUTH_NONCE'] ? undefined : auth.metadata?.['nonce']
  if (nonce !== undefined && !read.flags.has('json') && !read.flags.has('export'))
    say('The server chose a nonce for this instance, which later logins need: --json and --export tell it.')
  print(loginText(read, auth, base, nonce))
  return 'done'
}

function loginText(
  { flags, values }: Read,
  auth: LoggedInAs,
  base: string,
  nonce: string | undefined,
): string {
  if (flags.has('json')) return `${JSON.stringify(auth, null, 2)}\n`
  if (!flags.has('export')) return `${auth.client_token}\n`
  return exportLines({
    VAULT_ADDR: base.replace(/\/v1$/, ''),
    VAULT_NAMESPACE: values.namespace,
    VAULT_TOKEN: auth.client_token,
    CLOUD_AUTH_NONCE: nonce,
  })
}

async function tokenHelper(read: Read): Promise<ExitName> {
  const { base, connection, run } = loginOf(read)
  const token = tokenIn(env)
  const { drain } = terminal
  const text = await helpWithToken(read.words, {
    base,
    connection,
    token,
    drain,
    logIn: async () => (await run()).client_token,
  })
  // without a line break: command lines take all of it
  print(text)
  return 'done'
}

/** Clusters of the command line, else those of the environment. */
function clustersOf({ words }: Read): readonly NamedCluster[] {
  const named = words.length > 0 ? words : (env['CLOUD_AUTH_CLUSTERS'] ?? '').split(/\s+/).filter(Boolean)
  if (named.length === 0)
    throw new Ended('usage', 'name the clusters, by address or cluster.json, here or in CLOUD_AUTH_CLUSTERS')
  return named.map(clusterNamed)
}

async function status(read: Read): Promise<ExitName> {
  const clusters = clustersOf(read)
  if (read.values.every !== undefined && !read.flags.has('watch'))
    throw new Ended('usage', '--every says nothing without --watch')
  const every = read.flags.has('watch') ? Number(read.values.every ?? 2) : undefined
  if (every !== undefined && !(every >= 0.1 && every <= 86_400))
    throw new Ended('usage', '--every must be a number of seconds, 0.1 at least')
  const ending = new AbortController()
  if (every !== undefined) process.once('SIGINT', () => ending.abort())
  return tellStatus(clusters, {
    connection: connectionOf(env),
    json: read.flags.has('json'),
    ...(every === undefined ? {} : { every }),
    clear: () => (process.stdout.isTTY ? void process.stdout.write('\x1b[H\x1b[J') : undefined),
    print,
    signal: ending.signal,
  })
}

async function planned(read: Read): Promise<ExitName> {
  const [from, to, ...more] = clustersOf(read)
  if (!from || !to || more.length > 0)
    throw new Ended('usage', 'switch wants two clusters: the one that serves, then the one that takes over')
  const connection = connectionOf(env)
  let where = 'Nothing was changed.'
  const steps: SwitchDone[] = []
  /** What `--json` prints, however it ends. */
  const tell = (ended: ExitName, why?: string): void => {
    const told = { from: from.name, to: to.name, ended, done: steps, where, ...(why ? { why } : {}) }
    if (read.flags.has('json')) print(`${JSON.stringify(told, null, 2)}\n`)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      say(`\nBroken off. ${where} Run the same command again: it goes on where the set is.`)
      tell('interrupted', signal)
      process.exit(128 + constants.signals[signal])
    })
  const token = await operationToken()
  try {
    const confirm = read.flags.has('yes') ? async () => true : confirmed
    const at = (sentence: string): void => {
      where = sentence
    }
    const did = (step: SwitchDone): void => void steps.push(step)
    await switchSet({ from, to }, { connection, token, say, confirm, at, did })
  } catch (error) {
    if (error instanceof Ended) tell(error.exit, error.message)
    throw error
  }
  tell('done')
  return 'done'
}

async function confirmed(question: string): Promise<boolean> {
  const answer = await terminal.line(`${question} [y/N] `)
  if (answer === undefined) say('Nobody answers: --yes goes on without asking.')
  return /^(y|yes)$/i.test(answer?.trim() ?? '')
}

/** Never an argument: those are shown to all of a machine. */
async function operationToken(): Promise<string> {
  const kept = env['CLOUD_AUTH_OPERATION_TOKEN']
  const token = kept || (await terminal.line('DR operation token: ', { hidden: true }))?.trim()
  if (!token)
    throw new Ended(
      'usage',
      'the DR operation token is missing: CLOUD_AUTH_OPERATION_TOKEN, or a line of standard input',
    )
  return token
}

/** Of an answer that this command cannot read, or a fault of its own. */
const unexpected = (error: unknown): Ended =>
  new Ended('refused', `unexpected: ${inOneLine(error instanceof Error ? error.message : String(error))}`)

async function main(): Promise<ExitName> {
  const read = readCommand(process.argv.slice(2), env)
  if (typeof read !== 'string') return runs[read.command](read)
  print(read)
  return 'done'
}

// whoever reads may have seen enough
process.stdout.on('error', () => process.exit(exitCodes.done))

try {
  process.exitCode = exitCodes[await main()]
} catch (error) {
  const { exit, message } = error instanceof Ended ? error : unexpected(error)
  say(exit === 'usage' ? `${message}; cloud-auth --help tells more` : message)
  process.exitCode = exitCodes[exit]
} finally {
  terminal.close()
}
