import { randomBytes, randomUUID } from 'node:crypto'
import { kmsCipher, kmsGenesis } from '../../../shared/adapters/aws/cipher.ts'
import { divide } from '../../../shared/cluster/shares.ts'
import { generateRootGroup } from '../../../shared/endpoints/generate-root.ts'
import { serve } from '../../../shared/http/dispatch.ts'
import type { Ports, Store } from '../../../shared/ports.ts'
import type { Change } from '../../../shared/storage/changes.ts'
import { type Item, type Key, key } from '../../../shared/storage/kinds.ts'
import { memoryStore } from '../support/memory-store.ts'

/** The answer to one request of a ceremony. */
export interface Told {
  status: number
  retryAfter: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  body: any
}

/** A cluster in memory that can do nothing but ceremonies, with the shares of its recovery key. */
export async function ceremonyWorld(division = { shares: 5, threshold: 3 }) {
  const kms = {
    unwrap: async ({ wrapped }: { wrapped: string }) => Buffer.from(wrapped, 'base64'),
    newDataKey: async () => {
      const dataKey = randomBytes(32)
      return { dataKey, wrapped: dataKey.toString('base64') }
    },
  }
  const entropy = { bytes: randomBytes, uuid: randomUUID }
  const clock = { ms: 1_800_000_000_000, now: () => clock.ms, sleep: async () => undefined }
  const { keyring, cipher } = await kmsGenesis({ keyArn: 'arn', entropy, kms }).newKeyring(clock.ms)
  const recovery = randomBytes(32)
  const place = key('recovery-key')
  const record = {
    id: 'c',
    name: 'c',
    mode: 'primary',
    keyring: keyring.id,
    term: 1,
    initialisedAt: 0,
  } as const
  const items: Item[] = [
    { ...key('cluster'), rev: 'r', data: record },
    { ...key('keyring'), rev: 'r', data: keyring },
    { ...key('mounts'), rev: 'r', data: { mounts: [], removing: [] } },
    {
      ...place,
      rev: 'r',
      data: { ...division, key: await cipher.encrypt(place, 'key', recovery.toString('base64')) },
    },
  ]
  const memory = memoryStore(items)
  const store = dying(memory.store, () => clock.ms / 1000)
  const audited: Record<string, unknown>[] = []
  const ports = {
    store,
    clock,
    entropy,
    memory: {},
    cipher: kmsCipher({ store, clock, entropy, kms }),
    audit: { write: async (entry: Record<string, unknown>) => void audited.push(entry) },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    keyHints: new Map(),
  } as unknown as Ports
  const send = sender(ports)
  return {
    ...memory,
    audited,
    clock,
    shares: await divide(recovery, division),
    show: () => send('GET', '/attempt'),
    start: (body?: unknown) => send('PUT', '/attempt', body),
    cancel: () => send('DELETE', '/attempt'),
    give: (nonce: string, share: Buffer | string) =>
      send('PUT', '/update', { nonce, key: typeof share === 'string' ? share : share.toString('hex') }),
    send,
    slot: () =>
      memory.stored.get(`${key('ceremony').pk}\n${key('ceremony').sk}`) as Item<'ceremony'> | undefined,
    tokens: () => [...memory.stored.values()].filter(item => item.kind === 'token'),
  }
}

/** A store whose items die. @param seconds the time */
function dying(store: Store, seconds: () => number): Store {
  const ends = new Map<string, number>()
  const nameOf = ({ pk, sk }: Key) => `${pk}\n${sk}`
  const dead = (one: Key) => (ends.get(nameOf(one)) ?? Number.POSITIVE_INFINITY) <= seconds()
  return {
    ...store,
    read: async keys => {
      const found: readonly (Item | undefined)[] = await store.read(keys as readonly Key[])
      return found.map((item, index) => (dead(keys[index] as Key) ? undefined : item)) as never
    },
    commit: async (changes: readonly Change[], as) => {
      for (const one of changes)
        if ('put' in one && dead(one.put)) await store.commit([{ delete: one.put, expected: 'any' }], as)
      const result = await store.commit(changes, as)
      for (const one of changes)
        if (result === 'done' && 'put' in one && one.times.expires)
          ends.set(nameOf(one.put), one.times.expires)
      return result
    },
  }
}

/** As command lines decode a token that was masked. */
export const unmasked = (encoded: string, otp: string): string => {
  const pad = Buffer.from(otp)
  return Buffer.from(Buffer.from(encoded, 'base64').map((byte, index) => byte ^ (pad[index] ?? 0))).toString()
}

/** Sends requests of a ceremony, and reads their answers. */
function sender(ports: Ports) {
  const served = serve(generateRootGroup, ports)
  return async (method: string, path: string, sent?: unknown): Promise<Told> => {
    const body = sent === undefined ? '' : JSON.stringify(sent)
    const { response } = await served({
      method,
      path: `/v1/sys/generate-root${path}`,
      query: [],
      headers: {},
      body,
      bodyLength: Buffer.byteLength(body),
      source: '192.0.2.1',
      domain: '',
      gatewayId: '',
      deadline: ports.clock.now() + 10_000,
    })
    return {
      status: response.status,
      retryAfter: response.headers['retry-after'],
      body: response.body === '' ? undefined : JSON.parse(response.body),
    }
  }
}
