import { parseArgs } from 'node:util'
import { defined } from '../../shared/values/defined.ts'
import { callsIn, type Demonstrated, demonstrate } from './demonstration.ts'
import { HOME, WORKLOAD } from './home.ts'
import { type Host, startHost } from './host.ts'
import { remoteControl } from './provider/control.ts'
import { endWith, runPair } from './run-pair.ts'

const options = {
  cluster: { type: 'string', default: 'local' },
  port: { type: 'string', default: '8200' },
  'link-port': { type: 'string', default: '0' },
  'provider-port': { type: 'string', default: '0' },
  'metadata-port': { type: 'string', default: '0' },
  pair: { type: 'boolean', default: false },
  provider: { type: 'string' },
  region: { type: 'string', default: HOME.region },
  memory: { type: 'boolean', default: false },
  once: { type: 'boolean', default: false },
  'ca-bundles': { type: 'string' },
  'legacy-signatures': { type: 'boolean', default: false },
  'one-at-a-time': { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

/** As ordinary Lambdas: more environments, each for one request. */
const ONE_AT_A_TIME = { environments: 8, requests: 1 }

const HELP = `npm start [-- options]        a cluster on this machine, then a login of each type

  --cluster NAME         name of the cluster; its state is kept in .local/NAME (local)
  --port N               port of the API (8200; 0: any)
  --link-port N          port on which other clusters reach this one, by gRPC (0: any)
  --provider-port N      port of the imitated AWS (0: any)
  --metadata-port N      port of the metadata service of the instance that logs in (0: any)
  --pair                 two clusters: east, a DR primary, on the port N, and west, its secondary, on N + 1
  --provider URL         an imitated AWS that runs already, of another cluster, say; then none is started
  --region REGION        where the cluster pretends to be (us-east-1)
  --memory               keep nothing
  --once                 end after the demonstration
  --one-at-a-time        each environment serves one request at a time, as an ordinary Lambda
  --ca-bundles DIR       certificates of authorities that ca_file and ca_path may name
  --legacy-signatures    accept SHA-1 and RSA-1024 identity documents
`

const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

/** Calls that the login function last reported in its log line. */
let lastCalls: Record<string, number> = {}

function watch(functionName: string, line: string): void {
  const calls = functionName === 'login' ? callsIn(line) : undefined
  if (calls) lastCalls = calls
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options })
  if (values.help) return print(HELP)
  if (values.pair) return runPair(pairOptions(values), print)
  const host = await startHost(
    defined({
      cluster: values.cluster,
      port: Number(values.port),
      linkPort: Number(values['link-port']),
      providerPort: Number(values['provider-port']),
      metadataPort: Number(values['metadata-port']),
      memory: values.memory,
      region: values.region,
      provider: values.provider === undefined ? undefined : providerAt(values.provider),
      legacySignatures: values['legacy-signatures'],
      caBundles: values['ca-bundles'],
      capacity: values['one-at-a-time'] ? ONE_AT_A_TIME : undefined,
      onLine: watch,
    }),
  )
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => endWith(host))
  }
  try {
    introduce(host, values.memory)
    for (const shown of await demonstrate(host, () => lastCalls)) describe(shown)
  } catch (error) {
    if (values.once) {
      await host.close()
      throw error
    }
    print(`The demonstration failed: ${textOf(error)}\n${hint()}`)
  }
  if (values.once) return host.close()
  print('Serving. Stop with Ctrl-C.')
}

/** What of the options a pair takes: names, regions and the provider are its own. */
const pairOptions = (values: {
  port: string
  memory: boolean
  once: boolean
  'legacy-signatures': boolean
  'one-at-a-time': boolean
  'ca-bundles'?: string | undefined
}) =>
  defined({
    port: Number(values.port),
    memory: values.memory,
    once: values.once,
    legacySignatures: values['legacy-signatures'],
    caBundles: values['ca-bundles'],
    capacity: values['one-at-a-time'] ? ONE_AT_A_TIME : undefined,
  })

const providerAt = (url: string) => ({ url, control: remoteControl(url) })

/** What is likely to be in the way of the demonstration. */
const hint = (): string =>
  process.env['CLOUD_ACCESS_KEY']
    ? `Mounts without credentials call AWS with CLOUD_ACCESS_KEY of the environment, which the imitated AWS does not know as a key of the account ${HOME.account}.\n`
    : ''

function introduce(host: Host, memory: boolean): void {
  print(
    'This host is for development, tests, drills and demonstrations. AWS is an imitation on this machine.\n',
  )
  print(`  API            ${host.base_url}`)
  print(`  link           ${host.link_address}, for other clusters`)
  print(`  imitated AWS   ${host.provider_url}`)
  print(`  metadata       ${host.metadata_url}, of the instance ${WORKLOAD.instanceId}`)
  print(`  root token     ${host.root_token}`)
  print(`  state          ${memory ? 'kept in memory' : `${host.directory}/cluster.json and beside it`}\n`)
}

function describe({ type, role, policies, ttl, metadata, calls, milliseconds }: Demonstrated): void {
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
  process.stderr.write(`${textOf(error)}\n`)
  process.exitCode = 1
}
