import type { KeyObject } from 'node:crypto'
import type { JournalEntry } from '../journal/journal-entry.ts'
import type { Epoch, Lineage, Position } from '../journal/position.ts'
import type { Statement } from '../model/link.ts'
import type { Cursor } from '../ports.ts'
import type { Key } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'

/** The format of journal and link that this version speaks. A cluster of a higher one is not followed. */
export const FORMAT = 1

/** Keys that one message asks for. */
export const MOST_KEYS = 100

/** The exact end of a primary's epoch: no commit of it ever stands behind that. */
export interface HandedOver {
  epoch: Epoch
  seq: number
  /** of all clusters of the set that the primary knows */
  addresses: readonly string[]
  /** for import: sealed to this cluster's exchange key; empty: the primary does not send it */
  keyring: string
}

export interface ActivateRequest {
  /** the JWT */
  token: string
  /** UUID of the secondary's cluster */
  cluster: string
  /** where the secondary is reached */
  address: string
  /** of the product */
  version: string
  /** earlier signing key of this cluster, which the primary may know */
  earlier?: KeyObject | undefined
}

/** What a primary sends to a cluster that it admits. */
export interface Activated {
  /** UUIDs of the set and of the primary's cluster */
  set: string
  primary: string
  epoch: Epoch
  lineage: Lineage
  /** a keyring for import: sealed to this cluster's exchange key */
  keyring: string
  recovery: { shares: number; threshold: number }
  /** raw Ed25519 key of the primary, base64 */
  primaryKey: string
  /** of the primary, and of other clusters of the set */
  addresses: string[]
  memberAddresses: string[]
  /** says that this cluster's key is a member of the set */
  statement: Statement
  /** what leads from others to the primary's own key */
  chain: readonly Statement[]
}

export interface HeartbeatRequest {
  position: Position
  /** as status shows it */
  state: string
  /** where this secondary is reached by the link, and by clients; empty: unknown */
  address: string
  apiAddress: string
  /** identity of the term by which this secondary has encrypted its own keys; absent or empty: it has not */
  ownTerm?: string
  /** highest epoch number that this secondary has heard of; absent or 0: it writes a journal itself */
  maxEpoch?: number
}

export interface HeartbeatAnswer {
  /** epoch milliseconds by the primary's clock */
  time: number
  /** milliseconds from question to answer; and milliseconds by which the primary's clock is ahead, give or take `took` */
  roundTripMs: number
  skewMs: number
  seq: number
  /** the last position below which no journal entry is missing */
  frontier: number
  epoch: Epoch
  lineage: Lineage
  /** of the primary, and of other clusters of the set */
  addresses: string[]
  memberAddresses: string[]
  /** epoch milliseconds of the newest journal entry at the frontier; 0: there is none */
  canaryAt: number
  format: number
  /** where clients reach the primary; empty: unknown */
  apiAddress: string
  /** identity of the term by which the primary encrypts; empty: unknown */
  term: string
}

export interface EntriesRequest {
  lineage: Lineage
  /** the position already held: the answer begins with the next one */
  after: number
  /** bytes of all bodies together; one journal entry comes in any case */
  maxBytes: number
}

export type EntriesAnswer =
  /** `frontier`: the position up to which no journal entry is missing */
  | { kind: 'entries'; entries: JournalEntry[]; lineage: Lineage; frontier: number }
  /** the caller's journal goes on behind the fork point */
  | { kind: 'diverged'; forkPoint: number }
  /** only journal entries behind `retainedFrom` are kept */
  | { kind: 'trimmed'; retainedFrom: number }

export interface ItemsRequest {
  keys: readonly Key[]
}

export interface ItemsAnswer {
  items: (StoredItem | undefined)[]
  /** of the head, read afterwards */
  seq: number
  lineage: Lineage
  epoch: Epoch
}

export interface ScanRequest {
  segment: number
  segments: number
  cursor?: Cursor | undefined
}

export interface ScanAnswer {
  items: StoredItem[]
  next?: Cursor
  frontier: number
}

export interface TreeRequest {
  level: 'root' | 'page' | 'bucket'
  /** below the root: `<r or l>#<page>`, followed by `/<bucket>` for a bucket */
  page?: string
}

export interface TreeAnswer {
  hashes: string[]
}

export interface KeyringAnswer {
  /** for import: sealed to this cluster's exchange key */
  keyring: string
  term: number
}

/** The other cluster refused, in a signed answer. */
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

/** Whether a refusal is lasting: the caller is not admitted, and needs a new token. */
export const isPermanentRefusal = (error: unknown): error is LinkRefused =>
  error instanceof LinkRefused && (error.code === 'permission_denied' || error.code === 'unauthenticated')

/** Reports whether the same call may succeed later: nobody answered, or the other cluster was busy. */
export const isTransient = (error: Error): boolean =>
  error instanceof LinkRefused
    ? error.code === 'unavailable'
    : error instanceof LinkSilent && !(error instanceof LinkUnbelieved)

/** No acceptable answer: nothing was reached, it took too long, or the signature is missing or by another key. */
export class LinkSilent extends Error {
  constructor(text: string, options?: ErrorOptions) {
    super(text, options)
    this.name = 'LinkSilent'
  }
}

/**
 * An unsigned answer: from the gateway of a cluster whose storage is gone, from one that throttles, or from anything else.
 * The cluster behind it may or may not serve.
 */
export class LinkUnsigned extends LinkSilent {
  constructor(text: string, options?: ErrorOptions) {
    super(text, options)
    this.name = 'LinkUnsigned'
  }
}

/** An answer signed by another key: the asked cluster has new keys, or another cluster has its address. */
export class LinkUnbelieved extends LinkSilent {
  constructor(text: string) {
    super(text)
    this.name = 'LinkUnbelieved'
  }
}

/**
 * `unauthenticated`: not signed by an admitted key. `permission_denied`: revoked. `failed_precondition`: another set, not a
 * primary, another format, a clock too far off. `unavailable`: may pass. `invalid_argument`: not a call.
 */
export type RefusalCode =
  | 'unauthenticated'
  | 'permission_denied'
  | 'failed_precondition'
  | 'unavailable'
  | 'invalid_argument'
