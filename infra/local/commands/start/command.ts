import { defined } from '../../../../shared/values/defined.ts'
import { createTerminalWriter } from '../../../command/output.ts'
import type { LocalHost } from '../../host/host.ts'
import { startLastingHost } from '../../host/lasting-host.ts'
import { requireStateDirectory } from '../../os/cluster-file.ts'
import { endProcessOnSignals } from '../../os/ending.ts'
import { formatSecondaryStatus, readStatusWithContact } from '../../pair/stand.ts'
import { HOME_ACCOUNT, WORKLOAD_INSTANCE } from '../../provider/home.ts'
import { type DemonstratedLogin, demonstrateLogins, parseCallCounts } from './demonstration.ts'
import { readStartOptions, START_HELP_TEXT, type StartOptions, StartUsageError } from './options.ts'
import { runLocalPair } from './run-pair.ts'

/** Capacity of ordinary Lambda functions: more environments, each with one request at a time. */
const ONE_AT_A_TIME = { environments: 8, requests: 1 }

const write = createTerminalWriter(process.stdout)
const complain = createTerminalWriter(process.stderr)
const print = (text: string): void => write(`${text}\n`)

/** Calls that the login function reported in its last log line. */
let lastCalls: Record<string, number> = {}

function watch(functionName: string, line: string): void {
  const calls = functionName === 'login' ? parseCallCounts(line) : undefined
  if (calls) lastCalls = calls
}

async function main(): Promise<void> {
  const asked = readStartOptions(process.argv.slice(2), process.env)
  const { once = false, port } = asked
  if (asked.help) return print(START_HELP_TEXT)
  requireStateDirectory()
  if (asked.pair) return runLocalPair({ ...defined({ port }), once, ...hostOptions(asked) }, print)
  const ending = endProcessOnSignals()
  const host = await startLastingHost({ ...lastingOptions(asked), onLine: watch })
  ending.runs(host)
  try {
    introduce(host, asked)
    await show(host)
  } catch (error) {
    if (once) {
      await host.close()
      throw error
    }
    print(`The demonstration failed: ${textOf(error)}\n${hint()}`)
  }
  if (once) return host.close()
  print('Serving. Stop with Ctrl-C.')
}

/** Options that a single host and a pair of hosts share. */
const hostOptions = (asked: StartOptions) =>
  defined({
    memory: asked.memory ?? false,
    legacySignatures: asked['legacy-signatures'],
    caBundles: asked['ca-bundles'],
    capacity: asked['one-at-a-time'] ? ONE_AT_A_TIME : undefined,
  })

const lastingOptions = (asked: StartOptions) => ({
  ...hostOptions(asked),
  ...defined({ providerPort: asked['provider-port'] }),
  cluster: asked.cluster ?? 'local',
  place: defined({
    port: asked.port,
    linkPort: asked['link-port'],
    metadataPort: asked['metadata-port'],
    region: asked.region,
    aws: asked.aws,
    provider: asked.provider,
  }),
})

/**
 * Demonstrates a login of each type. For a secondary, which serves no logins, prints the replication state
 * instead.
 */
async function show(host: LocalHost): Promise<void> {
  const seen = await readStatusWithContact(host, print)
  if (seen.mode !== 'primary' && seen.mode !== 'disabled')
    return print(formatSecondaryStatus(host.cluster, seen))
  for (const shown of await demonstrateLogins(host, () => lastCalls)) describe(shown)
}

/** Returns a hint on a likely cause of a failed demonstration. */
const hint = (): string =>
  process.env['CLOUD_ACCESS_KEY']
    ? `Mounts without credentials call AWS with CLOUD_ACCESS_KEY of the environment, which the imitated AWS does not know as a key of the account ${HOME_ACCOUNT.account}.\n`
    : ''

function introduce(host: LocalHost, { memory = false }: StartOptions): void {
  print(
    'This host is for development, tests, drills and demonstrations. AWS is an imitation on this machine.\n',
  )
  print(`  API            ${host.base_url}`)
  print(`  console        ${new URL('/ui/', host.base_url)}`)
  print(`  link           ${host.link_address}, for other clusters`)
  print(`  imitated AWS   ${host.provider_url}`)
  print(`  metadata       ${host.metadata_url}, of the instance ${WORKLOAD_INSTANCE.instanceId}`)
  print(`  root token     ${host.root_token}`)
  print(`  tools read     ${host.fileFolder}/cluster.json`)
  print(`  state          ${memory ? 'kept in memory' : host.directory}\n`)
}

function describe({ type, role, policies, ttl, metadata, calls, milliseconds }: DemonstratedLogin): void {
  const { dynamodb = 0, ...provider } = calls
  const asked = Object.entries(provider).map(([service, count]) => `${count} × ${service.toUpperCase()}`)
  print(`${type} login: a token for role ${role}`)
  print(`  policies  ${policies.join(', ')}`)
  print(`  TTL       ${ttl} s`)
  print(
    `  metadata  ${Object.entries(metadata)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')}`,
  )
  print(`  calls     ${asked.join(', ') || 'none'}; ${dynamodb} round trips to DynamoDB`)
  print(`  took      ${milliseconds.toFixed(0)} ms\n`)
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

try {
  await main()
} catch (error) {
  complain(`${textOf(error)}\n`)
  process.exitCode = error instanceof StartUsageError ? 2 : 1
}
