import { randomUUID } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { root } from '../checkout.ts'
import { type Model, readAssembly } from './assembly.ts'
import { claim, type EngineCredentials, externalEngine, startEngine } from './engine.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { startLambdaService } from './lambda-service.ts'
import { type Lambdas, startLambdas } from './lambdas.ts'
import type { Capacity } from './pool.ts'
import type { Control } from './provider/control.ts'
import { startProvider } from './provider/provider.ts'
import { startStorageTap } from './storage-tap.ts'
import { startSweeper } from './sweeper.ts'
import { synthesise } from './synth.ts'
import { unrouted } from './unrouted.ts'
import { startWorkflows } from './workflows.ts'

export interface HostOptions {
  /** name of the cluster, and of its folder under .local/ */
  cluster: string
  /** 0: any free port */
  port: number
  /** keep nothing */
  memory: boolean
  /** port of the imitated AWS; 0: any */
  providerPort?: number
  /** port of the metadata service of the instance `WORKLOAD`; 0: any */
  metadataPort?: number
  legacySignatures?: boolean
  /** count calls to the tables, and let tests make them fail */
  tap?: boolean
  /** environments per function, and requests that each takes at once */
  capacity?: Partial<Capacity>
  /** seconds instead of the template's, by function */
  timeouts?: Readonly<Record<string, number>>
  /** an imitated AWS that runs already, in a process of its own */
  provider?: { url: string; control: Control }
  /** lines that functions print */
  onLine?: (functionName: string, line: string) => void
}

/** What tools need to reach a running host: the content of `.local/<cluster>/cluster.json`. */
export interface ClusterFile {
  base_url: string
  provider_url: string
  /** the metadata service of an instance, as clients expect it: AWS_EC2_METADATA_SERVICE_ENDPOINT */
  metadata_url: string
  /** the Invoke call of AWS Lambda */
  lambda_url: string
  /** the API of AWS Step Functions */
  states_url: string
  /** where calls to the tables can be counted and made to fail; only when asked for */
  tap_url?: string
  root_token: string
  recovery_keys: string[]
  pid: number
  cluster: string
  functions: Record<string, string>
}

export interface Host extends ClusterFile {
  control: Control
  directory: string
  /** the variables that a function sees, and where its bundle is */
  runtimeOf(folder: string): { code: string; environment: Record<string, string> }
  close(): Promise<void>
}

/** Where the host pretends to be. */
export const HOME = { account: '111122223333', region: 'us-east-1' }

/** The instance whose metadata service has a port of its own. */
export const WORKLOAD = { ...HOME, instanceId: 'i-0c10ad0a7b0000001' }

/** As functions on Lambda Managed Instances: a thread for each core, up to 64 requests in each. */
const CAPACITY: Capacity = { environments: availableParallelism(), requests: 64 }
const EXECUTION_USER = 'cloud-auth-lambda'

type Closers = (() => Promise<void> | void)[]

