import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdtempSync } from 'node:fs'
import type { Context } from 'aws-lambda'
import { declaredUsesOfFunction } from '../../../infra/build/uses.ts'
import { createEngineClient, createEngineTables } from '../../../infra/local/engine/engine.ts'
import type { LocalLambdas } from '../../../infra/local/lambda/lambdas.ts'
import { createLocalLicence, type LicenceVariables } from '../../../infra/local/lambda/licence.ts'
import { startLambdaApi } from '../../../infra/local/lambda/service.ts'
import type { DocumentAuthority } from '../../../infra/local/provider/documents/authority.ts'
import { EXECUTION_USER, HOME_ACCOUNT } from '../../../infra/local/provider/home.ts'
import { startProvider } from '../../../infra/local/provider/provider.ts'
import type { AccessKeyPair } from '../../../infra/local/provider/wire/signed-server.ts'
import type { AssemblyModel } from '../../../infra/local/template/assembly.ts'
import { type LambdaEnvironment, readEnvironment } from '../../../shared/adapters/aws/environment.ts'
import { createAwsPorts } from '../../../shared/adapters/aws/ports.ts'
import { systemClock } from '../../../shared/adapters/aws/system.ts'
import type { TableSend } from '../../../shared/adapters/aws/wire/tables.ts'
import { createLinkCarrier } from '../../../shared/adapters/link/carrier.ts'
import { createInstanceEventHandler } from '../../../shared/auth-method/ends/record-end.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'
import type { HttpApiAnswer } from '../../../shared/front/http-api.ts'
import type { FrontAnswer } from '../../../shared/http/events.ts'
import { createGroupHandler } from '../../../shared/http/lambda.ts'
import { createLinkHandler } from '../../../shared/http/link.ts'
import { createNotifier } from '../../../shared/link/outgoing/notify.ts'
import type { Clock } from '../../../shared/ports.ts'
import { createPeerConnector } from '../../../shared/replication/secondary/connect.ts'
import { createAttemptHandler } from '../../../shared/workers/attempts.ts'
import { createDrillHandler } from '../../../shared/workers/drills.ts'
import {
  createAccountFactsHandler,
  createHourlyHandler,
  createJobHandler,
  createJournalHandler,
  createPullHandler,
} from '../../../shared/workers/handlers.ts'
import { createOperationHandler } from '../../../shared/workers/operations.ts'
import { type StorageTapPort, startStorageTap } from '../faults/storage-tap-port.ts'
import { judgeAwsCalls } from '../iam/aws-calls.ts'
import { asFunction } from '../iam/judge.ts'
import type { Policies } from '../iam/policies.ts'
import { sendTo } from '../tables/store.ts'
import type { CallOptions, Reply } from './api.ts'
import { checked } from './contract.ts'
import { frontEvent, replyOf, routing } from './front.ts'
import { leanSend, tappedSend } from './lean-client.ts'
import { loginsByWebFunction } from './login-front.ts'
import { behindDistribution, webFrontOf } from './web-front.ts'
import './sdk-clients.ts'

/**
 * The whole service in this process: every group of endpoints through its handler, the adapters that Lambdas use, a
 * real DynamoDB engine and the imitated AWS over HTTP. The in-process service has no gateway and no threads; all
 * requests share one environment, as they may on AWS.
 */
export interface Service {
  /** the host name of requests; no server listens at this name */
  base_url: string
  provider_url: string
  control_token: string
  /** address of the tables */
  engine_url: string
  /** the Web Function that serves logins */
  web_url?: string
  /** address of the storage tap in front of the engine, if the options ask for a tap */
  tap_url?: string
  tap?: Pick<StorageTapPort, 'tap' | 'drop'>
  /** sends calls to the tables like those of the functions */
  send: TableSend
  root_token: string
  recovery_keys: string[]
  /** the folder of `audit.log` and `functions.log` */
  directory: string
  tables: Tables
  /** of the functions */
  credentials: AccessKeyPair
  /** functions by folder */
  functions: Record<string, string>
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Reply>
  /** runs a function as an administrator would, and waits for the function's result */
  invoke(folder: string, event: unknown): Promise<Reply>
  /** waits until no background work runs, including jobs that other jobs started */
  settled(): Promise<void>
}

