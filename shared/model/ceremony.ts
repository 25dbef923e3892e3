import type { Encrypted } from '../values/secret.ts'
import type { RecoveryKey } from './cluster.ts'

/**
 * What an attempt is for; a share counts for the one that was started. Tokens have one slot together. Rekeying has one
 * of its own, which goes from `rekey` (shares of the present recovery key) to `verification` (shares of the new one).
 */
export type Purpose = 'root' | 'operation' | 'rekey' | 'verification'

/** What as many holders of recovery shares make as the threshold says. */
export interface Attempt {
  purpose: Purpose
  /** names the attempt: every share comes with it */
  nonce: string
  /** by whose key the token is encrypted; absent: it is masked with the one-time password */
  pgp?: PgpKey
  /** shares given so far */
  progress: number
  /** whether somebody began it who may: then no stranger ends it */
  authorised?: true
  /** verifier of the recovery key whose shares count: another recovery key voids the attempt */
  recoveryKey: string
  /** `Secrets` as JSON */
  secrets: Encrypted
  /** of a rekeying alone */
  rekey?: Rekey
}

/** What a rekeying is to make, and what it has made. */
export interface Rekey {
  /** how the new key is divided */
  shares: number
  threshold: number
  /** by which the new shares are encrypted, one each; empty: they are answered as they are */
  pgp: readonly PgpKey[]
  /** whether the new key counts only when its own shares were given */
  verify: boolean
  /** names the attempt from its start to its end, also while shares come with the nonce of the verification */
  id: string
  /** the role of the cluster that it was begun under: under others it is void */
  clusterRole: string
  /** the new key's verifiers: neither the key nor a share is kept. Absent: it is not made yet */
  newKey?: RecoveryKey
}

/** What the slot counts. Each has a limit of its own, so that strangers use up nobody else's. */
export type Tries = {
  /** starts by strangers: epoch milliseconds of the recent ones, as of the others */
  strangerStarts: readonly number[]
  /** starts by holders of a token that may, and by who invokes the function directly */
  authorisedStarts?: readonly number[]
}

export interface PgpKey {
  /** OpenPGP public key, base64 or armoured */
  key: string
  /** lower-case hex */
  fingerprint: string
}

/** Secrets of an attempt: encrypted in the table, in clear only in the memory of an invocation. */
export interface Secrets {
  nonce: string
  /** empty where an OpenPGP key is used */
  otp: string
  /** hex */
  shares: readonly string[]
}

/** The one place for an attempt. It dies after an hour in which nothing was written to it. */
export interface Slot extends Tries {
  attempt?: Attempt
  /** the attempt before, where it did not lapse */
  last?: { nonce: string; outcome: 'completed' | 'cancelled' }
}

/** What the execution of the workflow that watches an attempt is told: no secrets, since its history shows it. */
export type AttemptEvent =
  | { outcome: 'share'; progress: number; required: number }
  | { outcome: 'completed' | 'cancelled' | 'lapsed' }

/** An execution of a workflow that waits. */
export interface Watcher {
  /** of the attempt about which it wants to hear; empty: it waits for one to begin */
  nonce: string
  /** by which it is answered */
  token: Encrypted
}

/** The token that was generated for operations of this DR secondary. It lasts until it is voided. */
export interface OperationToken {
  /** SHA-256 of the token's text, base64url */
  hash: string
  /** UUID of the set that it was made in; empty: of none */
  set: string
  /** epoch of this cluster's own journal at that time; empty: it had none */
  epoch: string
  /** epoch milliseconds */
  madeAt: number
}
