import type { AccessEntry } from '../model/access-entry.ts'
import type { Alias, Pointer } from '../model/alias.ts'
import type { OperationToken, Slot, Watcher } from '../model/ceremony.ts'
import type { ClusterRecord, Keyring, RecoveryKey } from '../model/cluster.ts'
import type { Certificate, ClientConfig, IdentityConfig, StsRole } from '../model/config.ts'
import type { DenyEntry } from '../model/deny-entry.ts'
import type {
  Fences,
  Member,
  PendingKey,
  PrimaryContact,
  Revoked,
  Secondary,
  TokenKey,
} from '../model/link.ts'
import type { MountTable } from '../model/mount.ts'
import type {
  OperationState,
  PendingLink,
  Promoted,
  RoleEvent,
  WaitingExecution,
} from '../model/operation.ts'
import type { StoredPolicy } from '../model/policy.ts'
import type { Reindex } from '../model/reindex.ts'
import type { Role } from '../model/role.ts'
import type { Rotation } from '../model/rotation.ts'
import type { Puller, Report, SyncSegment } from '../model/secondary.ts'
import type { TidyRun, TidySettings, TidyStamp } from '../model/tidy.ts'
import type { Token } from '../model/token.ts'
import type { TokenRole } from '../model/token-role.ts'
import type { Wrapped } from '../model/wrapped.ts'
import { sha256 } from '../values/secret.ts'

/** What each kind of item holds. */
export interface Stored {
  mounts: MountTable
  'mounts-revision': Record<never, never>
  'client-config': ClientConfig
  'identity-config': IdentityConfig
  'tidy-settings': TidySettings
  'tidy-run': TidyRun
  'tidy-stamp': TidyStamp
  rotation: Rotation
  certificate: Certificate
  'sts-role': StsRole
  role: Role
  access: AccessEntry
  deny: DenyEntry
  token: Token
  child: Record<never, never>
  'token-role': TokenRole
  wrapped: Wrapped
  policy: StoredPolicy
  alias: Alias
  entity: Pointer
  'alias-id': Pointer
  cluster: ClusterRecord
  keyring: Keyring
  'recovery-key': RecoveryKey
  ceremony: Slot
  'operation-token': OperationToken
  watcher: Watcher
  secondary: Secondary
  revoked: Revoked
  member: Member
  fences: Fences
  'token-key': TokenKey
  'pending-key': PendingKey
  contact: PrimaryContact
  operation: OperationState
  waiting: WaitingExecution
  'pending-link': PendingLink
  promoted: Promoted
  'role-event': RoleEvent
  segment: SyncSegment
  report: Report
  puller: Puller
  reindex: Reindex
}

export type Kind = keyof Stored

/** Where an item stands. Built in this file and nowhere else. */
export interface Key<K extends Kind = Kind> {
  readonly kind: K
  readonly pk: string
  readonly sk: string
}

/**
 * `mount`: its items stand in a collection of the mount's own. `alias`: they lead to an alias of a mount. `login`:
 * each says which mount it came from, if any (`mount`). `token`: they stand beside a token.
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
  /** stored as one JSON text, which is cheaper to read than a map of maps: for what every request reads */
  packed?: true
  /** a number of the data that stands beside them, so that whoever may count it down may change nothing else */
  counter?: string
  /** the use that storing one needs instead of `write`; but for `mint`, nobody deletes one either */
  guard?: 'mint' | 'genesis' | 'ceremony' | 'link' | 'apply'
  /** the use that deleting one needs, where storing one needs another */
  voids?: 'operation-token'
  /** fields that hold an `Encrypted` text */
  encrypted?: readonly string[]
}

