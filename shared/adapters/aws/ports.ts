import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Use } from '../../api/endpoint.ts'
import type { CarryTo } from '../../link/carry.ts'
import type { Clock, Ports, Store } from '../../ports.ts'
import { type Change, keyOf } from '../../storage/changes.ts'
import { specOf } from '../../storage/kinds.ts'
import { iamAccessKeys } from './access-keys.ts'
import { auditLog } from './audit.ts'
import { lambdaBackground, lambdaPuller } from './background.ts'
import { stsCallerIdentity } from './caller-identity.ts'
import { kmsCipher, kmsGenesis } from './cipher.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { ec2Instances } from './instances.ts'
import { lazyKms } from './kms.ts'
import { iamPrincipals } from './principals.ts'
import { provider } from './provider.ts'
import { shippedAuthorities } from './shipped-authorities.ts'
import { callMeter, structuredLog, systemClock, systemEntropy } from './system.ts'
import { dynamoTables } from './table.ts'
import { stepFunctions } from './workflows.ts'

/** Which port belongs to which declared use; the others are there for everybody. */
const guarded: Partial<Record<keyof Ports, Use>> = {
  instances: 'instances',
  principals: 'principals',
  callerIdentity: 'caller-identity',
  accessKeys: 'access-keys',
  background: 'background',
  puller: 'pull',
  workflows: 'workflow',
  events: 'events',
  genesis: 'genesis',
  journal: 'journal',
  authorities: 'authorities',
  carryTo: 'peers',
}

/**
 * The ports of a Lambda. A port whose use was not declared throws when it is touched: without the grant that
 * follows from the declaration it would fail on AWS only.
 * @param tablesClient makes a client of the tables' engine, unless it is to be the usual one
 */
export function awsPorts(
  service: string,
  uses: readonly Use[],
  environment: Environment = readEnvironment(),
  clock: Clock = systemClock,
  carryTo: CarryTo = nobodyCarries,
  tablesClient?: () => DynamoDBClient,
): Ports {
  const meter = callMeter()
  const entropy = systemEntropy
  const { tables } = environment
  const { store, journal, journalView } = dynamoTables({ tables, clock, entropy, meter }, tablesClient)
  const kms = lazyKms(meter)
  const calls = provider({ environment, clock, meter })
  const ports: Ports = {
    store: guardedStore(store, uses),
    journal,
    journalView,
    cipher: kmsCipher({ store, clock, entropy, kms }),
    instances: ec2Instances(calls),
    principals: iamPrincipals(calls),
    callerIdentity: stsCallerIdentity({ clock, meter, redirect: environment.stsRedirect }),
    accessKeys: iamAccessKeys({ provider: calls, region: environment.region, clock, meter }),
    background: lambdaBackground(environment.workerFunction, meter),
    puller: lambdaPuller(environment.pullFunction, meter),
    carryTo,
    workflows: stepFunctions(environment.workflows, meter),
    events: {
      put: async events => {
        const { eventBridge } = await import('./event-bus.ts')
        await eventBridge({ environment, clock, meter }).put(events)
      },
    },
    authorities: shippedAuthorities(environment.authoritiesFile),
    genesis: kmsGenesis({ keyArn: environment.keyArn, entropy, kms }),
    clock,
    entropy,
    audit: auditLog(environment),
    log: structuredLog(service),
    deployment: environment,
    meter,
    keyHints: new Map(),
    memory: {},
  }
  const closed = Object.entries(guarded).filter(([, use]) => !uses.includes(use))
  const gates = closed.map(([port, use]) => [port, { get: () => undeclared(port, use) }] as const)
  return Object.defineProperties(ports, Object.fromEntries(gates))
}

/** Most functions ask no other cluster, and load nothing for it. */
const nobodyCarries: CarryTo = () => {
  throw new Error('this function was given nothing that carries calls to other clusters')
}

const guardedStore = (store: Store, uses: readonly Use[]): Store => ({
  ...store,
  commit: (changes, cluster, options) => {
    const missing = changes.map(usesFor).find(any => !any.some(use => uses.includes(use)))
    return missing ? undeclared('store.commit', missing[0]) : store.commit(changes, cluster, options)
  },
  ...(uses.includes('scan') ? {} : { scan: () => undeclared('store.scan', 'scan') }),
  ...(uses.includes('sweep') ? {} : { due: () => undeclared('store.due', 'sweep') }),
})

/**
 * The uses of which a change needs one, as the grants have it: items of tokens may be deleted with `spend` as well as
 * with `write`.
 */
export function usesFor(change: Change): readonly Use[] {
  const { kind } = keyOf(change)
  const { guard = 'write', voids } = specOf(kind)
  if ('count' in change) return ['spend']
  if ('put' in change) return kind === 'cluster' ? [guard, 'role'] : [guard]
  if (voids) return [voids]
  if (guard === 'mint') return ['spend', 'write']
  return guard === 'write' || guard === 'link' ? [guard] : []
}

function undeclared(port: string, use: Use | undefined): never {
  throw new Error(
    use ? `${port} needs the use "${use}" in the endpoint table` : `${port}: no declared use allows that`,
  )
}