/** Starts a whole cluster on this machine from the synthesised template. What a failed start has begun is ended. */
export async function startHost(options: HostOptions): Promise<Host> {
  if (!/^[\w-][\w.-]{0,63}$/.test(options.cluster))
    throw new Error('the name of a cluster has letters, digits, "_", "-" and ".", 64 at most')
  const directory = directoryOf(options)
  mkdirSync(directory, { recursive: true })
  const closers: Closers = options.memory ? [() => rmSync(directory, { recursive: true, force: true })] : []
  const close = async () => {
    for (const one of closers.reverse()) await one()
  }
  try {
    const { file, ...rest } = await assemble(options, directory, closers)
    closers.push(tell(options, file))
    return { ...file, ...rest, directory, close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Writes down what tools need to reach the cluster, where they look for it, whether it keeps anything or not.
 * @returns how that ends: of a cluster that keeps nothing, nothing is told any more
 */
function tell({ cluster, memory }: HostOptions, told: ClusterFile): () => void {
  const folder = keptAt(cluster)
  const file = `${folder}/cluster.json`
  const [before, text] = [textOf(file), JSON.stringify(told, null, 2)]
  mkdirSync(folder, { recursive: true })
  writeWhole(file, text)
  return () => {
    if (!memory || textOf(file) !== text) return
    if (before !== undefined) return writeWhole(file, before)
    rmSync(file)
    if (readdirSync(folder).length === 0) rmdirSync(folder)
  }
}

const textOf = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8') : undefined

/** Starts the parts, each of which adds how it ends. */
async function assemble(
  options: HostOptions,
  directory: string,
  closers: Closers,
): Promise<{ file: ClusterFile } & Pick<Host, 'control' | 'runtimeOf'>> {
  const assembly = await synthesise({ legacySignatures: options.legacySignatures ?? false })
  const model = readAssembly(assembly, { ...HOME, tablePrefix: prefixOf(options) })
  const started = <T extends { close(): Promise<void> | void }>(part: T): T => {
    closers.push(() => part.close())
    return part
  }
  await claim(directory)
  const provider = options.provider ?? started(await startOwnProvider(options, directory))
  const metadata = await provider.control.metadataPort({ ...WORKLOAD, port: options.metadataPort ?? 0 })
  const credentials = await executionKey(provider.control, directory)
  const { memory } = options
  const { tables } = model
  const engine = started(await startEngine({ directory, tables, region: HOME.region, credentials, memory }))
  const tap = options.tap ? started(await startStorageTap(engine.url)) : undefined
  const environment = environmentOf(options, directory, {
    credentials,
    provider: provider.url,
    tables: tap?.url ?? engine.url,
  })
  const late = { AWS_ENDPOINT_URL_LAMBDA: '', AWS_ENDPOINT_URL_SFN: '' }
  const lambdas = started(
    startLambdas({
      functions: model.functions,
      environment: withLate(environment, late),
      capacity: { ...CAPACITY, ...options.capacity },
      ...(options.timeouts ? { timeouts: options.timeouts } : {}),
      onLine: lineWriter(options, directory),
    }),
  )
  const service = started(await startLambdaService(lambdas))
  late.AWS_ENDPOINT_URL_LAMBDA = service.url
  const workflows = started(await startWorkflows(model, directory, lambdas))
  late.AWS_ENDPOINT_URL_SFN = workflows.url
  started(startSweeper(engine.client, model.tables))
  started(startSchedules(model, lambdas))
  const gateway = started(
    await startGateway({
      routes: model.routes,
      port: options.port,
      invoke: lambdas.invoke,
      extra: loopbackOnly(model),
    }),
  )
  const file: ClusterFile = {
    base_url: `${gateway.url}/v1`,
    provider_url: provider.url,
    metadata_url: metadata.url,
    lambda_url: service.url,
    states_url: workflows.url,
    ...(tap ? { tap_url: tap.url } : {}),
    ...(await initialised(gateway, directory)),
    pid: process.pid,
    cluster: options.cluster,
    functions: Object.fromEntries(model.functions.map(one => [one.folder, one.name])),
  }
  const runtimeOf: Host['runtimeOf'] = folder => {
    const found = model.functions.find(one => one.folder === folder)
    return {
      code: found?.code ?? '',
      environment: { ...environment, ...found?.environment, CLUSTER_NAME: options.cluster },
    }
  }
  return { file, control: provider.control, runtimeOf }
}

const directoryOf = ({ memory, cluster }: HostOptions): string =>
  memory ? mkdtempSync(`${existsSync('/dev/shm') ? '/dev/shm' : tmpdir()}/cloud-auth-`) : keptAt(cluster)

const keptAt = (cluster: string): string => `${root}.local/${cluster}`

/** An engine of its own holds one cluster; in another there may be several, and earlier runs of one that keeps nothing. */
function prefixOf({ cluster, memory }: HostOptions): string {
  if (externalEngine() === '') return ''
  return memory ? `${cluster}-${randomUUID()}-` : `${cluster}-`
}

const startOwnProvider = ({ memory, providerPort = 0 }: HostOptions, directory: string) =>
  startProvider({
    port: providerPort,
    home: HOME,
    ...(memory ? {} : { stateFile: `${directory}/provider.json` }),
  })

/** The variables of every function, besides those of the template: where AWS is, and as whom to call it. */
function environmentOf(
  { cluster }: HostOptions,
  directory: string,
  { credentials, provider, tables }: { credentials: EngineCredentials; provider: string; tables: string },
): Record<string, string> {
  const { accessKeyId, secretAccessKey } = credentials
  return {
    AWS_REGION: HOME.region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_ENDPOINT_URL_DYNAMODB: tables,
    AWS_ENDPOINT_URL_EC2: provider,
    AWS_ENDPOINT_URL_IAM: provider,
    AWS_ENDPOINT_URL_KMS: provider,
    AWS_ENDPOINT_URL_STS: provider,
    AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: provider,
    CLUSTER_NAME: cluster,
    PLAIN_ENDPOINTS: 'true',
    AUDIT_FILE: `${directory}/audit.log`,
    NODE_COMPILE_CACHE: `${root}.build/compile-cache`,
    POWERTOOLS_DEV: 'false',
    ...providerCredentials(),
  }
}

/**
 * Credentials for calls on behalf of mounts that have none, where this process is given any.
 * @see docs/spec/configuration.md#reaching-accounts
 */
const providerCredentials = (): Record<string, string> =>
  Object.fromEntries(
    ['CLOUD_ACCESS_KEY', 'CLOUD_SECRET_KEY', 'CLOUD_REGION'].flatMap(name => {
      const value = process.env[name]
      return value ? [[name, value]] : []
    }),
  )

/** The key that stands for the functions' own roles; a user may have two, so it is kept. */
async function executionKey(control: Control, directory: string): Promise<EngineCredentials> {
  await control.putUser({ account: HOME.account, name: EXECUTION_USER })
  const file = `${directory}/execution-key.json`
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as EngineCredentials
  const made = await control.createAccessKey({ account: HOME.account, user: EXECUTION_USER })
  writeWhole(file, JSON.stringify(made))
  return made
}

// Functions are told the addresses of services that can start only once they are there.
const withLate = (
  environment: Record<string, string>,
  late: Readonly<Record<string, string>>,
): Record<string, string> =>
  Object.defineProperties(
    { ...environment },
    Object.fromEntries(
      Object.keys(late).map(name => [name, { enumerable: true, get: () => late[name] ?? '' }]),
    ),
  )

/** What has no route is reachable on loopback only. */
const loopbackOnly = ({ functions }: Model): Record<string, string> =>
  Object.fromEntries(
    Object.entries(unrouted).map(([way, folder]) => [
      way,
      functions.find(one => one.folder === folder)?.name ?? '',
    ]),
  )

function startSchedules({ schedules }: Model, lambdas: Lambdas): { close(): void } {
  const timers = schedules.map(({ functionName, minutes }) =>
    setInterval(
      () => lambdas.start(functionName, { source: 'aws.events', 'detail-type': 'Scheduled Event' }),
      minutes * 60_000,
    ),
  )
  for (const timer of timers) timer.unref()
  return {
    close: () => {
      for (const timer of timers) clearInterval(timer)
    },
  }
}

function lineWriter({ onLine }: HostOptions, directory: string): (folder: string, line: string) => void {
  return (folder, line) => {
    appendFileSync(`${directory}/functions.log`, `${line}\n`)
    onLine?.(folder, line)
  }
}

type Keys = Pick<ClusterFile, 'root_token' | 'recovery_keys'>

/** Initialises a new cluster; the keys of an old one have been kept. */
async function initialised(gateway: Gateway, directory: string): Promise<Keys> {
  const file = `${directory}/keys.json`
  const answer = await fetch(`${gateway.url}/v1/sys/init`, { method: 'PUT', body: '{}' })
  if (answer.ok) {
    const { root_token, recovery_keys } = (await answer.json()) as Keys
    writeWhole(file, JSON.stringify({ root_token, recovery_keys }))
    return { root_token, recovery_keys }
  }
  const known = textOf(file) ?? textOf(`${directory}/cluster.json`)
  if (known) {
    const { root_token, recovery_keys } = JSON.parse(known) as Keys
    return { root_token, recovery_keys }
  }
  const text = await answer.text()
  if (!text.includes('already initialised')) throw new Error(`the cluster cannot be initialised: ${text}`)
  throw new Error(
    `the first start of this cluster was broken off before its root token was written down, and nobody can know it any more: remove ${directory}${externalEngine() === '' ? '' : ' and the tables of this cluster'} and start anew`,
  )
}

/** A file is there whole or not at all, and only its owner reads it. */
function writeWhole(file: string, content: string): void {
  writeFileSync(`${file}.new`, content, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