type Tables = LambdaEnvironment['tables']
type Handler = (event: never, context: Context) => Promise<unknown>

/** The engine's address, and values of the template, that all services of a run share. */
export interface Ground {
  engine: string
  model: AssemblyModel
  /** the policies of functions */
  policies: Policies
  /** signs the instance identity documents of all services, because RSA keys take long to make */
  authority: DocumentAuthority
  /** removed when the run ends */
  directory: string
}

declare module 'vitest' {
  interface ProvidedContext {
    ground: Ground
  }
}

export interface ServiceOptions {
  /** the clock of the service; absent: the system's clock */
  clock?: Clock
  /** seconds that a function may run, by folder */
  timeouts?: Readonly<Record<string, number>>
  /** variables of functions that differ from the template */
  variables?: Readonly<Record<string, string>>
  /**
   * a storage tap counts DynamoDB calls and lets tests make them fail: in this process, or, at twice the
   * time, over connections as on AWS
   */
  tap?: boolean | 'connections'
  /** the licence variables of functions; absent: a valid licence */
  licence?: LicenceVariables
  /** lines that functions print */
  onLine?: (line: string) => void
}

const BASE_URL = 'http://service.test/v1'

/**
 * Global state of a worker of the test runner. `backgroundWork` waits for the background work of each service
 * that the worker has started.
 */
const worker = globalThis as { backgroundWork?: Service['settled'][] }

/** Starts a service with tables of its own. The service ends with the process. */
export async function startService(ground: Ground, options: ServiceOptions = {}): Promise<Service> {
  const { engine, model, authority } = ground
  const provider = await startProvider({ home: HOME_ACCOUNT, authority })
  const directory = mkdtempSync(`${ground.directory}/service-`)
  const suffix = randomUUID()
  const { control, controlToken } = provider
  await control.putUser({ account: HOME_ACCOUNT.account, name: EXECUTION_USER })
  const key = await control.createAccessKey({ account: HOME_ACCOUNT.account, user: EXECUTION_USER })
  const tap = options.tap ? await startStorageTap(engine, { keys: [key], controlToken }) : undefined
  const engineUrl = tap?.url ?? engine
  await createEngineTables(
    createEngineClient(engine, HOME_ACCOUNT.region, key),
    // the engine must not delete expired items before the job `tidy`, which tests check
    model.tables.map(({ ttl: _, ...table }) => ({ ...table, name: `${table.name}-${suffix}` })),
  )
  const functions = Object.fromEntries(model.functions.map(one => [one.folder, one.name]))
  // each function has a client of its own
  const newSend = (): TableSend => {
    if (!tap) return leanSend(engine, key.accessKeyId)
    return options.tap === 'connections' ? sendTo(tap.url, key) : tappedSend(tap.tap, key.accessKeyId)
  }
  const { lambdas, settled } = functionsOf(model, () => environment, { ...options, newSend })
  const service = await startLambdaApi(lambdas, [key])
  clientsFind(key, { tables: engineUrl, functions: service.url, rest: provider.url })
  const environment = readEnvironment({
    ...process.env,
    ...suffixed(model, suffix),
    AWS_LAMBDA_FUNCTION_NAME: 'in-process',
    CLUSTER_NAME: 'test',
    PLAIN_ENDPOINTS: 'true',
    ...options.variables,
    AUDIT_FILE: `${directory}/audit.log`,
    ...(options.licence ?? createLocalLicence('test', systemClock.now())),
  })
  capture(`${directory}/functions.log`, options.onLine)
  const web = loginsByWebFunction() ? await webLogins(environment, options.clock, newSend()) : undefined
  const find = routing(model)
  const call: Service['call'] = async (method, path, body, more = {}) => {
    const event = frontEvent(BASE_URL, method, path, body, more)
    const name = find(method, event)
    if (web && name === functions['login'])
      return checked(method, path, await web.call(method, path, body, more))
    return checked(method, path, replyOf((await lambdas.invoke(name, event)) as FrontAnswer))
  }
  const { body } = await initialised(call)
  return {
    base_url: BASE_URL,
    provider_url: provider.url,
    control_token: controlToken,
    engine_url: engineUrl,
    ...(tap ? { tap_url: tap.url, tap } : {}),
    ...(web ? { web_url: web.url } : {}),
    send: newSend(),
    root_token: body.root_token,
    recovery_keys: body.recovery_keys,
    directory,
    tables: environment.tables,
    credentials: key,
    functions,
    call,
    invoke: async (folder, event) => {
      const result = await lambdas.invoke(folder, event)
      return { status: 200, headers: {}, text: JSON.stringify(result ?? null), body: result }
    },
    settled,
  }
}

