import type { AccessEntry } from '../auth-method/access-list/entry.ts'
import type { Certificate, ClientConfig, IdentityConfig, StsRole } from '../auth-method/config/stored.ts'
import type { DenyEntry } from '../auth-method/deny-list/entry.ts'
import type { Role } from '../auth-method/roles/role.ts'
import type { Rotation } from '../auth-method/rotate-root/rotation.ts'
import type { TidyRun, TidySettings, TidyStamp } from '../auth-method/tidy/settings.ts'
import type { ClusterRecord, Keyring, RecoveryKey } from '../cluster/record.ts'
import type { Alias, Pointer } from '../identity/alias.ts'
import type { MountTable } from '../mounts/mount.ts'
import type { StoredPolicy } from '../policies/policy.ts'
import type { TokenRole, Wrapped } from '../tokens/stored.ts'
import type { Token } from '../tokens/token.ts'
import { sha256 } from '../values/secret.ts'

/** What each kind of item holds. */
export interface Stored {
  mounts: MountTable
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
}

export type Kind = keyof Stored

/** Where an item stands. Built in this file and nowhere else. */
export interface Key<K extends Kind = Kind> {
  readonly kind: K
  readonly pk: string
  readonly sk: string
}

interface Spec {
  /** `data` is what a DR secondary must have; `cluster` never leaves this cluster (architecture 4) */
  table: 'data' | 'cluster'
  /** which Merkle subtree an item belongs to (dr-behaviour 2.4); both are replicated */
  class: 'replicated' | 'local'
  /** the collection, of everybody or of one owner (a mount's accessor, say) */
  pk: string | ((owner: string) => string)
  /** the item, where a collection holds just one of the kind; otherwise its name */
  sk?: string
  /** 16 partitions by hash of the name, so that no partition's write limit binds the collection */
  spread?: true
  /**
   * `dies`: after `expires` the item counts as absent, whoever reads it.
   * `swept`: it stays in force until tidy removes it; `due` orders it in the index `expiry`.
   */
  expiry?: 'dies' | 'swept'
  /** stored as one JSON text, which is cheaper to read than a map of maps: for what every request reads */
  packed?: true
  /** fields that hold a `Sealed` text */
  sealed?: readonly string[]
}

/** One row per kind of item. Adding a kind is its line here and its type in `Stored`. */
export const kinds = {
  mounts: { table: 'data', class: 'replicated', pk: 'mounts', sk: 'auth', packed: true },
  'client-config': {
    table: 'data',
    class: 'replicated',
    pk: mount => `${mount}#config`,
    sk: 'client',
    sealed: ['secretKey', 'previousSecretKey'],
  },
  'identity-config': { table: 'data', class: 'replicated', pk: mount => `${mount}#config`, sk: 'identity' },
  'tidy-settings': { table: 'data', class: 'replicated', pk: mount => `${mount}#tidy` },
  certificate: { table: 'data', class: 'replicated', pk: mount => `${mount}#certificate` },
  'sts-role': { table: 'data', class: 'replicated', pk: mount => `${mount}#sts` },
  role: { table: 'data', class: 'replicated', pk: mount => `${mount}#role`, sealed: ['hmacKey'] },
  access: {
    table: 'data',
    class: 'local',
    pk: mount => `${mount}#access`,
    spread: true,
    expiry: 'swept',
    sealed: ['clientNonce'],
  },
  deny: { table: 'data', class: 'replicated', pk: mount => `${mount}#deny`, spread: true, expiry: 'swept' },
  token: { table: 'data', class: 'local', pk: accessor => `token#${accessor}`, sk: 'token', expiry: 'dies' },
  child: { table: 'data', class: 'local', pk: parent => `token#${parent}` },
  'token-role': { table: 'data', class: 'replicated', pk: 'token-role' },
  wrapped: {
    table: 'data',
    class: 'local',
    pk: accessor => `token#${accessor}`,
    sk: 'wrapped',
    expiry: 'dies',
    sealed: ['response'],
  },
  policy: { table: 'data', class: 'replicated', pk: 'policy' },
  alias: { table: 'data', class: 'replicated', pk: mount => `${mount}#alias`, spread: true },
  entity: { table: 'data', class: 'replicated', pk: 'entity', spread: true },
  'alias-id': { table: 'data', class: 'replicated', pk: 'alias-id', spread: true },
  'recovery-key': { table: 'data', class: 'replicated', pk: 'recovery', sk: 'key', sealed: ['key'] },
  cluster: { table: 'cluster', class: 'local', pk: 'cluster', sk: 'record' },
  keyring: { table: 'cluster', class: 'local', pk: 'cluster', sk: 'keyring' },
  'tidy-run': { table: 'cluster', class: 'local', pk: mount => `${mount}#tidy` },
  'tidy-stamp': { table: 'cluster', class: 'local', pk: mount => `${mount}#tidy-stamp` },
  rotation: { table: 'cluster', class: 'local', pk: mount => `${mount}#rotation`, sk: 'guard' },
} as const satisfies Record<Kind, Spec>

type Owner<K extends Kind> = (typeof kinds)[K]['pk'] extends string ? [] : [owner: string]
type Name<K extends Kind> = (typeof kinds)[K] extends { sk: string } ? [] : [name: string]

const SHARDS = 16
const HEX = 16

/** The row of a kind, with its optional columns. */
export const specOf = (kind: Kind): Spec => kinds[kind]

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

/** An item as the domain sees it. */
export type Item<K extends Kind = Kind> = {
  [P in K]: Key<P> & {
    /** changes with every write: what an optimistic write compares */
    readonly rev: string
    readonly data: Readonly<Stored[P]>
    /** epoch seconds at which an item that dies counts as absent */
    readonly expires?: number
  }
}[K]
