import { sha256 } from '../values/secret.ts'
import type { EncryptedColumn, ReencryptionRule } from './encrypted-paths.ts'
import type { Guard } from './guards.ts'
import type { Stored } from './stored.ts'

export type Kind = keyof Stored

/** Where an item stands. Built in this file and nowhere else. */
export interface Key<K extends Kind = Kind> {
  readonly kind: K
  readonly pk: string
  readonly sk: string
}

/**
 * What a kind's items are removed with. `mount`: its items stand in a collection of the mount's own. `alias`: they lead
 * to an alias of a mount. `login`: each says which mount it came from, if any (`mount`). `token`: they stand beside a
 * token.
 */
type Taker = 'mount' | 'alias' | 'login' | 'token'

interface Spec {
  /**
   * `data` is what a DR secondary must have; `cluster` never leaves this cluster; of `ceremony` no copy is ever
   * made, neither by a stream nor by point-in-time recovery.
   */
  table: 'data' | 'cluster' | 'ceremony'
  /** which Merkle subtree an item belongs to; both are replicated */
  class: 'replicated' | 'local'
  /** the collection, of everybody or of one owner (a mount's accessor, say) */
  pk: string | ((owner: string) => string)
  /** the item, where a collection holds just one of the kind; otherwise its name */
  sk?: string
  /** what takes it along when it is removed; absent: nothing does */
  goesWith?: Taker
  /** 16 partitions by hash of the name, so that no partition's write limit binds the collection */
  spread?: true
  /**
   * `dies`: after `expires` the item counts as absent, whoever reads it.
   * `swept`: it stays in force until tidy removes it; `due` orders it in the index `expiry`.
   */
  expiry?: 'dies' | 'swept'
  /** stored with the format of this version; an item of another one is refused by name */
  format?: true
  /** attributes on whose presence the safety of a decision rests; an item that lacks one is refused by name */
  required?: readonly string[]
  /** stored as one JSON text, which is cheaper to read than a map of maps: for what every request reads */
  packed?: true
  /** an item may well be hundreds of kilobytes: of such kinds no two are read by one call that several requests share */
  large?: true
  /** a number of the data that stands beside them, so that whoever may count it down may change nothing else */
  counter?: string
  /** who may store one and who may delete one; absent: `write` */
  guard?: Exclude<Guard, 'write'>
  /** paths at which an `Encrypted` text stands, each with what becomes of it when another term encrypts */
  encrypted?: Readonly<Record<string, ReencryptionRule>>
}

/** What every cluster of a set has, in either subtree; and what never leaves this one. */
const REPLICATED = { table: 'data', class: 'replicated' } as const
const LOCAL = { table: 'data', class: 'local' } as const
const OWN = { table: 'cluster', class: 'local' } as const
/** Of these, what a cluster knows of the others of its set, and of its own part in it. */
const OF_LINK = { ...OWN, guard: 'link' } as const

