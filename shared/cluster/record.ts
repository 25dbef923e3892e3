import type { Sealed } from '../values/secret.ts'

/** The role of a cluster in its DR set. @see dr-behaviour 2.1 */
export type ClusterMode = 'disabled' | 'primary' | 'secondary' | 'bootstrapping'

/** What a cluster knows of itself; written at initialisation, changed only by compare-and-set. */
export interface ClusterRecord {
  /** UUID of this one cluster */
  id: string
  name: string
  mode: ClusterMode
  /** the keyring whose keys sealed this cluster's items */
  keyring: string
  /** epoch milliseconds */
  initialisedAt: number
}

/** Data keys by version, wrapped by this cluster's own KMS key. */
export interface Keyring {
  id: string
  /** the version that seals; all versions open */
  active: number
  terms: readonly { version: number; wrapped: string }[]
}

/** The verifier of the recovery shares. */
export interface RecoveryKey {
  shares: number
  threshold: number
  key: Sealed
}

/** Whether this cluster serves clients: a DR secondary does not. */
export const isActive = (record: ClusterRecord): boolean =>
  record.mode === 'disabled' || record.mode === 'primary'
