import { randomBytes, randomUUID } from 'node:crypto'
import { createLocalLicence } from '../../../infra/local/lambda/licence.ts'
import { createKmsCipher } from '../../../shared/adapters/aws/cipher.ts'
import { createKmsKeyFactory } from '../../../shared/adapters/aws/key-factory.ts'
import type { EndpointGroup } from '../../../shared/api/endpoint.ts'
import { newRecoveryKey } from '../../../shared/cluster/recovery.ts'
import { createTermItems } from '../../../shared/cluster/terms.ts'
import { ceremonyGroup } from '../../../shared/endpoints/ceremony.ts'
import { generateRootGroup } from '../../../shared/endpoints/generate-root.ts'
import { rekeyGroup } from '../../../shared/endpoints/rekey.ts'
import { createDispatcher } from '../../../shared/http/dispatch.ts'
import type { HttpRequest } from '../../../shared/http/request.ts'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import type { Ports } from '../../../shared/ports.ts'
import { putItem } from '../../../shared/storage/changes.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { clusterRecord } from '../../builders/cluster-record.ts'
import { httpRequest } from '../../builders/http-request.ts'
import { portsWith } from '../../builders/ports.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'

/** The response of one ceremony request. */
export interface Told {
  status: number
  retryAfter: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  body: any
}

/** The answer about a ceremony that nobody has started, with a threshold of 3. */
export const IDLE_BODY = {
  nonce: '',
  started: false,
  progress: 0,
  required: 3,
  complete: false,
  encoded_token: '',
  encoded_root_token: '',
  pgp_fingerprint: '',
  otp: '',
  otp_length: 33,
}

/** The ceremonies, with the cluster role that offers each. */
const ceremonies = {
  root: { at: '/sys/generate-root', mode: 'primary' },
  operation: {
    at: '/sys/replication/dr/secondary/generate-operation-token',
    mode: 'secondary',
  },
} as const

interface Options {
  of?: keyof typeof ceremonies
  strictCeremony?: boolean
  /** items in addition to the items of every cluster */
  items?: Item[]
}

/** A KMS that does not encrypt. */
const kms = {
  unwrap: async ({ wrappedKey }: { wrappedKey: string }) => Buffer.from(wrappedKey, 'base64'),
  newDataKey: async () => {
    const dataKey = randomBytes(32)
    return { dataKey, wrapped: dataKey.toString('base64') }
  },
}

/** Builds a cluster in memory that serves only ceremonies, with the shares of its recovery key. */
export async function ceremonyWorld(
  division = { shares: 5, threshold: 3 },
  { of = 'root', strictCeremony = false, items: more = [] }: Options = {},
) {
  const { at, mode } = ceremonies[of]
  const entropy = { bytes: randomBytes, uuid: randomUUID }
  const clock = { ms: 1_800_000_000_000, now: () => clock.ms, sleep: async () => undefined }
  const { keyring, terms } = await createKmsKeyFactory({ keyArn: 'arn', entropy, kms }).newKeyring(clock.ms)
  const place = key('recovery-key')
  const { item: recovery, shares } = newRecoveryKey(division, { random: randomBytes, now: clock.ms })
  const record = clusterRecord({ mode, keyring: keyring.id, ...(mode === 'secondary' ? { set: 's-1' } : {}) })
  const items: Item[] = [
    { ...key('cluster'), rev: 'r', data: record },
    { ...key('keyring'), rev: 'r', data: { ...keyring, edition: 1 } },
    { ...key('mounts'), rev: 'r', data: { mounts: [], removing: [] } },
    { ...place, rev: 'r', data: recovery },
    ...createTermItems(terms, [], clock.ms, record).map(
      change => ({ ...change.key, rev: 'r', data: change.kind === 'put' && change.data }) as Item,
    ),
    ...more,
  ]
  const memory = memoryStore(items, { now: clock.now })
  const { store, stored } = memory
  const audited: Record<string, unknown>[] = []
  const machines = stateMachines()
  const ports = portsWith({
    store,
    clock,
    entropy,
    memory: {},
    cipher: createKmsCipher({ store, clock, entropy, kms }),
    audit: { write: async (entry: Record<string, unknown>) => void audited.push(entry) },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    keyHints: new Map(),
    deployment: { license: licence(), strictCeremony },
    workflows: machines.workflows,
  })
  const send = sender(at, ports)
  return {
    ...memory,
    ports,
    machines,
    cipher: ports.cipher,
    audited,
    clock,
    shares,
    show: () => send('GET', '/attempt'),
    start: (body?: unknown) => send('PUT', '/attempt', body),
    cancel: () => send('DELETE', '/attempt'),
    give: (nonce: string, share: Buffer | string) =>
      send('PUT', '/update', { nonce, key: typeof share === 'string' ? share : share.toString('hex') }),
    send,
    slot: () => stored.at(key('ceremony')),
    tokens: () => stored.of('token'),
    /** returns the generated operation token, or undefined */
    generated: () => stored.of('operation-token')[0]?.data,
    become: (parts: Partial<ClusterRecord>) =>
      store.commit([putItem(key('cluster'), { ...record, ...parts })], { record, readAt: clock.ms }),
  }
}

/** Records the calls to Step Functions. */
function stateMachines() {
  const started: string[] = []
  const told: [token: string, answer: unknown][] = []
  const spent = new Set<string>()
  const machines = { started, told, fails: false }
  const workflows: Ports['workflows'] = {
    start: async (workflow, operation) => {
      if (machines.fails) throw new Error('no Step Functions')
      started.push(`${workflow} ${operation}`)
      return 'runs'
    },
    signal: async (token, answer) => {
      if (machines.fails) throw new Error('no Step Functions')
      if (spent.has(token)) return false
      spent.add(token)
      told.push([token, answer])
      return true
    },
  }
  return Object.assign(machines, { workflows })
}

function licence() {
  const { LICENSE: text, LICENSE_PUBLIC_KEY: publicKey } = createLocalLicence('c', 1_700_000_000_000)
  return { text, publicKey }
}

/** Decodes a masked token as Vault's command line does. */
export const unmasked = (encoded: string, otp: string): string => {
  const pad = Buffer.from(otp)
  return Buffer.from(Buffer.from(encoded, 'base64').map((byte, index) => byte ^ (pad[index] ?? 0))).toString()
}

const both: EndpointGroup = {
  name: 'ceremonies',
  endpoints: [generateRootGroup, ceremonyGroup, rekeyGroup].flatMap(({ endpoints }) => endpoints),
}

/** Builds a function that sends ceremony requests and parses their responses. */
function sender(at: string, ports: Ports) {
  const served = createDispatcher(both, ports)
  return async (
    method: string,
    path: string,
    sent?: unknown,
    more: Partial<HttpRequest> = {},
  ): Promise<Told> => {
    const body = sent === undefined ? '' : JSON.stringify(sent)
    const { response } = await served(
      httpRequest({
        method,
        path: `/v1${path.startsWith('/sys/') ? path : at + path}`,
        body,
        gatewayId: '',
        deadline: ports.clock.now() + 10_000,
        ...more,
      }),
    )
    return {
      status: response.status,
      retryAfter: response.headers['retry-after'],
      body: response.body === '' ? undefined : JSON.parse(response.body),
    }
  }
}