/** One row per kind of item. Adding a kind is its line here and its type in `Stored`. */
export const kinds = {
  mounts: { ...REPLICATED, pk: 'mounts', sk: 'auth', packed: true, large: true },
  // written by every commit that writes the mounts, so that both have one revision
  'mounts-revision': { ...REPLICATED, pk: 'mounts-revision', sk: 'auth' },
  'client-config': {
    ...REPLICATED,
    pk: mount => `${mount}#config`,
    goesWith: 'mount',
    sk: 'client',
    encrypted: { secretKey: 'reencrypt', previousSecretKey: 'reencrypt' },
  },
  'identity-config': {
    ...REPLICATED,
    pk: mount => `${mount}#config`,
    goesWith: 'mount',
    sk: 'identity',
  },
  'tidy-settings': { ...REPLICATED, pk: mount => `${mount}#tidy`, goesWith: 'mount' },
  certificate: { ...REPLICATED, pk: mount => `${mount}#certificate`, goesWith: 'mount' },
  'sts-role': { ...REPLICATED, pk: mount => `${mount}#sts`, goesWith: 'mount' },
  role: {
    ...REPLICATED,
    pk: mount => `${mount}#role`,
    goesWith: 'mount',
    encrypted: { hmacKey: 'reencrypt' },
  },
  access: {
    ...LOCAL,
    pk: mount => `${mount}#access`,
    goesWith: 'mount',
    spread: true,
    expiry: 'swept',
    encrypted: { clientNonce: 'reencrypt' },
  },
  deny: {
    ...REPLICATED,
    pk: mount => `${mount}#deny`,
    goesWith: 'mount',
    spread: true,
    expiry: 'swept',
  },
  token: {
    ...LOCAL,
    pk: accessor => `token#${accessor}`,
    goesWith: 'login',
    sk: 'token',
    expiry: 'dies',
    counter: 'numUses',
    guard: 'mint',
  },
  child: { ...LOCAL, pk: parent => `token#${parent}`, goesWith: 'token', guard: 'mint' },
  'token-role': { ...REPLICATED, pk: 'token-role' },
  wrapped: {
    ...LOCAL,
    pk: accessor => `token#${accessor}`,
    goesWith: 'login',
    sk: 'wrapped',
    expiry: 'dies',
    large: true,
    guard: 'mint',
    encrypted: { response: 'reencrypt' },
  },
  policy: { ...REPLICATED, pk: 'policy', large: true },
  alias: {
    ...REPLICATED,
    pk: mount => `${mount}#alias`,
    goesWith: 'mount',
    spread: true,
  },
  entity: { ...REPLICATED, pk: 'entity', goesWith: 'alias', spread: true },
  'alias-id': { ...REPLICATED, pk: 'alias-id', goesWith: 'alias', spread: true },
  'recovery-key': {
    ...REPLICATED,
    pk: 'recovery',
    sk: 'key',
    required: ['verifier', 'shareHashes'],
    guard: 'recovery',
  },
  // by identity; written together with the keyring that has it
  term: {
    ...REPLICATED,
    pk: 'term',
    required: ['signers'],
    guard: 'key-factory',
    encrypted: { probe: 'own-term' },
  },
  // by UUID of the cluster
  holder: { ...REPLICATED, pk: 'holder', guard: 'holder' },
  cluster: {
    ...OWN,
    pk: 'cluster',
    sk: 'record',
    format: true,
    required: ['keyringEdition'],
    guard: 'record',
    encrypted: { 'link.ownKey': 'reencrypt' },
  },
  keyring: {
    ...OWN,
    pk: 'cluster',
    sk: 'keyring',
    required: ['edition', 'activeTerm', 'highestTerm', 'termIds'],
    guard: 'key-factory',
  },
  'tidy-run': { ...OWN, pk: mount => `${mount}#tidy`, goesWith: 'mount' },
  'tidy-stamp': { ...OWN, pk: mount => `${mount}#tidy-stamp`, goesWith: 'mount' },
  // by hash of the role's name and the body that could not be written yet
  'resolved-principals': {
    ...OWN,
    pk: mount => `${mount}#resolved`,
    goesWith: 'mount',
    expiry: 'dies',
    packed: true,
    large: true,
  },
  rotation: {
    ...REPLICATED,
    pk: mount => `${mount}#rotation`,
    goesWith: 'mount',
    sk: 'guard',
  },
  ceremony: {
    table: 'ceremony',
    class: 'local',
    pk: 'ceremony',
    sk: 'slot',
    expiry: 'dies',
    guard: 'ceremony',
    encrypted: { 'attempt.secrets': 'forget' },
  },
  // its own partition and guard: who makes tokens does not reach it
  rekey: {
    table: 'ceremony',
    class: 'local',
    pk: 'rekey',
    sk: 'slot',
    expiry: 'dies',
    guard: 'rekey',
    encrypted: { 'attempt.secrets': 'forget' },
  },
  // of the newest execution that waits for an attempt (`begin`), and of the newest that watches one (`watch`)
  watcher: {
    table: 'ceremony',
    class: 'local',
    pk: 'watcher',
    expiry: 'dies',
    guard: 'ceremony',
    encrypted: { token: 'forget' },
  },
  // alone in its partition: those who check it reach it, and not the secrets of an attempt
  'operation-token': {
    table: 'ceremony',
    class: 'local',
    pk: 'operation-token',
    sk: 'token',
    guard: 'operation-token',
  },
  secondary: { ...OF_LINK, pk: 'secondary', required: ['epoch'] },
  member: { ...OF_LINK, pk: 'member' },
  fences: { ...OF_LINK, pk: 'link', sk: 'fences' },
  'token-key': { ...OF_LINK, pk: 'link', sk: 'token-key', encrypted: { key: 'renew' } },
  'pending-key': { ...OF_LINK, pk: 'link', sk: 'pending-key', encrypted: { pair: 'renew' } },
  contact: { ...OF_LINK, pk: 'link', sk: 'contact' },
  operation: { ...OF_LINK, pk: 'operation', encrypted: { 'activation.token': 'forget' } },
  // the newest execution of each workflow that waits to be adopted
  waiting: { ...OF_LINK, pk: 'waiting', encrypted: { token: 'forget' } },
  promoted: { ...OF_LINK, pk: 'link', sk: 'promoted' },
  drill: { ...OF_LINK, pk: 'link', sk: 'drill' },
  // written together with what it tells, and deleted once it has been told
  'role-event': { ...OF_LINK, pk: 'role-event' },
  // its own key is encrypted for the place in the cluster record where it will stand
  'pending-link': { ...OF_LINK, pk: 'link', sk: 'pending-link', encrypted: { ownKey: 'forget' } },
  // what a secondary keeps of its own following: how far a sync is, what one took away, who is at it
  segment: { ...OWN, pk: 'sync', guard: 'apply' },
  report: { ...OWN, pk: 'report', packed: true, large: true, guard: 'apply' },
  puller: { ...OWN, pk: 'puller', sk: 'run', guard: 'apply' },
  diverging: { ...OWN, pk: 'puller', sk: 'diverging', guard: 'apply' },
  readiness: { ...OWN, pk: 'puller', sk: 'readiness', guard: 'apply' },
  fault: { ...OWN, pk: 'fault', guard: 'fault' },
  recovery: { ...OWN, pk: 'link', sk: 'recovery', guard: 'link' },
  notice: { ...OWN, pk: 'link', sk: 'notice', guard: 'link' },
  reindex: { ...OWN, pk: 'reindex', sk: 'progress' },
  reencryption: { ...OWN, pk: 'reencryption', sk: 'progress', guard: 'key-factory' },
  'tree-check': { ...OWN, pk: 'tree', sk: 'check', packed: true, large: true, guard: 'link' },
  'tree-reindex': { ...OWN, pk: 'tree', sk: 'reindex', packed: true, large: true, guard: 'link' },
} as const satisfies {
  [K in Kind]: Spec & EncryptedColumn<Stored[K]> & { required?: readonly (keyof Stored[K])[] }
}

