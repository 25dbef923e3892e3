import type { Encrypted } from '../values/secret.ts'

/** The role of a cluster in its DR set. @see docs/spec/cluster.md#modes */
export type ClusterMode = 'disabled' | 'primary' | 'secondary' | 'bootstrapping'

/** What a cluster knows of itself; written at initialisation, changed only by compare-and-set. */
export interface ClusterRecord {
  /** UUID of this one cluster */
  id: string
  name: string
  mode: ClusterMode
  /** the keyring whose keys encrypted this cluster's items */
  keyring: string
  /** the keyring's newest term: an environment that holds an older one reads the keyring again */
  term: number
  /** epoch milliseconds */
  initialisedAt: number
}

/** The keys of this cluster, in an envelope: encrypted by a data key that its own KMS key wraps. */
export interface Keyring {
  id: string
  /** the term that encrypts; all terms decrypt */
  term: number
  /** epoch milliseconds at which that term was added */
  since: number
  /** the envelope's data key as KMS wrapped it, base64 */
  wrapped: string
  /** keys of all terms, and those that never rotate, encrypted by the data key */
  keys: string
}

/** The verifier of the recovery shares. */
export interface RecoveryKey {
  shares: number
  threshold: number
  key: Encrypted
}

/** Whether this cluster serves clients: a DR secondary does not. */
export const isActive = (record: ClusterRecord): boolean =>
  record.mode === 'disabled' || record.mode === 'primary'
