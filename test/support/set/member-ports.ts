import { declaredUsesOfFunction } from '../../../infra/build/uses.ts'
import { createLocalLicence } from '../../../infra/local/lambda/licence.ts'
import { createKmsCipher } from '../../../shared/adapters/aws/cipher.ts'
import { guardPorts } from '../../../shared/adapters/aws/guard.ts'
import { createKmsKeyFactory } from '../../../shared/adapters/aws/key-factory.ts'
import { createCallMeter } from '../../../shared/adapters/aws/system.ts'
import { createDynamoTables } from '../../../shared/adapters/aws/table.ts'
import type { Clock, Deployment, Entropy, FieldCipher, Ports, WriteLogLine } from '../../../shared/ports.ts'
import type { TableNames } from '../../../shared/storage/requests.ts'
import type { MetricMeasures } from '../../../shared/watching/metrics.ts'
import type { CreateLinkCarrier } from '../../../shared/wire/carry.ts'
import type { BusEvent } from '../../../shared/work-ports.ts'
import { checkAllowed } from '../iam/judge.ts'
import { eventsRequest, keyRequest, workerRequest, workflowRequest } from '../iam/requests.ts'
import { addressFor } from './network.ts'
import type { ownKms } from './own-kms.ts'
import type { tableTransport } from './transport.ts'

export interface PortSettings {
  name: string
  tables: TableNames
  clock: Clock
  entropy: Entropy
  transport: Pick<ReturnType<typeof tableTransport>, 'send'>
  kms: ReturnType<typeof ownKms>
  carryTo: CreateLinkCarrier
}

/** The background work that a cluster starts. */
interface Started {
  background: (payload: unknown) => void
  wake: () => void
  workflow: Ports['workflows']['start']
}

export interface Told {
  level: string
  message: string
  fields: unknown
  /** numbers for the cluster's metrics, with their times in epoch milliseconds */
  measures: Readonly<MetricMeasures>
  at: number
}

/**
 * Creates the ports of a cluster's Lambdas, and records their effects. The ports reach no AWS service except the
 * tables, and each cluster has an imitated KMS. `ports` are unrestricted, for tests. `as` returns the ports of one
 * function, with the policies of its role, in a shared memory until a test asks for a new one; the ports of `apart`
 * have a separate memory.
 */
export function portsOf(
  { name, tables, clock, transport, entropy, kms, carryTo }: PortSettings,
  { background, wake, workflow }: Started,
): {
  ports: Ports
  as: (folder: string, apart?: string) => Ports
  told: Told[]
  audited: Record<string, unknown>[]
  events: BusEvent[]
  newMemory: () => void
} {
  const told: Told[] = []
  const events: BusEvent[] = []
  const audited: Record<string, unknown>[] = []
  const meter = createCallMeter()
  const note =
    (level: string): WriteLogLine =>
    (message, fields, measures = {}) =>
      void told.push({ level, message, fields, measures, at: clock.now() })
  const log = { info: note('info'), warn: note('warn'), error: note('error') }
  const around = { tables, clock, entropy, meter, log }
  const { store, journal, journalView } = createDynamoTables(around, transport.send)
  const copy = (value: object) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>
  const judgedKms = judged(kms)
  const memory = newMemories(() => createKmsCipher({ store, clock, entropy, kms: judgedKms }))
  const ports: Ports = {
    store,
    journal,
    journalView,
    clock,
    entropy,
    meter,
    ...memory.of('test'),
    keyFactory: createKmsKeyFactory({ keyArn: `key of ${name}`, entropy, kms: judgedKms }),
    instances: noAws,
    principals: noAws,
    callerIdentity: noAws,
    issuerKeys: noAws,
    accessKeys: noAws,
    organizations: noAws,
    ...started({ background: job => background(copy(job as object)), wake, workflow }),
    carryTo,
    authorities: { shipped: async () => new Map() },
    events: {
      put: async given => {
        checkAllowed(eventsRequest(['cloud-auth']))
        events.push(...given)
      },
    },
    audit: { write: async entry => void audited.push(copy(entry)) },
    log,
    deployment: deploymentOf(name, clock.now()),
  }
  const functions = new Map<string, Ports>()
  const seen = asItIs(store)
  const as = (folder: string, apart = ''): Ports => {
    const name = `${folder}${apart}`
    const known =
      functions.get(name) ??
      guardPorts(having(ports, { ...memory.of(name), store: seen }), declaredUsesOfFunction(folder))
    functions.set(name, known)
    return known
  }
  return { ports, as, told, audited, events, newMemory: memory.forget }
}