type Owner<K extends Kind> = (typeof kinds)[K]['pk'] extends string ? [] : [owner: string]
type Name<K extends Kind> = (typeof kinds)[K] extends { sk: string } ? [] : [name: string]

const SHARDS = 16
const HEX = 16

/** Whether a text names a kind: what stands in a table may have been put there by hand. */
export const isKind = (text: string | undefined): text is Kind =>
  text !== undefined && Object.hasOwn(kinds, text)

/** The row of a kind, with its optional columns. */
export const specOf = (kind: Kind): Spec => kinds[kind]

/** The kinds of what goes with something. */
export type KindGoingWith<T extends Taker> = {
  [K in Kind]: (typeof kinds)[K] extends { goesWith: T } ? K : never
}[Kind]

export const kindsGoingWith = <T extends Taker>(taker: T): KindGoingWith<T>[] =>
  (Object.keys(kinds) as KindGoingWith<T>[]).filter(kind => specOf(kind).goesWith === taker)

/** The key of an item: what the collection needs (its owner, if it has owners), then the item's name. */
export function key<K extends Kind>(kind: K, ...parts: [...Owner<K>, ...Name<K>]): Key<K> {
  const { pk, sk, spread } = specOf(kind)
  const names: string[] = [...parts]
  const collection = typeof pk === 'string' ? pk : pk(names.shift() ?? '')
  const name = sk ?? names.shift() ?? ''
  return { kind, pk: spread ? `${collection}#${shardOf(name)}` : collection, sk: name }
}

/** The partitions that hold a collection: one, or sixteen. */
export interface Partitions<K extends Kind = Kind> {
  readonly kind: K
  readonly pks: readonly string[]
}

/** Where all items of a kind (of one owner) stand. */
export function partitions<K extends Kind>(kind: K, ...owner: Owner<K>): Partitions<K> {
  const { pk, spread } = specOf(kind)
  const collection = typeof pk === 'string' ? pk : pk(owner[0] ?? '')
  return { kind, pks: spread ? shards.map(shard => `${collection}#${shard}`) : [collection] }
}

const shards = Array.from({ length: SHARDS }, (_, index) => index.toString(HEX))
const shardOf = (name: string): string => ((sha256(name)[0] ?? 0) % SHARDS).toString(HEX)

/** What a journal needs to know of an item that was read; nobody else looks into it. */
export interface InTree {
  readonly leaf: string
  readonly bucket: string
  readonly ttl?: number
  readonly due?: number
  /** of the commit that wrote it last: `<epoch>/<12 digits>` */
  readonly pos?: string
}

/** An item as the domain sees it. */
export type Item<K extends Kind = Kind> = {
  [P in K]: Key<P> & {
    /** changes with every write: what an optimistic write compares */
    readonly rev: string
    readonly data: Readonly<Stored[P]>
    /** epoch seconds at which an item that dies counts as absent */
    readonly expires?: number
    /** carried from reading to writing while a journal is kept; without it, writing costs one more read */
    readonly inTree?: InTree
  }
}[K]
