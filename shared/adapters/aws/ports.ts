import type { Use } from '../../api/endpoint.ts'
import type { AccessKeys, Clock, KeyFactory, Ports } from '../../ports.ts'
import type { CarryTo } from '../../wire/carry.ts'
import { auditLog } from './audit.ts'
import { stsCallerIdentity } from './caller-identity.ts'
import { kmsCipher } from './cipher.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { guardedPorts } from './guard.ts'
import { lazyKms } from './kms.ts'
import { loadedLater, once } from './loaded-later.ts'
import { shippedAuthorities } from './shipped-authorities.ts'
import { callMeter, structuredLog, systemClock, systemEntropy } from './system.ts'
import { dynamoTables, sendsBy } from './table.ts'
import type { Send } from './wire/tables.ts'

/**
 * The ports of a Lambda, behind the guard.
 * @param tables sends calls to the tables, unless they go the usual way
 */
export function awsPorts(
  service: string,
  uses: readonly Use[],
  environment: Environment = readEnvironment(),
  clock: Clock = systemClock,
  carryTo: CarryTo = nobodyCarries,
  tables?: Send,
): Ports {
  const meter = callMeter()
  const entropy = systemEntropy
  const log = structuredLog(service, environment.metricNamespace, clock)
  const around = { tables: environment.tables, clock, entropy, meter, log }
  const { all, commits } = tables ? { all: tables, commits: tables } : sendsBy(environment.tablesClient)
  const { store, journal, journalView } = dynamoTables(around, all, true, commits)
  const kms = lazyKms(meter)
  const inAccounts = once(async () => {
    const { accounts } = await import('./accounts.ts')
    return accounts({ environment, clock, meter })
  })
  const ports: Ports = {
    store,
    journal,
    journalView,
    cipher: kmsCipher({ store, clock, entropy, kms }),
    instances: loadedLater({ describe: true, load: true }, async () => (await inAccounts()).instances),
    principals: loadedLater({ find: true, profile: true }, async () => (await inAccounts()).principals()),
    callerIdentity: stsCallerIdentity({ clock, meter, redirect: environment.stsRedirect }),
    accessKeys: loadedLater(keyMethods, async () => (await inAccounts()).accessKeys()),
    background: loadedLater({ start: true }, async () => {
      const { lambdaBackground } = await import('./background.ts')
      return lambdaBackground(environment.workerFunction, meter)
    }),
    puller: loadedLater({ wake: true }, async () => {
      const { lambdaPuller } = await import('./background.ts')
      return lambdaPuller(environment.pullFunction, meter)
    }),
    carryTo,
    workflows: loadedLater({ start: true, signal: true }, async () => {
      const { stepFunctions } = await import('./workflows.ts')
      return stepFunctions(environment.workflows, meter)
    }),
    events: loadedLater({ put: true }, async () => {
      const { eventBridge } = await import('./event-bus.ts')
      return eventBridge({ environment, clock, meter })
    }),
    authorities: shippedAuthorities(environment.authoritiesFile),
    keyFactory: loadedLater(keyFactoryMethods, async () => {
      const { kmsKeyFactory } = await import('./key-factory.ts')
      return kmsKeyFactory({ keyArn: environment.keyArn, entropy, kms })
    }),
    clock,
    entropy,
    audit: auditLog(environment),
    log,
    deployment: environment,
    meter,
    keyHints: new Map(),
    memory: {},
  }
  return guardedPorts(ports, uses)
}

const keyMethods: Record<keyof AccessKeys, true> = {
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
  without: true,
  withSigner: true,
  withNextTerm: true,
}

/** Most functions ask no other cluster, and load nothing for it. */
const nobodyCarries: CarryTo = () => {
  throw new Error('this function was given nothing that carries calls to other clusters')
}
