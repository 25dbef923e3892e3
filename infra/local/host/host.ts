import { appendFileSync, existsSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defined } from '../../../shared/values/defined.ts'
import { HOST_REFRESHES, HOST_RETURNS } from '../../../shared/workers/workers.ts'
import { AUTHORITIES_FILE, shipAuthorities } from '../../build/authorities.ts'
import { buildVariablesOfFunction } from '../../build/function-table.ts'
import { chooseTablePrefix, endStaleEngine, type LocalEngine, startEngine } from '../engine/engine.ts'
import { startExpirySweeper } from '../engine/sweeper.ts'
import type { Front } from '../gateway/shapes.ts'
import { type HostObserver, type LocalLambdas, startLocalLambdas } from '../lambda/lambdas.ts'
import type { PoolCapacity } from '../lambda/pool.ts'
import { startLambdaApi } from '../lambda/service.ts'
import { buildLambdaVariables } from '../lambda/variables.ts'
import { startAbsence } from '../os/absence.ts'
import { type CloseFunctions, closeAll } from '../os/closers.ts'
import { type ClusterStateFile, makeClusterDirectory, publishClusterFile } from '../os/cluster-file.ts'
import { chooseAuditFileFolder } from '../os/file-folder.ts'
import { takeLock } from '../os/lock.ts'
import { checkPortsAreFree } from '../os/loopback.ts'
import { removeDirectoryAtExit } from '../os/temporary.ts'
import type { ProviderControl } from '../provider/control.ts'
import { HOME_ACCOUNT, WORKLOAD_INSTANCE } from '../provider/home.ts'
import { startProvider } from '../provider/provider.ts'
import type { HomeAccount } from '../provider/state/imitated-aws.ts'
import type { AccessKeyPair } from '../provider/wire/signed-server.ts'
import { startLocalWorkflows } from '../states/workflows.ts'
import { startStreamPollers } from '../streams/poller.ts'
import {
  type AssemblyModel,
  type FunctionModel,
  readAssembly,
  readResourcesIn,
} from '../template/assembly.ts'
import { synthesiseAndBundle } from '../template/synth.ts'
import { startLocalBus } from './event-bus.ts'
import {
  addressVariables,
  choosePorts,
  dropAddresses,
  findFunctionName,
  type ImitatedFront,
  startLocalFronts,
} from './fronts.ts'
import { createLogLineWriter } from './function-lines.ts'
import { initialiseCluster, type SetKeys } from './initialise.ts'
import { makeClusterKeys } from './keys.ts'
import {
  interceptApiAnswers,
  type KnownClusterKeys,
  type KnownKeysOptions,
  readRecoveryKey,
  startKnownClusterKeys,
} from './known-keys.ts'
import { startRefreshing } from './refreshing.ts'
import { startLocalSchedules } from './schedules.ts'

export interface LocalHostOptions {
  /** name of the cluster, and of its folder in .local/ */
  cluster: string
  /** 0: any free port */
  port: number
  /** true: the host keeps nothing */
  memory: boolean
  /** true: Ctrl-C in a terminal does not reach the engine; the starter of the host closes it */
  apart?: boolean
  /** port for calls of other clusters by gRPC; 0: any */
  linkPort?: number
  /** port of the imitated AWS; 0: any */
  providerPort?: number
  /** port of the metadata service of the instance `WORKLOAD_INSTANCE`; 0: any */
  metadataPort?: number
  legacySignatures?: boolean
  /** front end for clients; default: the HTTP API */
  front?: ImitatedFront
  /** folder with CA certificates, as the setting `caBundles` */
  caBundles?: string
  /** id of the command that runs the pair of this cluster */
  pairPid?: number
  /** writes no `cluster.json`, so that another cluster of the same name may run */
  unlisted?: boolean
  /** starts a server between functions and the engine; tests use the server to count calls, and to make calls fail */
  tap?: (engineUrl: string, users: TapUsers) => Promise<{ url: string; close(): Promise<void> }>
  /** environments per function, and concurrent requests in each */
  capacity?: Partial<PoolCapacity>
  /** timeouts in seconds that replace the template's, by function */
  timeouts?: Readonly<Record<string, number>>
  /** starts or finds an imitated AWS for the cluster's directory; default: one in this process */
  provider?: (directory: string) => Promise<ImitatedAwsConnection>
  /** addresses of this cluster and the other cluster, and the policy of the drill */
  drill?: { own: string; peer: string; policy: string }
  /** origin of the other cluster: the console page of each cluster may read the status of the other cluster */
  peer?: string
  /** region that the cluster pretends to run in; default: that of `HOME_ACCOUNT` */
  region?: string
  observer?: HostObserver
  /** receives the lines that functions print */
  onLine?: (functionName: string, line: string) => void
  /** called when the root token or the accepted recovery shares change */
  onKeys?: (keys: SetKeys) => void
}

