import type { Encrypted } from '../values/secret.ts'

/** A secondary as its primary knows it: from the moment its activation token is made. Times are epoch milliseconds. */
export interface Secondary {
  /** name that the token was made for */
  id: string
  createdAt: number
  /** until then the token may be used */
  expires: number
  /** SHA-256 of the token's one-use part, base64url */
  jti: string
  /** its public keys: of a token that was sealed to them at once, else from the activation on */
  publicKey?: string
  /** UUID of the cluster that activated with the token */
  cluster?: string
  activatedAt?: number
  revokedAt?: number
  /** of this cluster's own, in which the token was made: those of earlier ones are not listed, and may not call */
  epoch: string
  /** clusters that had this name before, in earlier epochs, and were not revoked */
  previousClusters?: readonly { cluster: string; publicKey: string }[]
  /** greatest time of a signed call, by the caller's clock: what is not later has been seen before */
  lastCallTime: number
  /** where it is reached by the link; empty: nowhere yet */
  address: string
  /** where clients reach it */
  apiAddress: string
  /** version of the product */
  version: string
  /** its last heartbeat; absent: none yet */
  heartbeat?: Heartbeat
}

/** What a secondary told with a heartbeat. */
export interface Heartbeat {
  /** epoch milliseconds by the own clock */
  at: number
  /** milliseconds that the heartbeat before took; 0: unknown */
  roundTripMs: number
  /** milliseconds by which the other clock is ahead */
  skewMs: number
  epoch: string
  seq: number
  state: string
  /** of journal and link that it speaks */
  format: number
  /** when the newest journal entry that it had was written, epoch milliseconds; absent: it had none of this journal */
  canaryAt?: number
  /** identity of the term by which it has encrypted its own keys; absent: it has not told */
  ownTerm?: string
  /** the highest epoch number that it had heard of: it has given up every epoch that it had claimed; absent: it told none */
  maxEpoch?: number
}

/** A cluster whose keys count nowhere any more, however it came by them, until it is admitted anew. */
export interface Revoked {
  /** epoch milliseconds */
  at: number
  /** of this cluster's own, in which it was revoked */
  epoch: string
}

/** P-521, PKCS #8 as base64: signs activation tokens. */
export interface TokenKey {
  key: Encrypted
}

/** The keys that a secondary made for its next link. They become the link's when a primary has admitted them. */
export interface PendingKey {
  pair: Encrypted
  /** epoch milliseconds */
  createdAt: number
}

/** What a secondary last heard of its primary. Times are epoch milliseconds by the own clock, but for `canaryAt`. */
export interface PrimaryContact {
  at: number
  /** milliseconds from question to answer */
  roundTripMs: number
  /** milliseconds by which the primary's clock is ahead; uncertain by `took` */
  skewMs: number
  /** by the primary's clock, of the newest journal entry that has arrived here; 0: none yet */
  canaryAt: number
  /** when this connection began */
  connectedSince: number
  seq: number
  frontier: number
  epoch: string
  /** at which the primary may be reached, as it told */
  addresses: readonly string[]
  /** at which clients reach it; absent or empty: it has not told */
  apiAddress?: string
  /** identity of the term that it encrypts by, as it told; absent or empty: it did not */
  term?: string
  /** the last call, if it was not answered or was refused; absent: it was answered */
  failedCall?: UnansweredCall
}

/** A call that the primary did not answer, or refused. */
export interface UnansweredCall {
  /** epoch milliseconds */
  at: number
  code: string
  text: string
  /** milliseconds of silence that unanswered calls have shown since its last answer or refusal; absent: 0 */
  silentMs?: number
}

/**
 * When the newest journal entry was written that a secondary has, epoch milliseconds by the primary's clock; 0: nobody
 * knows. The head is moved by each of them; a heartbeat comes every ten seconds.
 */
export const newestEntryAt = (
  { canaryAt }: Pick<PrimaryContact, 'canaryAt'>,
  head: { mode: string; stagedAt?: number } | undefined,
): number => (head && ['applying', 'draining'].includes(head.mode) && head.stagedAt) || canaryAt

/** What a cluster says of another one's membership, or of its own next key. It never lapses. */
export interface Statement {
  /** UUID of the DR set */
  set: string
  /** clusters by their own ids: who says it, and of whom */
  issuer: string
  subject: string
  /** raw Ed25519 key, base64 */
  key: string
  /** the issuer's epoch when it said so */
  epoch: string
  /** Ed25519 by the issuer's link key, base64 */
  signature: string
}

/** By which key a cluster signs batch tokens that a term of the keyring seals. */
export interface TermSigner {
  /** identity of the term */
  term: string
  /** raw Ed25519 public key, base64 */
  key: string
}

/** Which clusters have ended their epochs for this one's. */
export interface Fences {
  /** that this cluster writes; what was asked for another one is void */
  epoch: string
  /** by address */
  outcomes: Readonly<Record<string, FenceOutcome>>
}

/**
 * What came of asking. `denied`: this cluster is no member there; `refused`: it is no primary, say, and asked again;
 * `silent`: no answer that could be believed.
 */
export interface FenceOutcome {
  result: 'acknowledged' | 'denied' | 'refused' | 'silent'
  /** what was said, in words */
  text: string
  /** number of statements that were shown */
  statements: number
  /** number of signers of batch tokens that were shown */
  signers: number
  /** epoch milliseconds since when it has been so */
  at: number
}

/**
 * What this cluster knows of a cluster of its set, itself included; some attributes are for itself only, some for
 * others.
 */
export interface Member {
  /** of this cluster: what leads from others to its key, each after those that it rests on */
  statements: readonly Statement[]
  /** where it has been met; of this cluster: where any cluster of the set has been, as far as it was told */
  addresses: readonly string[]
  /** of this cluster: who admitted it last, by which key, and in which epoch */
  issuer?: { id: string; key: string; epoch: string }
  /** of another one: the raw Ed25519 key by which it was known last, base64 */
  key?: string
  /** of another one: the latest epoch for which it has fenced this cluster; absent: none */
  claimedEpoch?: string
  /** of another one: by which it signs batch tokens since then; they count for operations of this cluster alone */
  signers?: readonly TermSigner[]
}
