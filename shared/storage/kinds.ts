import { sha256 } from '../values/secret.ts'
import type { EncryptedColumn, ReencryptionRule } from './encrypted-paths.ts'
import type { TableGuard } from './guards.ts'
import type { StoredDataByKind } from './stored.ts'

export type Kind = keyof StoredDataByKind

/** The key of an item with its kind. Only this file builds keys of items. */
export interface Key<K extends Kind = Kind> {
  readonly kind: K
  readonly pk: string
  readonly sk: string
}

/**
 * The owner with which items of a kind are removed. `mount`: items of this kind are in a collection of the mount.
 * `alias`: items of this kind lead to an alias of a mount. `login`: each item names the mount that its login came
 * from, if any (`mount`). `token`: items of this kind are in the partition of a token.
 */
type Taker = 'mount' | 'alias' | 'login' | 'token'

interface Spec {
  /**
   * The table of the kind. `data` is the table that a DR secondary must have. `cluster` is a table that never
   * leaves this cluster. `ceremony` is a table that is never copied, neither by a stream nor by point-in-time
   * recovery.
   */
  table: 'data' | 'cluster' | 'ceremony'
  /** the Merkle subtree of the kind; both subtrees are replicated */
  class: 'replicated' | 'local'
  /** the collection: one for all, or one for each owner (for example for each mount's accessor) */
  pk: string | ((owner: string) => string)
  /** the sort key of a collection's only item; absent: the item's name */
  sk?: string
  /** `goesWith` is the owner with which items of this kind are removed; absent: no owner */
  goesWith?: Taker
  /**
   * `spread`: the collection has 16 partitions by hash of the name, so that the write limit of one partition does
   * not limit the collection
   */
  spread?: true
  /**
   * `dies`: after `expires` the item counts as absent for every reader. `swept`: the item stays in force until tidy
   * removes it; `due` orders it in the index `expiry`.
   */
  expiry?: 'dies' | 'swept'
  /** `format`: the item is stored with the format of this version; an item with another format is refused by name */
  format?: true
  /**
   * `required`: attributes that the safety of a decision depends on; an item that lacks such an attribute is
   * refused by name
   */
  required?: readonly string[]
  /**
   * `packed`: the item is stored as one JSON text, which is cheaper to read than nested maps; for items that every
   * request reads
   */
  packed?: true
  /**
   * `large`: an item may have hundreds of kilobytes, so a read that several requests share contains at most one
   * such kind
   */
  large?: true
  /**
   * `counter` is a number that is stored outside `data`, so that a function may be allowed to count it down and
   * change nothing else
   */
  counter?: string
  /** the uses that may store and delete items; absent: `write` */
  guard?: Exclude<TableGuard, 'write'>
  /** paths of the encrypted fields, each with its rule for re-encryption */
  encrypted?: Readonly<Record<string, ReencryptionRule>>
}

/**
 * `REPLICATED` and `LOCAL` are the subtrees that every cluster of a set has. Items of `OWN` never leave this
 * cluster.
 */
const REPLICATED = { table: 'data', class: 'replicated' } as const
const LOCAL = { table: 'data', class: 'local' } as const
const OWN = { table: 'cluster', class: 'local' } as const
/** This cluster's knowledge of other members of its set, and of its own membership. */
const OF_LINK = { ...OWN, guard: 'link' } as const

/** A mount's configuration, in one collection. */
const OF_CONFIG = { ...REPLICATED, pk: (mount: string) => `${mount}#config`, goesWith: 'mount' } as const