/** One row per kind of item. Adding a kind is its line here and its type in `Stored`. */
export const kinds = {
  mounts: { table: 'data', class: 'replicated', pk: 'mounts', sk: 'auth', packed: true },
  // written by every commit that writes the mounts, so that both have one revision
  'mounts-revision': { table: 'data', class: 'replicated', pk: 'mounts-revision', sk: 'auth' },
  'client-config': {
    table: 'data',
    class: 'replicated',
    pk: mount => `${mount}#config`,
    goesWith: 'mount',
    sk: 'client',
    encrypted: ['secretKey', 'previousSecretKey'],
  },
  'identity-config': {
    table: 'data',
    class: 'replicated',
    pk: mount => `${mount}#config`,
    goesWith: 'mount',
    sk: 'identity',
  },
  'tidy-settings': { table: 'data', class: 'replicated', pk: mount => `${mount}#tidy`, goesWith: 'mount' },
  certificate: { table: 'data', class: 'replicated', pk: mount => `${mount}#certificate`, goesWith: 'mount' },
  'sts-role': { table: 'data', class: 'replicated', pk: mount => `${mount}#sts`, goesWith: 'mount' },
  role: {
    table: 'data',
    class: 'replicated',
    pk: mount => `${mount}#role`,
    goesWith: 'mount',
    encrypted: ['hmacKey'],
  },
  access: {
    table: 'data',
    class: 'local',
    pk: mount => `${mount}#access`,
    goesWith: 'mount',
    spread: true,
    expiry: 'swept',
    encrypted: ['clientNonce'],
  },
  deny: {
    table: 'data',
    class: 'replicated',
    pk: mount => `${mount}#deny`,
    goesWith: 'mount',
    spread: true,
    expiry: 'swept',
  },
  token: {
    table: 'data',
    class: 'local',
    pk: accessor => `token#${accessor}`,
    goesWith: 'login',
    sk: 'token',
    expiry: 'dies',
    counter: 'numUses',
    guard: 'mint',
  },
  child: { table: 'data', class: 'local', pk: parent => `token#${parent}`, goesWith: 'token', guard: 'mint' },
  'token-role': { table: 'data', class: 'replicated', pk: 'token-role' },
  wrapped: {
    table: 'data',
    class: 'local',
    pk: accessor => `token#${accessor}`,
    goesWith: 'login',
    sk: 'wrapped',
    expiry: 'dies',
    guard: 'mint',
    encrypted: ['response'],
  },
  policy: { table: 'data', class: 'replicated', pk: 'policy' },
  alias: {
    table: 'data',
    class: 'replicated',
    pk: mount => `${mount}#alias`,
    goesWith: 'mount',
    spread: true,
  },
  entity: { table: 'data', class: 'replicated', pk: 'entity', goesWith: 'alias', spread: true },
  'alias-id': { table: 'data', class: 'replicated', pk: 'alias-id', goesWith: 'alias', spread: true },
  'recovery-key': {
    table: 'data',
    class: 'replicated',
    pk: 'recovery',
    sk: 'key',
    guard: 'genesis',
    encrypted: ['key'],
  },
  cluster: { table: 'cluster', class: 'local', pk: 'cluster', sk: 'record', guard: 'genesis' },
  keyring: { table: 'cluster', class: 'local', pk: 'cluster', sk: 'keyring', guard: 'genesis' },
  'tidy-run': { table: 'cluster', class: 'local', pk: mount => `${mount}#tidy`, goesWith: 'mount' },
  'tidy-stamp': { table: 'cluster', class: 'local', pk: mount => `${mount}#tidy-stamp`, goesWith: 'mount' },
  rotation: {
    table: 'data',
    class: 'replicated',
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
    encrypted: ['secrets'],
  },
  // of the newest execution that waits for an attempt (`begin`), and of the newest that watches one (`watch`)
  watcher: {
    table: 'ceremony',
    class: 'local',
    pk: 'watcher',
    expiry: 'dies',
    guard: 'ceremony',
    encrypted: ['token'],
  },
  // alone in its partition: those who check it reach it, and not the secrets of an attempt
  'operation-token': {
    table: 'ceremony',
    class: 'local',
    pk: 'operation-token',
    sk: 'token',
    guard: 'ceremony',
    voids: 'operation-token',
  },
  secondary: { table: 'cluster', class: 'local', pk: 'secondary', guard: 'link' },
  revoked: { table: 'cluster', class: 'local', pk: 'revoked', guard: 'link' },
  member: { table: 'cluster', class: 'local', pk: 'member', guard: 'link' },
  fences: { table: 'cluster', class: 'local', pk: 'link', sk: 'fences', guard: 'link' },
  'token-key': {
    table: 'cluster',
    class: 'local',
    pk: 'link',
    sk: 'token-key',
    guard: 'link',
    encrypted: ['key'],
  },
  'pending-key': {
    table: 'cluster',
    class: 'local',
    pk: 'link',
    sk: 'pending-key',
    guard: 'link',
    encrypted: ['pair'],
  },
  contact: { table: 'cluster', class: 'local', pk: 'link', sk: 'contact', guard: 'link' },
  operation: {
    table: 'cluster',
    class: 'local',
    pk: 'operation',
    guard: 'link',
    encrypted: ['token'],
  },
  // the newest execution of each workflow that waits to be adopted
  waiting: { table: 'cluster', class: 'local', pk: 'waiting', guard: 'link', encrypted: ['token'] },
  promoted: { table: 'cluster', class: 'local', pk: 'link', sk: 'promoted', guard: 'link' },
  // written together with what it tells, and deleted once it has been told
  'role-event': { table: 'cluster', class: 'local', pk: 'role-event', guard: 'link' },
  // its own key is encrypted for the place in the cluster record where it will stand
  'pending-link': { table: 'cluster', class: 'local', pk: 'link', sk: 'pending-link', guard: 'link' },
  // what a secondary keeps of its own following: how far a sync is, what one took away, who is at it
  segment: { table: 'cluster', class: 'local', pk: 'sync', guard: 'apply' },
  report: { table: 'cluster', class: 'local', pk: 'report', packed: true, guard: 'apply' },
  puller: { table: 'cluster', class: 'local', pk: 'puller', sk: 'run', guard: 'apply' },
  reindex: { table: 'cluster', class: 'local', pk: 'reindex', sk: 'progress' },
} as const satisfies Record<Kind, Spec>

type Owner<K extends Kind> = (typeof kinds)[K]['pk'] extends string ? [] : [owner: string]
type Name<K extends Kind> = (typeof kinds)[K] extends { sk: string } ? [] : [name: string]

const SHARDS = 16
const HEX = 16

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

/** Partitions of guarded kinds in a table, as patterns: whoever is not their guard keeps away from them. */
export const guardedPartitions = (table: Spec['table'], guard: Spec['guard'] & {}): string[] => [
  ...new Set(
    Object.values<Spec>(kinds)
      .filter(spec => spec.table === table && spec.guard === guard)
      .map(({ pk }) => (typeof pk === 'string' ? pk : pk('*'))),
  ),
]

/**
 * Partitions of the table `cluster` that hold the journal: its head, its cells, its tree. What stands there are no
 * items of a kind, and nothing but the port `journal` touches them.
 */
export const journalPartitions: readonly string[] = ['journal', 'j#*', 't#*']

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
