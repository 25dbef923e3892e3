import { newLicence } from '../../../infra/local/licence.ts'
import { kmsCipher, kmsGenesis } from '../../../shared/adapters/aws/cipher.ts'
import { callMeter } from '../../../shared/adapters/aws/system.ts'
import { dynamoTables } from '../../../shared/adapters/aws/table.ts'
import type { CarryTo } from '../../../shared/link/carry.ts'
import type { BusEvent, Clock, Deployment, Entropy, Ports } from '../../../shared/ports.ts'
import type { Tables } from '../../../shared/storage/requests.ts'
import type { ownKms } from '../own-kms.ts'
import { addressFor } from './network.ts'
import type { tableTransport } from './transport.ts'

export interface PortSettings {
  name: string
  tables: Tables
  clock: Clock
  entropy: Entropy
  transport: Pick<ReturnType<typeof tableTransport>, 'connect'>
  kms: ReturnType<typeof ownKms>
  carryTo: CarryTo
}

/** What a cluster starts that nobody waits for. */
interface Started {
  background: (payload: unknown) => void
  wake: () => void
  workflow: Ports['workflows']['start']
}

export interface Told {
  level: string
  message: string
  fields: unknown
}

/** The ports of a cluster's Lambdas, and what came out of them. There is no AWS but the tables, and a KMS of its own. */
export function portsOf(
  { name, tables, clock, transport, entropy, kms, carryTo }: PortSettings,
  { background, wake, workflow }: Started,
): {
  ports: Ports
  told: Told[]
  audited: Record<string, unknown>[]
  events: BusEvent[]
  newMemory: () => void
} {
  const told: Told[] = []
  const events: BusEvent[] = []
  const audited: Record<string, unknown>[] = []
  const meter = callMeter()
  const note = (level: string) => (message: string, fields: unknown) =>
    void told.push({ level, message, fields })
  const { store, journal, journalView } = dynamoTables({ tables, clock, entropy, meter }, transport.connect)
  const copy = (value: object) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>
  const newCipher = () => kmsCipher({ store, clock, entropy, kms })
  let current = newCipher()
  const ports: Ports = {
    ...{ store, journal, journalView, clock, entropy, meter },
    cipher: new Proxy(current, { get: (_, member) => Reflect.get(current, member) }),
    genesis: kmsGenesis({ keyArn: `key of ${name}`, entropy, kms }),
    ...{ instances: noAws, principals: noAws, callerIdentity: noAws, accessKeys: noAws },
    background: { start: async job => background(copy(job)) },
    puller: { wake: async () => wake() },
    carryTo,
    workflows: { start: workflow, signal: async () => false },
    authorities: { shipped: async () => new Map() },
    events: { put: async given => void events.push(...given) },
    audit: { write: async entry => void audited.push(copy(entry)) },
    log: { info: note('info'), warn: note('warn'), error: note('error') },
    deployment: deploymentOf(name, clock.now()),
    keyHints: new Map(),
    memory: {},
  }
  const newMemory = (): void => {
    current = newCipher()
  }
  return { ports, told, audited, events, newMemory }
}

const noAws = new Proxy({} as never, {
  get: (_, member) => {
    throw new Error(`${String(member)}: there is no AWS here`)
  },
})

function deploymentOf(name: string, now: number): Deployment {
  const { LICENSE: text, LICENSE_PUBLIC_KEY: publicKey } = newLicence(name, now)
  return {
    ...{ version: '1.0.0', apiVersion: '1.0.0', clusterName: name, region: 'us-east-1' },
    home: `tables of ${name}`,
    ...{ legacySignatures: false, plainEndpoints: false, assumableRoles: [], initPgpKeys: [] },
    ...{ strictCeremony: false, healthChecksKeyring: false },
    apiAddress: addressFor(name),
    license: { text, publicKey },
  }
}