/** Sets the addresses at which the SDK's clients of this process call AWS. */
function clientsFind(key: AccessKeyPair, at: { tables: string; functions: string; rest: string }): void {
  judgeAwsCalls(() => process.env['AWS_ACCESS_KEY_ID'] ?? '')
  Object.assign(process.env, {
    AWS_REGION: HOME_ACCOUNT.region,
    AWS_ACCESS_KEY_ID: key.accessKeyId,
    AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
    AWS_ENDPOINT_URL_DYNAMODB: at.tables,
    AWS_ENDPOINT_URL_EC2: at.rest,
    AWS_ENDPOINT_URL_IAM: at.rest,
    AWS_ENDPOINT_URL_KMS: at.rest,
    AWS_ENDPOINT_URL_ORGANIZATIONS: at.rest,
    AWS_ENDPOINT_URL_STS: at.rest,
    ISSUER_REDIRECT: at.rest,
    AWS_ENDPOINT_URL_LAMBDA: at.functions,
    AWS_ENDPOINT_URL_EVENTBRIDGE: at.rest,
  })
}

async function initialised(call: Service['call'], tries = 5): Promise<Reply> {
  const reply = await call('PUT', '/sys/init', {})
  if (reply.status === 200) return reply
  if (tries === 0) throw new Error(`initialisation: ${reply.status} ${reply.text}`)
  return initialised(call, tries - 1)
}

/** Returns the functions of the template in this process. `settled` waits for their background work. */
function functionsOf(
  model: AssemblyModel,
  environment: () => LambdaEnvironment,
  { clock = systemClock, timeouts = {}, newSend }: ServiceOptions & { newSend: () => TableSend },
): { lambdas: Omit<LocalLambdas, 'logError' | 'activity'>; settled: Service['settled'] } {
  const folders = Object.fromEntries(model.functions.map(one => [one.name, one.folder]))
  const handlers = new Map<string, Handler>()
  const invoke = async (name: string, event: unknown): Promise<unknown> => {
    const folder = folders[name] ?? name
    const handler = handlers.get(folder) ?? handlerOf(folder, environment(), clock, newSend())
    handlers.set(folder, handler)
    return asFunction(folder, () => handler(event as never, contextOf(name, timeouts[folder])))
  }
  const background = new Set<Promise<void>>()
  const inBackground = (work: Promise<void>): void => {
    background.add(work)
    void work.finally(() => background.delete(work))
  }
  const lambdas = {
    invoke,
    start: (name: string, event: unknown) => inBackground(threeTimes(() => invoke(name, event))),
    has: (name: string) => folders[name] !== undefined,
    close: async () => undefined,
  }
  const settled = async (): Promise<void> => {
    while (background.size > 0) await Promise.all(background)
  }
  worker.backgroundWork = [...(worker.backgroundWork ?? []), settled]
  return { lambdas, settled }
}

