import { randomBytes, randomUUID } from 'node:crypto'
import { findDenseFrontier } from '../../../../shared/journal/density.ts'
import { lastEndedGeneration } from '../../../../shared/journal/generation.ts'
import { createFirstHead, type JournalHead } from '../../../../shared/journal/head.ts'
import type { Journal } from '../../../../shared/journal/journal.ts'
import type { JournalEntry } from '../../../../shared/journal/journal-entry.ts'
import { epochAt, formatEpoch, positionText } from '../../../../shared/journal/position.ts'
import { TREE_SUBTREES, treeRootsPk } from '../../../../shared/journal/refresh.ts'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import { readActivationClaims } from '../../../../shared/link/activation-token.ts'
import { activationTokenItemKeys, makeActivationToken } from '../../../../shared/link/admin/activation.ts'
import { encryptOwnLinkKey } from '../../../../shared/link/admin/keys.ts'
import { makeRevocationChanges } from '../../../../shared/link/admin/secondaries.ts'
import { generateLinkKeyPairs, linkPublicKeysOf, parseLinkKeyPairs } from '../../../../shared/link/pair.ts'
import { createLinkService } from '../../../../shared/link/serve/service.ts'
import { createSourceLink } from '../../../../shared/link/source-link.ts'
import { type ClusterRecord, createEmptyLink } from '../../../../shared/model/cluster.ts'
import type { ItemStore } from '../../../../shared/ports.ts'
import { openSealedBox, sealBoxForKey } from '../../../../shared/storage/box.ts'
import type { Change } from '../../../../shared/storage/changes.ts'
import { itemPartitions, type Key, key } from '../../../../shared/storage/kinds.ts'
import { type EncryptedText, Secret } from '../../../../shared/values/secret.ts'
import type { CarryLinkCall } from '../../../../shared/wire/carry.ts'
import { portsWith } from '../../../builders/ports.ts'
import { movedBy } from '../../../support/tables/heads.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

export const START = 1_800_000_000_000
export const ADDRESS = 'https://primary.example'

/** Makes a journal in memory with the methods that the link uses. */
function memoryJournal(first: JournalHead) {
  let head = first
  const all = new Map<number, JournalEntry>()
  const journal: Pick<
    Journal,
    'head' | 'moveHead' | 'allocate' | 'entries' | 'putEntry' | 'readRaw' | 'scan' | 'page' | 'pageHashes'
  > = {
    head: async () => head,
    moveHead: async move => {
      const moved = movedBy(head, move)
      if (moved !== 'refused') head = moved
      return moved
    },
    allocate: async epoch => {
      const moved = movedBy(head, headMoves.allocate({ epoch }))
      if (moved === 'refused') return moved
      head = moved
      return { seq: head.last, incarnation: head.incarnation }
    },
    entries: async (_, after, to) =>
      Array.from({ length: to - after }, (_one, index) => all.get(after + 1 + index)),
    putEntry: async entry => {
      const there = all.get(entry.seq)
      if (there && there.id !== entry.id) return there
      all.set(entry.seq, entry)
      return 'done'
    },
    readRaw: async places => places.map(({ kind, pk, sk }) => ({ kind, pk, sk, rev: 'r', data: { of: sk } })),
    scan: async ({ index, of, from }) =>
      from
        ? { items: [{ kind: 'policy', pk: 'policy', sk: `second of ${index}/${of}`, rev: 'r', data: {} }] }
        : {
            items: [{ kind: 'policy', pk: 'policy', sk: `first of ${index}/${of}`, rev: 'r', data: {} }],
            next: { pk: 'policy', sk: 'a' },
          },
    page: async () => new Map([['0a', { sums: new Map([['p', [1n, 2n, 3n] as const]]) }]]),
    pageHashes: async pk => {
      if (pk !== treeRootsPk('a life')) return new Map([['00', { hash: `hash in ${pk}`, asOf: '' }]])
      // stores both roots as current
      const seq = await findDenseFrontier(journal as Journal, head)
      const asOf = positionText({ epoch: epochAt(head.lineage, seq) || head.epoch, seq })
      return new Map(
        TREE_SUBTREES.map(of => [of, { hash: '', asOf, gen: lastEndedGeneration(START / 1000) }]),
      )
    },
  }
  return {
    journal: journal as Journal,
    entries: all,
    set: (change: Partial<JournalHead>) => {
      head = { ...head, ...change }
    },
    head: () => head,
  }
}

/** Makes a cipher that adds the item's place to the text, and decrypts a text only at the same place. */
function placeCipher(keyring: string) {
  const placed = ({ pk, sk }: Key, field: string) => `${pk}|${sk}|${field}|`
  return {
    expectKeyring: () => undefined,
    encrypt: async (place: Key, field: string, text: string) => (placed(place, field) + text) as never,
    decrypt: async (place: Key, field: string, text: string) => {
      if (!text.startsWith(placed(place, field))) throw new Error('encrypted for another place')
      return new Secret(text.slice(placed(place, field).length))
    },
    exportTo: async (recipient: Uint8Array, set: string) => ({
      keyring: sealBoxForKey(recipient, { purpose: 'keyring', set }, keyring, randomBytes),
      term: 1,
    }),
  }
}

const recordOfPrimary = (ownKey: EncryptedText): Omit<ClusterRecord, 'id'> => ({
  name: 'east',
  mode: 'primary',
  keyring: 'k',
  term: 1,
  keyringEdition: 1,
  initialisedAt: START,
  treeComplete: true,
  treeId: 'a life',
  clusterAddr: ADDRESS,
  link: createEmptyLink(ownKey),
})

