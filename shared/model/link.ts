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
  /** greatest time of a signed call, by the caller's clock: what is not later has been seen before */
  time: number
  /** where it is reached by the link; empty: nowhere yet */
  address: string
  /** where clients reach it */
  apiAddress: string
  /** version of the product */
  version: string
  /** its last heartbeat; absent: none yet */
  contact?: Heartbeat
}

/** What a secondary told with a heartbeat. */
export interface Heartbeat {
  /** epoch milliseconds by the own clock */
  at: number
  /** milliseconds that the heartbeat before took; 0: unknown */
  took: number
  /** milliseconds by which the other clock is ahead */
  skew: number
  epoch: string
  seq: number
  state: string
}

/** A cluster whose keys count nowhere any more, however it came by them, until it is admitted anew. */
export interface Revoked {
  /** epoch milliseconds */
  at: number
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
  took: number
  /** milliseconds by which the primary's clock is ahead; uncertain by `took` */
  skew: number
  /** by the primary's clock, of the newest cell that has arrived here; 0: none yet */
  canaryAt: number
  /** when this connection began */
  since: number
  seq: number
  frontier: number
  epoch: string
  /** at which the primary may be reached, as it told */
  addresses: readonly string[]
  /** absent: the last answer was no refusal */
  refused?: { at: number; code: string; text: string }
}

/** What is said of this cluster's membership, and where others of the set have been met. */
export interface Member {
  statements: readonly {
    set: string
    by: string
    id: string
    key: string
    epoch: string
    signature: string
  }[]
  addresses: readonly string[]
}
