import type { KeyObject } from 'node:crypto'
import type { JournalEntry } from '../journal/journal-entry.ts'
import type { Epoch, JournalLineage, JournalPosition } from '../journal/position.ts'
import type { MembershipStatement } from '../model/link.ts'
import type { ScanCursor } from '../ports.ts'
import type { Key } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'

/**
 * The format of journal and link that this version speaks. A secondary does not follow a cluster with a higher
 * format.
 */
export const LINK_FORMAT = 1

/** The maximum number of keys in one message. */
export const MAX_KEYS_PER_MESSAGE = 100

/** The exact end of a primary's epoch. No commit of that epoch has a higher position. */
export interface HandedOverEpoch {
  epoch: Epoch
  seq: number
  /** `addresses` of all clusters of the set that the primary knows */
  addresses: readonly string[]
  /** `keyring` is a keyring to import, sealed to this cluster's exchange key; empty: the primary does not send it */
  keyring: string
}

export interface ActivateRequest {
  /** the JWT */
  token: string
  /** UUID of the secondary's cluster */
  cluster: string
  /** address of the secondary */
  address: string
  /** version of the product */
  version: string
  /** `earlier` is an earlier signing key of this cluster, which the primary may know */
  earlier?: KeyObject | undefined
}

/** The answer of a primary to a cluster that it admits. */
export interface ActivateAnswer {
  /** UUIDs of the set and of the primary's cluster */
  set: string
  primary: string
  epoch: Epoch
  lineage: JournalLineage
  /** a keyring to import, sealed to this cluster's exchange key */
  keyring: string
  recovery: { shares: number; threshold: number }
  /** raw Ed25519 key of the primary, base64 */
  primaryKey: string
  /** addresses of the primary, and of other clusters of the set */
  addresses: string[]
  memberAddresses: string[]
  /** `statement` is the primary's statement that this cluster's key is a member of the set */
  statement: MembershipStatement
  /** `chain`: statements that lead from other clusters to the primary's own key */
  chain: readonly MembershipStatement[]
}

export interface HeartbeatRequest {
  position: JournalPosition
  /** `state` of the secondary as status shows it */
  state: string
  /** addresses of this secondary for the link and for clients; empty: unknown */
  address: string
  apiAddress: string
  /**
   * `ownTerm` is the identity of the term with which this secondary has encrypted its own keys; absent or empty: it
   * has not encrypted them yet
   */
  ownTerm?: string
  /** `maxEpoch` is the highest epoch number that this secondary has seen; absent or 0: it writes a journal itself */
  maxEpoch?: number
}

export interface HeartbeatAnswer {
  /** epoch milliseconds by the primary's clock */
  time: number
  /**
   * milliseconds from question to answer, and milliseconds by which the primary's clock is ahead (uncertain by the
   * round trip)
   */
  roundTripMs: number
  skewMs: number
  seq: number
  /** the last position below which no journal entry is missing */
  frontier: number
  epoch: Epoch
  lineage: JournalLineage
  /** addresses of the primary, and of other clusters of the set */
  addresses: string[]
  memberAddresses: string[]
  /** `canaryAt`: epoch milliseconds of the newest journal entry at the frontier; 0 if there is no entry */
  canaryAt: number
  format: number
  /** address of the primary for clients; empty: unknown */
  apiAddress: string
  /** `term` is the identity of the term with which the primary encrypts; empty: unknown */
  term: string
}

export interface EntriesRequest {
  lineage: JournalLineage
  /** `after` is the last position that the caller has; the answer begins with the next position */
  after: number
  /** `maxBytes` of all bodies together; the answer has at least one journal entry */
  maxBytes: number
}

export type EntriesAnswer =
  /** `frontier`: the position up to which no journal entry is missing */
  | { kind: 'entries'; entries: JournalEntry[]; lineage: JournalLineage; frontier: number }
  /** the caller's journal continues after the fork point */
  | { kind: 'diverged'; forkPoint: number }
  /** only journal entries after `retainedFrom` are kept */
  | { kind: 'trimmed'; retainedFrom: number }

export interface ItemsRequest {
  keys: readonly Key[]
}

export interface ItemsAnswer {
  items: (StoredItem | undefined)[]
  /** `last` of the head, which is read after the items */
  seq: number
  lineage: JournalLineage
  epoch: Epoch
}

export interface ScanRequest {
  segment: number
  segments: number
  cursor?: ScanCursor | undefined
}

export interface ScanAnswer {
  items: StoredItem[]
  next?: ScanCursor
  frontier: number
}

export interface TreeRequest {
  level: 'root' | 'page' | 'bucket'
  /** below the root, a page is named `<r or l>#<page>`, followed by `/<bucket>` for a bucket */
  page?: string
}

export interface TreeAnswer {
  hashes: string[]
}

export interface KeyringAnswer {
  /** a keyring to import, sealed to this cluster's exchange key */
  keyring: string
  term: number
}

/** A refusal by the other cluster, in a signed answer. */
export class LinkRefused extends Error {
  readonly code: RefusalCode
  /** addresses of the set that the refusing cluster knows */
  readonly addresses: readonly string[]
  constructor(code: RefusalCode, text: string, addresses: readonly string[] = []) {
    super(text)
    this.name = 'LinkRefused'
    this.code = code
    this.addresses = addresses
  }
}

/** Reports whether a refusal is permanent: the caller is not admitted and needs a new token. */
export const isPermanentRefusal = (error: unknown): error is LinkRefused =>
  error instanceof LinkRefused && (error.code === 'permission_denied' || error.code === 'unauthenticated')

/** Reports whether the same call may succeed later: no answer arrived, or the other cluster was busy. */
export const isTransient = (error: Error): boolean =>
  error instanceof LinkRefused
    ? error.code === 'unavailable'
    : error instanceof LinkSilent && !(error instanceof LinkUnbelieved)

/**
 * No acceptable answer arrived: the address was not reached, the call took too long, or the signature is missing or
 * by another key.
 */
export class LinkSilent extends Error {
  override name = 'LinkSilent'
}

/**
 * An unsigned answer to a link call. An unsigned answer may come from the gateway of a cluster whose storage is
 * gone, from a gateway that throttles, or from any other server. After an unsigned answer the called cluster may or
 * may not work.
 */
export class LinkUnsigned extends LinkSilent {
  override name = 'LinkUnsigned'
}

/** An answer signed by another key: the called cluster has new keys, or another cluster has its address. */
export class LinkUnbelieved extends LinkSilent {
  override name = 'LinkUnbelieved'
}

/**
 * `unauthenticated`: the call is not signed by an admitted key. `permission_denied`: the caller was revoked.
 * `failed_precondition`: the callee is in another set, is not a primary or uses another format, or the clocks are
 * too far apart. `unavailable`: the cause may pass by itself. `invalid_argument`: the body is not a call.
 */
export type RefusalCode =
  | 'unauthenticated'
  | 'permission_denied'
  | 'failed_precondition'
  | 'unavailable'
  | 'invalid_argument'