/** Returns ports of which some are replaced. The others are read when they are used. */
export const having = <P extends object>(ports: P, own: Partial<P>): P =>
  new Proxy(ports, { get: (all, name) => Reflect.get(name in own ? own : all, name) })

/** Wraps a store so that each call reads its methods again, and tests can replace them. */
const asItIs = (store: Ports['store']): Ports['store'] => {
  const names = Object.keys(store) as (keyof Ports['store'])[]
  const methods = names.map(name => [
    name,
    (...given: never[]) => (store[name] as (...all: never[]) => unknown)(...given),
  ])
  return Object.fromEntries(methods) as Ports['store']
}

/** Creates the memory that environments of Lambdas keep between requests. */
function newMemories(newCipher: () => FieldCipher) {
  const held = new Map<string, FieldCipher>()
  const cipherOf = (folder: string): FieldCipher => {
    const cipher = held.get(folder) ?? newCipher()
    held.set(folder, cipher)
    return cipher
  }
  return {
    of: (folder: string): Pick<Ports, 'cipher' | 'keyHints' | 'memory'> => ({
      cipher: new Proxy(cipherOf(folder), { get: (_, name) => Reflect.get(cipherOf(folder), name) }),
      keyHints: new Map(),
      memory: {},
    }),
    /** makes all environments forget their keys */
    forget: () => held.clear(),
  }
}

/** A KMS whose calls are checked against the functions' policies. */
const judged = ({
  newDataKey,
  unwrap,
}: PortSettings['kms']): Pick<PortSettings['kms'], 'newDataKey' | 'unwrap'> => ({
  newDataKey: async (...given) => {
    checkAllowed(keyRequest('GenerateDataKey', ['keyring']))
    return newDataKey(...given)
  },
  unwrap: async (...given) => {
    checkAllowed(keyRequest('Decrypt', ['keyring']))
    return unwrap(...given)
  },
})

/** Returns the ports that start background work. The policies must allow each start. */
const started = ({
  background,
  wake,
  workflow,
}: Started): Pick<Ports, 'background' | 'puller' | 'workflows'> => ({
  background: {
    start: async job => {
      checkAllowed(workerRequest('job'))
      background(job)
    },
  },
  puller: {
    wake: async () => {
      checkAllowed(workerRequest('pull'))
      wake()
    },
  },
  workflows: {
    start: async (name, ...given) => {
      checkAllowed(workflowRequest('StartExecution', name))
      return workflow(name, ...given)
    },
    signal: async () => {
      checkAllowed(workflowRequest('SendTaskSuccess', 'any'))
      return false
    },
  },
})

const noAws = new Proxy({} as never, {
  get: (_, member) => {
    throw new Error(`${String(member)}: there is no AWS here`)
  },
})

function deploymentOf(name: string, now: number): Deployment {
  const { LICENSE: text, LICENSE_PUBLIC_KEY: publicKey } = createLocalLicence(name, now)
  return {
    version: '1.0.0',
    apiVersion: '1.0.0',
    clusterName: name,
    region: 'us-east-1',
    home: `tables of ${name}`,
    legacySignatures: false,
    plainEndpoints: false,
    assumableRoles: [],
    initPgpKeys: [],
    strictCeremony: false,
    healthChecksKeyring: false,
    apiAddress: addressFor(name),
    license: { text, publicKey },
  }
}
