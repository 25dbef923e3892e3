import type { EncryptedText } from '../values/secret.ts'

/**
 * A secondary as its primary knows it, from the creation of its activation token on. Times of a secondary's item
 * are epoch milliseconds.
 */
export interface Secondary {
  /** `id`: name for which the activation token was made */
  id: string
  createdAt: number
  /** `expires`: the activation token is valid until this time */
  expires: number
  /** SHA-256 of the token's one-use part, base64url */
  jti: string
  /**
   * `publicKey`: the secondary's public keys; known from the start if the token was sealed to them, otherwise since
   * the activation
   */
  publicKey?: string
  /** UUID of the cluster that activated with the token */
  cluster?: string
  activatedAt?: number
  revokedAt?: number
  /**
   * epoch of this cluster in which the token was made; secondaries of earlier epochs are not listed and may not call
   */
  epoch: string
  /** clusters that had this name in earlier epochs and were not revoked */
  previousClusters?: readonly { cluster: string; publicKey: string }[]
  /** `lastCallTime`: highest time of a signed call, by the caller's clock; a call that is not later is a replay */
  lastCallTime: number
  /** address of the secondary for the link; empty: unknown yet */
  address: string
  /** address of the secondary for clients */
  apiAddress: string
  /** version of the product */
  version: string
  /** last heartbeat of the secondary; absent: none yet */
  heartbeat?: StoredHeartbeat
}

/** The report of a secondary in a heartbeat. */
export interface StoredHeartbeat {
  /** epoch milliseconds by this cluster's clock */
  at: number
  /** duration of the previous heartbeat, milliseconds; 0: unknown */
  roundTripMs: number
  /** milliseconds by which the other cluster's clock is ahead */
  skewMs: number
  epoch: string
  seq: number
  state: string
  /** `format` of journal and link that the secondary supports */
  format: number
  /**
   * `canaryAt`: when the secondary's newest journal entry was written, epoch milliseconds; absent: it has no entry
   * of this journal
   */
  canaryAt?: number
  /** `ownTerm`: identity of the term with which the secondary has encrypted its own keys; absent: not reported */
  ownTerm?: string
  /**
   * `maxEpoch`: the highest epoch number that the secondary had seen; by following it has given up every epoch that
   * it claimed before. Absent: the secondary has not reported its highest epoch number
   */
  maxEpoch?: number
}

/** The revocation of a cluster. None of the revoked cluster's keys counts until the cluster is admitted again. */
export interface RevokedCluster {
  /** epoch milliseconds */
  at: number
  /** epoch of this cluster in which this cluster revoked the other cluster */
  epoch: string
}

/** The key that signs activation tokens: P-521, PKCS #8 as base64. */
export interface ActivationTokenKey {
  key: EncryptedText
}

/** The keys that a secondary made for its next link. The link uses these keys once a primary has admitted them. */
export interface PendingLinkKey {
  pair: EncryptedText
  /** epoch milliseconds */
  createdAt: number
}

/**
 * The last contact of a secondary with its primary. Times of the contact are epoch milliseconds by this cluster's
 * clock, except `canaryAt`.
 */
export interface PrimaryContact {
  at: number
  /** milliseconds from question to answer */
  roundTripMs: number
  /** milliseconds by which the primary's clock is ahead; uncertain by the round trip */
  skewMs: number
  /**
   * `canaryAt`: when the newest journal entry that has arrived on this secondary was written, by the primary's
   * clock; 0: no entry has arrived yet
   */
  canaryAt: number
  /** `connectedSince`: when this connection began */
  connectedSince: number
  seq: number
  frontier: number
  epoch: string
  /**
   * `lags`: age in milliseconds of the newest entry here, in each of the last slots of ten seconds, the slot of `at`
   * last; -1: unknown
   */
  lags?: readonly number[]
  /** addresses that the primary reported as its own */
  addresses: readonly string[]
  /** address of the primary for clients; absent or empty: not reported */
  apiAddress?: string
  /** identity of the term with which the primary encrypts; absent or empty: not reported */
  term?: string
  /** `failedCall`: the last call to the primary, if it was unanswered or refused; absent: the primary answered it */
  failedCall?: UnansweredCall
}

/** A call that the primary did not answer, or refused. */
export interface UnansweredCall {
  /** epoch milliseconds */
  at: number
  code: string
  text: string
  /**
   * `silentMs`: milliseconds of silence during unanswered calls since the primary's last answer or refusal; absent:
   * 0
   */
  silentMs?: number
}

/**
 * Returns when the newest journal entry that a secondary has was written, epoch milliseconds by the primary's clock;
 * 0: unknown. The head changes with each entry, a heartbeat comes only every ten seconds.
 */
export const newestEntryTime = (
  { canaryAt }: Pick<PrimaryContact, 'canaryAt'>,
  head: { mode: string; stagedAt?: number } | undefined,
): number => (head && ['applying', 'draining'].includes(head.mode) && head.stagedAt) || canaryAt

/**
 * A signed statement of a cluster about another cluster's membership, or about its own next key. A signed statement
 * never expires.
 */
export interface MembershipStatement {
  /** UUID of the DR set */
  set: string
  /** UUIDs of the cluster that makes the statement, and of the cluster that the statement is about */
  issuer: string
  subject: string
  /** raw Ed25519 key, base64 */
  key: string
  /** `epoch`: the issuer's epoch when it made the statement */
  epoch: string
  /** Ed25519 signature by the issuer's link key, base64 */
  signature: string
}

/** The key with which a cluster signs batch tokens of a term. */
export interface TermSigner {
  /** identity of the term */
  term: string
  /** raw Ed25519 public key, base64 */
  key: string
}

/** The outcomes of a primary's fences. */
export interface FenceRecord {
  /** epoch that this cluster writes; outcomes of another epoch are void */
  epoch: string
  /** by address */
  outcomes: Readonly<Record<string, FenceOutcome>>
}

/**
 * The outcome of a fence call. `denied`: this cluster is not a known member on the called cluster. `refused`: for
 * example, the called cluster is not a primary; the worker calls it again. `silent`: no acceptable answer came.
 */
export interface FenceOutcome {
  result: 'acknowledged' | 'denied' | 'refused' | 'silent'
  /** the answer's text */
  text: string
  /** number of statements in the call */
  statements: number
  /** number of batch-token signers in the call */
  signers: number
  /** `at`: epoch milliseconds since when the outcome has been the same */
  at: number
}

/**
 * This cluster's knowledge of a cluster of its set, including itself. Some attributes of a member are set only for
 * this cluster, some only for other clusters.
 */
export interface SetMembership {
  /**
   * this cluster only: the statements that lead from other clusters to its key, each after the statements on which
   * it depends
   */
  statements: readonly MembershipStatement[]
  /** `addresses` at which the cluster was reached; for this cluster: all known addresses of the set */
  addresses: readonly string[]
  /** `issuer`, this cluster only: the primary that last admitted this cluster, with its key and epoch */
  issuer?: { id: string; key: string; epoch: string }
  /** `key`, other clusters only: the last known raw Ed25519 key, base64 */
  key?: string
  /**
   * `claimedEpoch`, other clusters only: the latest epoch for which the other cluster has fenced this cluster;
   * absent: it has not
   */
  claimedEpoch?: string
  /**
   * `signers`, other clusters only: the keys with which the other cluster signs batch tokens since it fenced this
   * cluster; they count only for operations of this cluster
   */
  signers?: readonly TermSigner[]
}