/** Keys of the callers of a tap: access keys sign calls to tables, and commands carry the control token. */
export interface TapUsers {
  keys: readonly AccessKeyPair[]
  controlToken: string
}

/** An imitated AWS as hosts use it. `close`: this host does not need the imitated AWS any more. */
export interface ImitatedAwsConnection {
  url: string
  control: ProviderControl
  controlToken: string
  close(): Promise<void>
}

export interface LocalHost extends ClusterStateFile {
  control: ProviderControl
  directory: string
  /** folder of the cluster's `cluster.json`; undefined: the cluster has no such file */
  fileFolder: string | undefined
  /** environment variables and bundle of a function */
  runtimeOf(folder: string): { code: string; environment: Record<string, string> }
  /** stores the keys of the cluster's set and reports the accepted keys; another file keeps earlier keys */
  adoptKeys(keys: SetKeys): Promise<void>
  close(): Promise<void>
}

/** Capacity of functions on Lambda Managed Instances: one thread per core, up to 64 requests in each. */
const CAPACITY: PoolCapacity = { environments: availableParallelism(), requests: 64 }

/** A host that is starting, with its options and the parts that have started. */
interface Site {
  options: LocalHostOptions
  directory: string
  model: AssemblyModel
  /** front end for clients; undefined: the HTTP API */
  clients: Front | undefined
  home: HomeAccount
  /** registers a started part for closing */
  started: <T extends { close(): Promise<void> | void }>(part: T) => T
  /** set once the cluster is initialised */
  setKeys: { known?: KnownClusterKeys }
}

/** Starts a whole cluster on this machine from the synthesised template. A failed start closes all started parts. */
export async function startLocalHost(options: LocalHostOptions): Promise<LocalHost> {
  if (!/^[\w-][\w.-]{0,63}$/.test(options.cluster))
    throw new Error('a cluster name has at most 64 letters, digits, "_", "-" and "."')
  const { directory, closers } = await hold(options)
  const close = () => closeAll(closers.reverse())
  try {
    await endStaleEngine(directory)
    const { legacySignatures = false, front } = options
    const { assembly, bundles } = await synthesiseAndBundle({
      legacySignatures,
      front: front?.settings ?? {},
    })
    const home = { ...HOME_ACCOUNT, ...(options.region === undefined ? {} : { region: options.region }) }
    const tablePrefix = chooseTablePrefix(options, directory)
    const place = { ...home, bundles, tablePrefix }
    const template = readAssembly(assembly, place)
    const clients = front?.read(readResourcesIn(assembly, place))
    const functions = template.functions.map(one => withSettings(dropAddresses(one), options))
    const model = { ...template, functions }
    const started: Site['started'] = part => {
      closers.push(() => part.close())
      return part
    }
    let onKeys = (_: SetKeys): void => undefined
    const site = { options, directory, model, clients, home, started, setKeys: {} }
    const { file, known, ...rest } = await assemble(site, keys => onKeys(keys))
    const fileFolder = chooseAuditFileFolder(options, directory)
    const told = publishClusterFile(fileFolder, file, options.memory)
    closers.push(told.end)
    const host: LocalHost = {
      ...file,
      ...rest,
      directory,
      fileFolder,
      close,
      adoptKeys: known.adopt,
    }
    onKeys = keys => {
      Object.assign(host, keys)
      told.replace({ ...file, ...keys })
      options.onKeys?.(keys)
    }
    return host
  } catch (error) {
    await close()
    throw error
  }
}

