import type { EndpointUse } from '../../api/endpoint.ts'
import type { AccessKeyManager, Clock, KeyFactory, Ports } from '../../ports.ts'
import { runOnce } from '../../values/run-once.ts'
import type { CreateLinkCarrier } from '../../wire/carry.ts'
import { createAuditLog } from './audit.ts'
import { createStsCallerIdentity } from './caller-identity.ts'
import { createKmsCipher } from './cipher.ts'
import { type LambdaEnvironment, readEnvironment } from './environment.ts'
import { guardPorts } from './guard.ts'
import { createLazyKms } from './kms.ts'
import { createLazyLoaded } from './loaded-later.ts'
import { readShippedAuthorities } from './shipped-authorities.ts'
import { createCallMeter, createStructuredLog, systemClock, systemEntropy } from './system.ts'
import { createDynamoTables, createTableSends } from './table.ts'
import type { TableSend } from './wire/tables.ts'

/**
 * Creates the ports of a Lambda, behind the guard.
 * @param tables sends calls to the tables; absent: the client that the environment names
 */
export function createAwsPorts(
  service: string,
  uses: readonly EndpointUse[],
  environment: LambdaEnvironment = readEnvironment(),
  clock: Clock = systemClock,
  carryTo: CreateLinkCarrier = refuseToCarry,
  tables?: TableSend,
): Ports {
  const meter = createCallMeter()
  const entropy = systemEntropy
  const log = createStructuredLog(service, environment.metricNamespace, clock)
  const around = { tables: environment.tables, clock, entropy, meter, log }
  const { all, commits } = tables
    ? { all: tables, commits: tables }
    : createTableSends(environment.tablesClient)
  const { store, journal, journalView } = createDynamoTables(around, all, true, commits)
  const kms = createLazyKms(meter)
  const inAccounts = runOnce(async () => {
    const { createAwsAccountPorts } = await import('./accounts.ts')
    return createAwsAccountPorts({ environment, clock, meter })
  })
  const ports: Ports = {
    store,
    journal,
    journalView,
    cipher: createKmsCipher({ store, clock, entropy, kms }),
    instances: createLazyLoaded({ describe: true, load: true }, async () => (await inAccounts()).instances),
    principals: createLazyLoaded({ find: true, profile: true }, async () =>
      (await inAccounts()).principals(),
    ),
    callerIdentity: createStsCallerIdentity({ clock, meter, redirect: environment.stsRedirect }),
    issuerKeys: createLazyLoaded({ fetch: true }, async () => {
      const { createIssuerKeyFetcher } = await import('./issuer-keys.ts')
      return createIssuerKeyFetcher({ clock, meter, redirect: environment.issuerRedirect })
    }),
    accessKeys: createLazyLoaded(keyMethods, async () => (await inAccounts()).accessKeys()),
    organizations: createLazyLoaded({ describe: true, list: true }, async () =>
      (await inAccounts()).organizations(),
    ),
    background: createLazyLoaded({ start: true }, async () => {
      const { createLambdaBackground } = await import('./background.ts')
      return createLambdaBackground(environment.workerFunction, meter)
    }),
    puller: createLazyLoaded({ wake: true }, async () => {
      const { createPullerWaker } = await import('./background.ts')
      return createPullerWaker(environment.pullFunction, meter)
    }),
    carryTo,
    workflows: createLazyLoaded({ start: true, signal: true }, async () => {
      const { createStepFunctions } = await import('./workflows.ts')
      return createStepFunctions(environment.workflows, meter)
    }),
    events: createLazyLoaded({ put: true }, async () => {
      const { createEventBridgeBus } = await import('./event-bus.ts')
      return createEventBridgeBus({ environment, clock, meter })
    }),
    authorities: readShippedAuthorities(environment.authoritiesFile),
    keyFactory: createLazyLoaded(keyFactoryMethods, async () => {
      const { createKmsKeyFactory } = await import('./key-factory.ts')
      return createKmsKeyFactory({ keyArn: environment.keyArn, entropy, kms })
    }),
    clock,
    entropy,
    audit: createAuditLog(environment),
    log,
    deployment: environment,
    meter,
    keyHints: new Map(),
    memory: {},
  }
  return guardPorts(ports, uses)
}

const keyMethods: Record<keyof AccessKeyManager, true> = {
  owner: true,
  list: true,
  create: true,
  delete: true,
  works: true,
}

const keyFactoryMethods: Record<keyof KeyFactory, true> = {
  newKeyring: true,
  importFrom: true,
  unite: true,
  removeTerms: true,
  addSigner: true,
  addNextTerm: true,
}

/** Most functions call no other cluster, so they do not load a carrier. */
const refuseToCarry: CreateLinkCarrier = () => {
  throw new Error('this function has no client for calls to other clusters')
}