/** The kinds of items, one row for each. A new kind needs a row here and its type in `StoredDataByKind`. */
export const itemKinds = {
  mounts: { ...REPLICATED, pk: 'mounts', sk: 'auth', packed: true, large: true },
  // Every commit that writes the mounts writes this item too, so both have one revision.
  'mounts-revision': { ...REPLICATED, pk: 'mounts-revision', sk: 'auth' },
  'client-config': {
    ...OF_CONFIG,
    sk: 'client',
    encrypted: { secretKey: 'reencrypt', previousSecretKey: 'reencrypt' },
  },
  'identity-config': {
    ...OF_CONFIG,
    sk: 'identity',
  },
  'tidy-settings': { ...REPLICATED, pk: mount => `${mount}#tidy`, goesWith: 'mount' },
  certificate: { ...REPLICATED, pk: mount => `${mount}#certificate`, goesWith: 'mount' },
  'jwt-config': { ...OF_CONFIG, sk: 'jwt' },
  'organization-config': {
    ...OF_CONFIG,
    sk: 'organization',
  },
  'organization-map': {
    ...OF_CONFIG,
    sk: 'organization-map',
  },
  // The name is the account.
  'organization-account': {
    ...REPLICATED,
    pk: mount => `${mount}#organization`,
    goesWith: 'mount',
    spread: true,
  },
  // The name is the UUID of the issuer.
  issuer: { ...REPLICATED, pk: mount => `${mount}#issuer`, goesWith: 'mount', spread: true },
  // The name is the account for which the issuer speaks.
  'account-issuer': { ...REPLICATED, pk: mount => `${mount}#account`, goesWith: 'mount', spread: true },
  // The name is a hash of a token that has logged in.
  spent: { ...LOCAL, pk: mount => `${mount}#spent`, goesWith: 'mount', spread: true, expiry: 'dies' },
  // The name consists of the instance's account and ID. Tokens that end with the instance need this item.
  instance: {
    ...LOCAL,
    pk: mount => `${mount}#instance`,
    goesWith: 'mount',
    spread: true,
    expiry: 'dies',
    guard: 'ending',
  },
  'sts-role': { ...REPLICATED, pk: mount => `${mount}#sts`, goesWith: 'mount' },
  role: {
    ...REPLICATED,
    pk: mount => `${mount}#role`,
    goesWith: 'mount',
    encrypted: { hmacKey: 'reencrypt' },
  },
  'role-use': { ...LOCAL, pk: mount => `${mount}#use`, goesWith: 'mount' },
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
  // The item's name is the identity of the term. The term's item is written together with the keyring that has the
  // term.
  term: {
    ...REPLICATED,
    pk: 'term',
    required: ['signers'],
    guard: 'key-factory',
    encrypted: { probe: 'own-term' },
  },
  // The name is the UUID of the cluster.
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
  // The item's name is a hash of the role's name and of the body that could not be written yet.
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
  // The slot of a rekeying has its own partition and guard, so that the function that makes tokens cannot reach it.
  rekey: {
    table: 'ceremony',
    class: 'local',
    pk: 'rekey',
    sk: 'slot',
    expiry: 'dies',
    guard: 'rekey',
    encrypted: { 'attempt.secrets': 'forget' },
  },
  // The newest execution that waits for an attempt (`begin`), and the newest execution that watches an attempt
  // (`watch`).
  watcher: {
    table: 'ceremony',
    class: 'local',
    pk: 'watcher',
    expiry: 'dies',
    guard: 'ceremony',
    encrypted: { token: 'forget' },
  },
  // The operation token is alone in its partition, so that functions that check it cannot reach the secrets of an
  // attempt.
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
  // The newest execution of each workflow that waits for its request.
  waiting: { ...OF_LINK, pk: 'waiting', encrypted: { token: 'forget' } },
  promoted: { ...OF_LINK, pk: 'link', sk: 'promoted' },
  drill: { ...OF_LINK, pk: 'link', sk: 'drill' },
  // Written together with the role change, and deleted after the event was sent.
  'role-event': { ...OF_LINK, pk: 'role-event' },
  // `ownKey` of a pending link is encrypted for the cluster record, where it will be stored.
  'pending-link': { ...OF_LINK, pk: 'link', sk: 'pending-link', encrypted: { ownKey: 'forget' } },
  // A secondary's own state of following: the progress of a sync, the items that a sync took away, and the run that
  // holds the lease.
  segment: { ...OWN, pk: 'sync', guard: 'apply' },
  report: { ...OWN, pk: 'report', packed: true, large: true, guard: 'apply' },
  puller: { ...OWN, pk: 'puller', sk: 'run', guard: 'apply' },
  diverging: { ...OWN, pk: 'puller', sk: 'diverging', guard: 'apply' },
  readiness: { ...OWN, pk: 'puller', sk: 'readiness', guard: 'apply' },
  fault: { ...OWN, pk: 'fault', guard: 'fault' },
  recovery: { ...OWN, pk: 'link', sk: 'recovery', guard: 'link' },
  notice: { ...OWN, pk: 'link', sk: 'notice', guard: 'link' },
  'instance-round': { ...OWN, pk: 'instance-round', sk: 'progress', guard: 'ending' },
  reindex: { ...OWN, pk: 'reindex', sk: 'progress' },
  reencryption: { ...OWN, pk: 'reencryption', sk: 'progress', guard: 'key-factory' },
  'tree-check': { ...OWN, pk: 'tree', sk: 'check', packed: true, large: true, guard: 'link' },
  'tree-reindex': { ...OWN, pk: 'tree', sk: 'reindex', packed: true, large: true, guard: 'link' },
} as const satisfies {
  [K in Kind]: Spec &
    EncryptedColumn<StoredDataByKind[K]> & { required?: readonly (keyof StoredDataByKind[K])[] }
}

