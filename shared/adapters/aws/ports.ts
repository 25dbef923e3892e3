import type { Use } from '../../api/endpoint.ts'
import type { AccessKeys, Clock, KeyFactory, Ports } from '../../ports.ts'
import type { CarryTo } from '../../wire/carry.ts'
import { auditLog } from './audit.ts'
import { stsCallerIdentity } from './caller-identity.ts'
import { kmsCipher } from './cipher.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { guardedPorts } from './guard.ts'
import { lazyKms } from './kms.ts'
import { createLazy, once } from './loaded-later.ts'
import { shippedAuthorities } from './shipped-authorities.ts'
import { callMeter, structuredLog, systemClock, systemEntropy } from './system.ts'
import { createSends, dynamoTables } from './table.ts'
import type { Send } from './wire/tables.ts'

/**
 * Creates the ports of a Lambda, behind the guard.
 * @param tables sends calls to the tables; absent: the client that the environment names
 */
export function awsPorts(
  service: string,
  uses: readonly Use[],
  environment: Environment = readEnvironment(),
  clock: Clock = systemClock,
  carryTo: CarryTo = refuseToCarry,
  tables?: Send,
): Ports {
  const meter = callMeter()
  const entropy = systemEntropy
  const log = structuredLog(service, environment.metricNamespace, clock)
  const around = { tables: environment.tables, clock, entropy, meter, log }
  const { all, commits } = tables ? { all: tables, commits: tables } : createSends(environment.tablesClient)
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
    instances: createLazy({ describe: true, load: true }, async () => (await inAccounts()).instances),
    principals: createLazy({ find: true, profile: true }, async () => (await inAccounts()).principals()),
    callerIdentity: stsCallerIdentity({ clock, meter, redirect: environment.stsRedirect }),
    accessKeys: createLazy(keyMethods, async () => (await inAccounts()).accessKeys()),
    background: createLazy({ start: true }, async () => {
      const { lambdaBackground } = await import('./background.ts')
      return lambdaBackground(environment.workerFunction, meter)
    }),
    puller: createLazy({ wake: true }, async () => {
      const { lambdaPuller } = await import('./background.ts')
      return lambdaPuller(environment.pullFunction, meter)
    }),
    carryTo,
    workflows: createLazy({ start: true, signal: true }, async () => {
      const { stepFunctions } = await import('./workflows.ts')
      return stepFunctions(environment.workflows, meter)
    }),
    events: createLazy({ put: true }, async () => {
      const { eventBridge } = await import('./event-bus.ts')
      return eventBridge({ environment, clock, meter })
    }),
    authorities: shippedAuthorities(environment.authoritiesFile),
    keyFactory: createLazy(keyFactoryMethods, async () => {
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
  removeTerms: true,
  addSigner: true,
  addNextTerm: true,
}

/** Most functions call no other cluster, so they do not load a carrier. */
const refuseToCarry: CarryTo = () => {
  throw new Error('this function has no carrier for calls to other clusters')
}
