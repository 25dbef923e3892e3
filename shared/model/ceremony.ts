import type { EncryptedText } from '../values/secret.ts'
import type { RecoveryKey } from './cluster.ts'

/**
 * The purpose of an attempt of a ceremony. A share counts only for the purpose of the running attempt. The purposes
 * `root` and `operation` share one slot. A rekeying has its own slot: it collects shares of the present recovery
 * key (`rekey`), then shares of the new key (`verification`).
 */
export type CeremonyPurpose = 'root' | 'operation' | 'rekey' | 'verification'

/** An attempt to collect as many recovery shares as the threshold requires. */
export interface CeremonyAttempt {
  purpose: CeremonyPurpose
  /** identifies the attempt; every share must be sent with this nonce */
  nonce: string
  /** `pgp`: the key to which the token is encrypted; absent: the token is masked with the one-time password */
  pgp?: CeremonyPgpKey
  /** `progress`: number of shares given so far */
  progress: number
  /** `authorised`: whether an authorised caller began the attempt; an unauthorised caller cannot end such an attempt */
  authorised?: true
  /**
   * `recoveryKey`: verifier of the recovery key whose shares count; if the recovery key changes, the attempt is
   * void
   */
  recoveryKey: string
  /** `AttemptSecrets` as JSON */
  secrets: EncryptedText
  /** of a rekeying only */
  rekey?: RekeyParameters
}

/** The parameters of a rekeying, and the key that the rekeying has made. */
export interface RekeyParameters {
  /** the number of shares of the new key */
  shares: number
  threshold: number
  /** the keys to which the new shares are encrypted, one for each share; empty: the shares are returned in clear */
  pgp: readonly CeremonyPgpKey[]
  /** `verify`: whether the new key takes effect only after its own shares were submitted */
  verify: boolean
  /** `id` identifies the attempt from start to end, also while shares come with the nonce of the verification */
  id: string
  /** the role of the cluster when the attempt began; in another role the attempt is void */
  clusterRole: string
  /** verifiers of the new key; neither the key nor a share is stored. Absent: the rekeying has not made the key yet */
  newKey?: RecoveryKey
}

/**
 * The recent starts of attempts in a slot, for rate limits. Unauthorised and authorised starts have separate
 * limits, so that unauthorised callers cannot use up the starts of authorised callers.
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

/**
 * The secrets of an attempt of a ceremony. The secrets of an attempt are encrypted in the table, and in clear only
 * in the memory of an invocation.
 */
export interface AttemptSecrets {
  nonce: string
  /** `otp` is empty if an OpenPGP key is used */
  otp: string
  /** hex */
  shares: readonly string[]
}

/** The only slot of an attempt. The slot expires an hour after the last write. */
export interface CeremonySlot extends AttemptStarts {
  attempt?: CeremonyAttempt
  /** `last`: the previous attempt, unless it expired */
  last?: { nonce: string; outcome: 'completed' | 'cancelled' }
}

/**
 * An event that is sent to the workflow execution that watches an attempt. The event contains no secrets, because
 * the execution's history shows it.
 */
export type CeremonyAttemptEvent =
  | { outcome: 'share'; progress: number; required: number }
  | { outcome: 'completed' | 'cancelled' | 'lapsed' }

/** A workflow execution that waits for an event. */
export interface AttemptWatcher {
  /** `nonce` of the attempt that the execution watches; empty: it waits for an attempt to begin */
  nonce: string
  /** `token`: the task token with which the execution is answered */
  token: EncryptedText
}

/** The DR operation token of this DR secondary. The DR operation token is valid until it is revoked. */
export interface OperationToken {
  /** SHA-256 of the token's text, base64url */
  hash: string
  /** UUID of the set in which the token was made; empty: no set */
  set: string
  /** `epoch` of this cluster's own journal when the token was made; empty: it had no journal */
  epoch: string
  /** epoch milliseconds */
  madeAt: number
}
