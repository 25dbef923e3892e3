import type { EncryptedText } from '../values/secret.ts'
import type { RecoveryKey } from './cluster.ts'

/**
 * The purpose of an attempt. A share counts only for the purpose of the running attempt. `root` and `operation` share
 * one slot. A rekeying has its own slot: it collects shares of the present recovery key (`rekey`), then shares of the
 * new one (`verification`).
 */
export type CeremonyPurpose = 'root' | 'operation' | 'rekey' | 'verification'

/** An attempt to collect as many recovery shares as the threshold requires. */
export interface CeremonyAttempt {
  purpose: CeremonyPurpose
  /** identifies the attempt; every share must be sent with this nonce */
  nonce: string
  /** the key to which the token is encrypted; absent: the token is masked with the one-time password */
  pgp?: CeremonyPgpKey
  /** shares given so far */
  progress: number
  /** whether an authorised caller began it; then an unauthorised caller cannot end it */
  authorised?: true
  /** verifier of the recovery key whose shares count; if the recovery key changes, the attempt is void */
  recoveryKey: string
  /** `AttemptSecrets` as JSON */
  secrets: EncryptedText
  /** of a rekeying only */
  rekey?: RekeyParameters
}

/** The parameters of a rekeying, and the key that it has made. */
export interface RekeyParameters {
  /** the number of shares of the new key */
  shares: number
  threshold: number
  /** the keys to which the new shares are encrypted, one for each share; empty: the shares are returned in clear */
  pgp: readonly CeremonyPgpKey[]
  /** whether the new key takes effect only after its own shares were submitted */
  verify: boolean
  /** identifies the attempt from start to end, also while shares come with the nonce of the verification */
  id: string
  /** the role of the cluster when the attempt began; in another role the attempt is void */
  clusterRole: string
  /** verifiers of the new key; neither the key nor a share is stored. Absent: it is not made yet */
  newKey?: RecoveryKey
}

/**
 * The recent starts of a slot, for its rate limits. Unauthorised and authorised starts have separate limits, so that
 * unauthorised callers cannot use up the starts of others.
 */
export type AttemptStarts = {
  /** unauthorised starts, epoch milliseconds */
  strangerStarts: readonly number[]
  /** starts by holders of a sufficient token and by direct invocations of the function, epoch milliseconds */
  authorisedStarts?: readonly number[]
}

export interface CeremonyPgpKey {
  /** OpenPGP public key, base64 or armoured */
  key: string
  /** lower-case hex */
  fingerprint: string
}

/** The secrets of an attempt. They are encrypted in the table, and in clear only in the memory of an invocation. */
export interface AttemptSecrets {
  nonce: string
  /** empty if an OpenPGP key is used */
  otp: string
  /** hex */
  shares: readonly string[]
}

/** The only slot of an attempt. It expires an hour after the last write. */
export interface CeremonySlot extends AttemptStarts {
  attempt?: CeremonyAttempt
  /** the previous attempt, unless it lapsed */
  last?: { nonce: string; outcome: 'completed' | 'cancelled' }
}

/**
 * An event that is sent to the workflow execution that watches an attempt. It contains no secrets, because the
 * execution's history shows it.
 */
export type CeremonyAttemptEvent =
  | { outcome: 'share'; progress: number; required: number }
  | { outcome: 'completed' | 'cancelled' | 'lapsed' }

/** A workflow execution that waits for an event. */
export interface AttemptWatcher {
  /** nonce of the attempt that it watches; empty: it waits for an attempt to begin */
  nonce: string
  /** the task token with which it is answered */
  token: EncryptedText
}

/** The DR operation token of this DR secondary. It is valid until it is revoked. */
export interface OperationToken {
  /** SHA-256 of the token's text, base64url */
  hash: string
  /** UUID of the set in which it was made; empty: none */
  set: string
  /** epoch of this cluster's own journal at that time; empty: it had none */
  epoch: string
  /** epoch milliseconds */
  madeAt: number
}