/** Returns the token with another signature. */
export const guessed = (token: string): string => token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A')

export type World = Awaited<ReturnType<typeof primaryWorld>>

/** Makes a primary in memory with its link service and its own clock. */
export async function primaryWorld(more: Partial<ClusterRecord> = {}) {
  const clock = { ms: START }
  const { store, stored, commits, as } = memoryStore()
  const [own, cipher] = [parseLinkKeyPairs(generateLinkKeyPairs(randomBytes)), placeCipher('the keys')]
  const [set, id] = [randomUUID(), randomUUID()]
  const epoch = formatEpoch(1, id)
  const memory = memoryJournal(createFirstHead(epoch, 1))
  const pairText = generateLinkKeyPairs(randomBytes)
  const ownKey = await encryptOwnLinkKey(pairText, cipher as never)
  const record: ClusterRecord = { ...recordOfPrimary(ownKey), id, set, epoch, ...more }
  const write = (place: Key, data: unknown) =>
    store.commit([{ kind: 'put', key: place, data, expected: 'any', times: {} } as Change])
  await write(key('cluster'), record)
  await write(key('recovery-key'), { shares: 5, threshold: 3, verifier: 'v', shareHashes: [] })
  const { ports, ...seen } = portsAround(clock, { store: as('link'), cipher, journal: memory.journal })
  const pair = parseLinkKeyPairs(pairText)
  const world = {
    clock,
    store,
    stored,
    record,
    set,
    own,
    commits,
    memory,
    epoch,
    write,
    pair,
    ports,
    ...seen,
  }
  return {
    ...world,
    serve: createLinkService(ports),
    keys: linkPublicKeysOf(pair),
    /** makes an activation token as the endpoint does */
    token: async (
      name: string,
      { ttl = 1_800_000, publicKey = undefined as string | undefined, epoch: of = epoch } = {},
    ) => {
      const [secondary, tokenKey] = await store.read(activationTokenItemKeys(name))
      const wanted = { id: name, set, address: ADDRESS, ttl, epoch: of, now: clock.ms }
      const made = await makeActivationToken(
        publicKey ? { ...wanted, publicKey } : wanted,
        { secondary, tokenKey },
        pair,
        { cipher: cipher as never, entropy: { bytes: randomBytes, uuid: randomUUID } },
      )
      await store.commit(made.changes)
      return made.token.reveal()
    },
    revoke: async (name: string) => store.commit(await revoking(store, name, { now: clock.ms, epoch })),
    secondary: async (name: string) => (await store.read([key('secondary', name)]))[0]?.data,
  }
}

/** Returns the ports of the link, and records the values that they received. */
function portsAround(clock: { ms: number }, own: object) {
  const log: unknown[] = []
  const audited: object[] = []
  const woken: string[] = []
  const noted = (...given: unknown[]) => void log.push(given)
  const ports = portsWith({
    ...own,
    clock: { now: () => clock.ms, sleep: async () => undefined },
    deployment: { apiAddress: '', plainEndpoints: false },
    memory: {},
    puller: { wake: async () => void woken.push('woken') },
    audit: { write: async (entry: object) => void audited.push(entry) },
    log: { info: noted, warn: noted, error: noted },
  })
  return { ports, log, audited, woken }
}

/** Returns the changes that revoke a secondary. */
const revoking = async (
  store: Pick<ItemStore, 'list'>,
  name: string,
  { now, epoch }: { now: number; epoch: string },
) => {
  const [secondaries, holders] = [
    await store.list(itemPartitions('secondary')),
    await store.list(itemPartitions('holder')),
  ]
  const admission = secondaries.find(({ data }) => data.id === name && data.revokedAt === undefined)
  const cluster = admission ? admission.data.cluster : name
  return makeRevocationChanges(
    { admission, cluster, name },
    { secondaries, holders },
    { at: now, as: { epoch } },
  )
}

/** Makes a cluster that wants to follow a primary, with its keys and its clock. */
export function follower(
  world: World,
  name: string,
  { ahead = 0, carry = undefined as CarryLinkCall | undefined } = {},
) {
  const pair = parseLinkKeyPairs(generateLinkKeyPairs(randomBytes))
  const keys = linkPublicKeysOf(pair)
  const cluster = randomUUID()
  const direct: CarryLinkCall = (method, call) => world.serve(method, call, '')
  const now = () => world.clock.ms + ahead
  const sourceAs = (set: string, otherKey: Uint8Array) =>
    createSourceLink(
      { set, from: name, signing: pair.signing, keys, otherKey },
      {
        carry: carry ?? direct,
        clock: { now },
        entropy: { bytes: randomBytes },
        rules: world.ports.deployment,
      },
    )
  const source = sourceAs(world.set, world.keys.signing)
  const request = { cluster, address: `https://${name}.example`, version: '1' }
  return {
    pair,
    keys,
    cluster,
    source,
    sourceAs,
    request,
    activate: (token: string) => source.activate({ ...request, token }),
    /** set, name and key from the token */
    activateBy: (token: string) => {
      const claims = readActivationClaims(token)
      if (!claims) throw new Error('no token')
      return sourceAs(claims.set, Buffer.from(claims.primaryKey, 'base64url')).activate({ ...request, token })
    },
    heartbeat: (seq = 0, maxEpoch = 0) =>
      source.heartbeat({
        maxEpoch,
        position: { epoch: world.epoch, seq },
        state: 'stream-wals',
        address: request.address,
        apiAddress: '',
      }),
    opened: (keyring: string) =>
      openSealedBox(pair.exchange, { purpose: 'keyring', set: world.set }, keyring),
  }
}