/** Locks the cluster's directory and checks its ports before any part starts. @throws Error that names the obstacle */
async function hold(options: LocalHostOptions): Promise<{ directory: string; closers: CloseFunctions }> {
  const { cluster, memory, port, linkPort, provider } = options
  const { providerPort, metadataPort } = provider ? {} : options
  const { directory, isNew } = makeClusterDirectory(options)
  const closers: CloseFunctions = memory ? [removeDirectoryAtExit(directory)] : []
  try {
    if (!memory) {
      const lock = await takeLock(directory, 'host', holder => runningAlready(cluster, directory, holder))
      closers.push(lock.close)
    }
    await checkPortsAreFree({
      port,
      'link-port': linkPort,
      'provider-port': providerPort,
      'metadata-port': metadataPort,
    })
    return { directory, closers }
  } catch (error) {
    await closeAll(closers.reverse())
    if (isNew) rmSync(directory, { recursive: true, force: true })
    throw error
  }
}

const runningAlready = (cluster: string, directory: string, holder: number): Error =>
  new Error(
    `the cluster in ${directory} runs already in process ${holder || '(unknown)'}. Stop that process, or choose another name than ${cluster} with --cluster`,
  )

/** Starts the parts of a host in order: AWS, the tables, the functions, the gateway. */
async function assemble(
  site: Site,
  onKeys: (keys: SetKeys) => void,
): Promise<{ file: ClusterStateFile; known: KnownClusterKeys } & Pick<LocalHost, 'control' | 'runtimeOf'>> {
  const { options, directory, model, home, started } = site
  const provider = started(await (options.provider?.(directory) ?? startOwnProvider(site)))
  const { control, controlToken } = provider
  const metadata = await metadataOf(control, options.metadataPort)
  const { credentials, operator } = await makeClusterKeys(control, options.cluster, directory, home.account)
  const keys = [credentials, operator]
  const engine = await startTables(site, credentials)
  const tap = await options.tap?.(engine.url, { keys, controlToken })
  const ports = await choosePorts(model, options)
  const variables = {
    ...buildLambdaVariables(options.cluster, directory, {
      region: home.region,
      credentials,
      provider: provider.url,
      tables: tap ? started(tap).url : engine.url,
      authorities: authoritiesFor(site),
    }),
    ...addressVariables(ports),
  }
  const { lambdas, urls } = await startFunctions(site, variables, keys)
  started(startExpirySweeper(engine.send, model.tables))
  started(
    startStreamPollers({
      ...home,
      url: engine.url,
      credentials,
      tables: engine.client,
      lambdas,
      streams: model.streams,
    }),
  )
  started(startLocalSchedules(model, lambdas))
  started(startLocalBus(model, control, lambdas))
  started(startRefreshing(() => lambdas.invoke(findFunctionName(model, 'on-journal'), HOST_REFRESHES)))
  const absence = started(
    startAbsence(() => lambdas.invoke(findFunctionName(model, 'on-pull'), HOST_RETURNS), !options.memory),
  )
  const { gateway, link } = await startLocalFronts({
    ...site,
    ports,
    invoke: lambdas.invoke,
    hold: absence.over,
  })
  const known = await followKeys(site, {
    kept: await initialiseCluster(gateway.url, directory),
    readStored: () => readRecoveryKey(engine.send, runtimeOf(site, variables, 'rekey')),
    onChange: onKeys,
  })
  const file: ClusterStateFile = defined({
    base_url: `${gateway.url}/v1`,
    link_address: link.url,
    provider_url: provider.url,
    control_token: controlToken,
    metadata_url: metadata.url,
    ...urls,
    access_key_id: operator.accessKeyId,
    secret_access_key: operator.secretAccessKey,
    ...known.present(),
    pid: process.pid,
    pair_pid: options.pairPid,
    cluster: options.cluster,
    functions: Object.fromEntries(model.functions.map(one => [one.folder, one.name])),
  })
  return { file, known, control, runtimeOf: folder => runtimeOf(site, variables, folder) }
}