/** Serves logins as a Web Function does behind its distribution. */
const webLogins = (environment: LambdaEnvironment, clock: Clock = systemClock, send: TableSend) => {
  const { proxy } = readEnvironment({ ...process.env, ...NEEDED, ...behindDistribution })
  const handler = handlerOf('login', { ...environment, proxy }, clock, send)
  return webFrontOf(
    (event, context) => asFunction('login', () => handler(event as never, context)) as Promise<HttpApiAnswer>,
  )
}

/** Variables that every environment of a function needs. */
const NEEDED = { DATA_TABLE: 'data', CLUSTER_TABLE: 'cluster' }

/** Creates the handler of a function, as the function's `index.ts` does at the first event. */
function handlerOf(folder: string, environment: LambdaEnvironment, clock: Clock, send: TableSend): Handler {
  const carryTo = createLinkCarrier({ deployment: { plainEndpoints: true } })
  const ports = createAwsPorts(folder, declaredUsesOfFunction(folder), environment, clock, carryTo, send)
  if (folder === 'on-job') return createJobHandler(ports)
  if (folder === 'on-attempt') return createAttemptHandler(ports)
  if (folder === 'on-drill') return createDrillHandler(ports, { policy: 'drill', ask: noOtherCluster })
  if (folder === 'on-operation') return createOperationHandler(ports, createPeerConnector(carryTo, ports))
  if (folder === 'on-journal') return createJournalHandler(ports, createNotifier(ports, carryTo))
  if (folder === 'on-tidy-schedule') return createHourlyHandler(ports)
  if (folder === 'on-instance-event') return createInstanceEventHandler(ports)
  if (folder === 'on-account-facts') return createAccountFactsHandler(ports)
  if (folder === 'on-pull') return createPullHandler(ports, carryTo, ports)
  if (folder === 'link') return createLinkHandler(ports) as Handler
  const group = endpointGroups.find(one => one.name === folder) ?? {
    name: folder,
    endpoints: [],
    all: async () => endpointGroups,
  }
  return createGroupHandler(group, ports) as Handler
}

/** The call to the other cluster of a drill, which fails because this service has no other cluster. */
const noOtherCluster = async (): Promise<never> => {
  throw new Error('this service has no second cluster')
}

/** Repeats a failed asynchronous invocation twice, as AWS does. */
async function threeTimes(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; tries <= 3; tries++) {
    if (
      await work().then(
        () => true,
        () => false,
      )
    )
      return
  }
}

const LAMBDA_SECONDS = 60

function contextOf(name: string, seconds = LAMBDA_SECONDS): Context {
  const deadline = performance.now() + seconds * 1000
  return {
    functionName: name,
    awsRequestId: randomUUID(),
    getRemainingTimeInMillis: () => deadline - performance.now(),
  } as Context
}

/** Returns the variables of the template, with the table names of this service. */
const suffixed = ({ functions, tables }: AssemblyModel, suffix: string): Record<string, string> =>
  Object.fromEntries(
    functions
      .flatMap(one => Object.entries(one.environment))
      .map(([name, value]) => [
        name,
        tables.some(table => table.name === value) ? `${value}-${suffix}` : value,
      ]),
  )

/** Writes the functions' logs to a file, so that log lines do not mix with the test results. */
function capture(file: string, onLine: ServiceOptions['onLine']): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as typeof stream.write
    stream.write = ((chunk: string | Uint8Array, ...rest: never[]) => {
      const text = String(chunk)
      if (!/^\{"(level|timestamp|_aws|service)/.test(text)) return write(chunk, ...rest)
      appendFileSync(file, text)
      for (const line of text.split('\n')) if (line !== '') onLine?.(line)
      return true
    }) as typeof stream.write
  }
}
