import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Use } from '../../api/endpoint.ts'
import type { Clock, Ports } from '../../ports.ts'
import type { CarryTo } from '../../wire/carry.ts'
import { iamAccessKeys } from './access-keys.ts'
import { auditLog } from './audit.ts'
import { lambdaBackground, lambdaPuller } from './background.ts'
import { stsCallerIdentity } from './caller-identity.ts'
import { kmsCipher, kmsGenesis } from './cipher.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { guardedPorts } from './guard.ts'
import { ec2Instances } from './instances.ts'
import { lazyKms } from './kms.ts'
import { iamPrincipals } from './principals.ts'
import { provider } from './provider.ts'
import { shippedAuthorities } from './shipped-authorities.ts'
import { callMeter, structuredLog, systemClock, systemEntropy } from './system.ts'
import { dynamoTables } from './table.ts'
import { stepFunctions } from './workflows.ts'

/**
 * The ports of a Lambda, behind the guard.
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
    store,
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
  return guardedPorts(ports, uses)
}

/** Most functions ask no other cluster, and load nothing for it. */
const nobodyCarries: CarryTo = () => {
  throw new Error('this function was given nothing that carries calls to other clusters')
}