type Owner<K extends Kind> = (typeof itemKinds)[K]['pk'] extends string ? [] : [owner: string]
type Name<K extends Kind> = (typeof itemKinds)[K] extends { sk: string } ? [] : [name: string]

const SHARDS = 16
const HEX = 16

/** Reports whether a text names a kind. Someone may have written to the table by hand. */
export const isItemKind = (text: string | undefined): text is Kind =>
  text !== undefined && Object.hasOwn(itemKinds, text)

/** Returns the row of a kind, with its optional columns. */
export const itemKindSpec = (kind: Kind): Spec => itemKinds[kind]

/** The kinds that are removed with an owner. */
export type KindDeletedWith<T extends Taker> = {
  [K in Kind]: (typeof itemKinds)[K] extends { goesWith: T } ? K : never
}[Kind]

export const kindsDeletedWith = <T extends Taker>(taker: T): KindDeletedWith<T>[] =>
  (Object.keys(itemKinds) as KindDeletedWith<T>[]).filter(kind => itemKindSpec(kind).goesWith === taker)

/** Returns the key of an item from its owner, if the kind has owners, and its name. */
export function key<K extends Kind>(kind: K, ...parts: [...Owner<K>, ...Name<K>]): Key<K> {
  const { pk, sk, spread } = itemKindSpec(kind)
  const names: string[] = [...parts]
  const collection = typeof pk === 'string' ? pk : pk(names.shift() ?? '')
  const name = sk ?? names.shift() ?? ''
  return { kind, pk: spread ? `${collection}#${shardOf(name)}` : collection, sk: name }
}

/** The partitions of a collection: one, or sixteen. */
export interface ItemPartitions<K extends Kind = Kind> {
  readonly kind: K
  readonly pks: readonly string[]
}

/** Returns the partitions of all items of a kind (and of one owner). */
export function itemPartitions<K extends Kind>(kind: K, ...owner: Owner<K>): ItemPartitions<K> {
  const { pk, spread } = itemKindSpec(kind)
  const collection = typeof pk === 'string' ? pk : pk(owner[0] ?? '')
  return { kind, pks: spread ? shards.map(shard => `${collection}#${shard}`) : [collection] }
}

const shards = Array.from({ length: SHARDS }, (_, index) => index.toString(HEX))
const shardOf = (name: string): string => ((sha256(name)[0] ?? 0) % SHARDS).toString(HEX)

/** Attributes of an item that was read, which the journal needs. Only the journal uses these attributes. */
export interface TreeMembership {
  readonly leaf: string
  readonly bucket: string
  readonly ttl?: number
  readonly due?: number
  /** `pos` is the position of the commit that wrote the item last: `<epoch>/<12 digits>` */
  readonly pos?: string
}

/** An item in the form in which handlers see it. */
export type Item<K extends Kind = Kind> = {
  [P in K]: Key<P> & {
    /** `rev` changes with every write; optimistic writes compare it */
    readonly rev: string
    readonly data: Readonly<StoredDataByKind[P]>
    /** epoch seconds; an item that dies counts as absent from then on */
    readonly expires?: number
    /** `inTree` is passed from reading to writing while a journal is kept; without it, a write costs one more read */
    readonly inTree?: TreeMembership
  }
}[K]
