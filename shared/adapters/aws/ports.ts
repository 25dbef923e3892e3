import type { Use } from '../../api/endpoint.ts'
import type { Ports, Store } from '../../ports.ts'
import { iamAccessKeys } from './access-keys.ts'
import { lineAudit } from './audit.ts'
import { lambdaBackground } from './background.ts'
import { stsCallerIdentity } from './caller-identity.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { ec2Instances } from './instances.ts'
import { iamPrincipals } from './principals.ts'
import { provider } from './provider.ts'
import { kmsGenesis, kmsSealer } from './sealer.ts'
import { callMeter, structuredLog, systemClock, systemEntropy } from './system.ts'
import { dynamoStore } from './table.ts'

/** Which port belongs to which declared use; the others are there for everybody. */
const guarded: Partial<Record<keyof Ports, Use>> = {
  instances: 'instances',
  principals: 'principals',
  callerIdentity: 'caller-identity',
  accessKeys: 'access-keys',
  background: 'background',
  genesis: 'genesis',
}

/**
 * The ports of a Lambda. A port whose use was not declared throws when it is touched: without the grant that
 * follows from the declaration it would fail on AWS only.
 */
export function awsPorts(
  service: string,
  uses: readonly Use[],
  environment: Environment = readEnvironment(),
): Ports {
  const meter = callMeter()
  const [clock, entropy] = [systemClock, systemEntropy]
  const store = dynamoStore({ tables: environment.tables, clock, entropy, meter })
  const calls = provider({ environment, clock, meter })
  const ports: Ports = {
    store: guardedStore(store, uses),
    sealer: kmsSealer({ store, entropy, meter }),
    instances: ec2Instances(calls),
    principals: iamPrincipals(calls),
    callerIdentity: stsCallerIdentity({ clock, meter, redirect: environment.stsRedirect }),
    accessKeys: iamAccessKeys({ provider: calls, region: environment.region, clock, meter }),
    background: lambdaBackground(environment.workerFunction, meter),
    genesis: kmsGenesis({ keyArn: environment.keyArn, entropy, meter }),
    clock,
    entropy,
    audit: lineAudit(environment.auditFile),
    log: structuredLog(service),
    deployment: environment,
    meter,
    recall: new Map(),
  }
  const closed = Object.entries(guarded).filter(([, use]) => !uses.includes(use))
  const gates = closed.map(([port, use]) => [port, { get: () => undeclared(port, use) }] as const)
  return Object.defineProperties(ports, Object.fromEntries(gates))
}

const guardedStore = (store: Store, uses: readonly Use[]): Store => ({
  ...store,
  ...(uses.includes('write') ? {} : { commit: spending(store, uses) }),
  ...(uses.includes('scan') ? {} : { scan: () => undeclared('store.scan', 'scan') }),
  ...(uses.includes('sweep') ? {} : { due: () => undeclared('store.due', 'sweep') }),
})

/** The commit of a Lambda that does not write: the caller's token only. */
const spending =
  (store: Store, uses: readonly Use[]): Store['commit'] =>
  (changes, cluster) => {
    const tokens = changes.every(
      one => ('put' in one ? one.put : 'delete' in one ? one.delete : one.check).kind === 'token',
    )
    return tokens && uses.includes('spend')
      ? store.commit(changes, cluster)
      : undeclared('store.commit', 'write')
  }

function undeclared(port: string, use: Use): never {
  throw new Error(`${port} needs the use "${use}" in the endpoint table`)
}