/** Starts following the recovery shares in rekey answers. */
async function followKeys(
  { directory, started, setKeys }: Site,
  options: Omit<KnownKeysOptions, 'directory'>,
): Promise<KnownClusterKeys> {
  const known = started(await startKnownClusterKeys({ directory, ...options }))
  setKeys.known = known
  return known
}

/** Starts the metadata service of the workload's instance. A metadata service that runs already keeps its port. */
async function metadataOf(control: ProviderControl, port = 0): Promise<{ url: string }> {
  try {
    return await control.metadataPort({ ...WORKLOAD_INSTANCE, port })
  } catch (error) {
    await checkPortsAreFree({ 'metadata-port': port })
    throw error
  }
}

async function startTables(
  { options: { memory, apart }, directory, model: { tables }, home: { region }, started }: Site,
  credentials: AccessKeyPair,
): Promise<LocalEngine> {
  return started(
    await startEngine(defined({ directory, tables, secretNames: true, region, credentials, memory, apart })),
  )
}

/** Writes the CA certificates to the cluster's directory. @returns the path of the file; empty: no certificates */
function authoritiesFor({ options: { caBundles }, directory }: Site): string {
  if (caBundles === undefined) return ''
  const file = `${directory}/${AUTHORITIES_FILE}`
  shipAuthorities(caBundles, file)
  return file
}

/**
 * Starts the functions, and the services through which they call each other and workflows. The services need
 * the functions first.
 */
async function startFunctions(
  { options, directory, model, started, setKeys }: Site,
  variables: Record<string, string>,
  keys: readonly AccessKeyPair[],
): Promise<{ lambdas: LocalLambdas; urls: Pick<ClusterStateFile, 'lambda_url' | 'states_url'> }> {
  const keepLine = createLogLineWriter(directory)
  const late = { AWS_ENDPOINT_URL_LAMBDA: '', AWS_ENDPOINT_URL_SFN: '' }
  const running = started(
    startLocalLambdas(
      defined({
        functions: model.functions,
        // addresses of services that start after the functions
        environment: () => ({ ...variables, ...late }),
        capacity: { ...CAPACITY, ...options.capacity },
        timeouts: options.timeouts,
        observer: options.observer,
        onLine: (folder: string, line: string) => {
          keepLine(line)
          options.onLine?.(folder, line)
        },
      }),
    ),
  )
  const lambdas = interceptApiAnswers(running, findFunctionName(model, 'rekey'), async answer =>
    setKeys.known?.readAnswer(answer),
  )
  late.AWS_ENDPOINT_URL_LAMBDA = started(await startLambdaApi(lambdas, keys)).url
  late.AWS_ENDPOINT_URL_SFN = started(
    await startLocalWorkflows(model, directory, lambdas, {
      keys,
      onFailure: options.observer?.onFailedExecution,
    }),
  ).url
  const urls = { lambda_url: late.AWS_ENDPOINT_URL_LAMBDA, states_url: late.AWS_ENDPOINT_URL_SFN }
  return { lambdas, urls }
}

/**
 * Gives a function the variables of a deployment's settings. A drill has no schedule on a local host, because
 * operators start it by hand.
 */
function withSettings(one: FunctionModel, { cluster, peer = '', drill }: LocalHostOptions): FunctionModel {
  const own = buildVariablesOfFunction(one.folder, { console: { peer }, consoleOrigin: peer, drill })
  const address = drill && own['DRILL_PEER'] ? { API_ADDRESS: drill.own } : {}
  return { ...one, environment: { ...one.environment, ...own, ...address, CLUSTER_NAME: cluster } }
}

function runtimeOf({ model }: Site, variables: Record<string, string>, folder: string) {
  const found = model.functions.find(one => one.folder === folder)
  return { code: found?.code ?? '', environment: { ...variables, ...found?.environment } }
}

const startOwnProvider = ({ options: { memory, providerPort = 0 }, directory, home }: Site) =>
  startProvider(
    defined({
      port: providerPort,
      home,
      // the directory of a cluster without stored state may be gone before its last event
      onBusEvent: (event: object) => {
        if (existsSync(directory)) appendFileSync(`${directory}/events.ndjson`, `${JSON.stringify(event)}\n`)
      },
      stateFile: memory ? undefined : `${directory}/provider.json`,
    }),
  )
