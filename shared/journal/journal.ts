import type { ClusterRecord } from '../model/cluster.ts'
import type { Item, Key, Kind } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'
import type { Head } from './head.ts'
import type { JournalEntry } from './journal-entry.ts'
import type { Epoch, Lineage } from './position.ts'
import type { HeadMove } from './transitions.ts'
import type { Bucket, Sums } from './tree.ts'

/** Where an item stands; the table follows from its kind. */
export interface Place {
  readonly kind: Kind
  readonly pk: string
  readonly sk: string
}

/** A text that identifies a key: no key contains a line break. */
export const placeText = ({ pk, sk }: Pick<Place, 'pk' | 'sk'>): string => `${pk}\n${sk}`

/** A condition on an item: it does not exist, or all that is named here holds. */
export type Test =
  | 'absent'
  | {
      readonly rev?: string
      readonly leaf?: string
      readonly pos?: string
      /** its position is this one or a later one */
      readonly posFrom?: string
      /** epoch seconds: the item had expired by then */
      readonly expiredBy?: number
      /** its bucket belongs to another tree than this one */
      readonly notOf?: string
    }

/** At least one of these tests must hold. */
export type Condition = Test | readonly Test[]

/** A part of a transaction. Each item, bucket or journal entry may occur in it once. */
export type Element =
  /** stores an item as it is given, attribute by attribute, or deletes it */
  | { readonly kind: 'item'; readonly item: Place; readonly put: StoredItem | null; readonly if: Condition }
  /** changes nothing; only for items that no one but this cluster's applier writes */
  | { readonly kind: 'check'; readonly check: Place; readonly if: Condition }
  /**
   * Adds to the sums of a bucket. With a mark: only if the bucket's mark is lower, and the bucket gets it. Without:
   * whatever its mark is, and the mark stays.
   */
  | { readonly kind: 'bucket'; readonly bucket: Bucket; readonly sums: Sums; readonly mark?: string }
  /**
   * Replaces the sums of a bucket, except those of ended generations, if its mark and all of its sums are still as they
   * were read. The mark stays.
   */
  | {
      readonly kind: 'renewal'
      readonly renew: Bucket
      readonly sums: Sums
      readonly was: StoredBucket | undefined
    }
  /** writes a journal entry if the position has none */
  | { readonly kind: 'entry'; readonly entry: JournalEntry }
  /** moves the head; never part of a commit */
  | { readonly kind: 'head'; readonly head: HeadMove }

/**
 * The outcome of a transaction: done, or cancelled. `condition`: the places of the elements whose condition did not hold.
 * A conflict decides nothing: another write was under way, or the engine was busy.
 */
export type TransactionOutcome = 'done' | 'conflict' | { readonly condition: readonly number[] }

export interface ScanPage {
  readonly items: StoredItem[]
  /** where the next page of the segment begins; absent at its end */
  readonly next?: { readonly pk: string; readonly sk: string }
}

/** A bucket as stored; without a mark if only syncs have written to it. */
export interface StoredBucket {
  readonly mark?: string
  readonly sums: Sums
}

/** The hash of a page, or of a root, and the position that it describes. */
export interface StoredPage {
  readonly hash: string
  readonly asOf: string
  /** the newest generation that had ended when it was made; later ones still count in it. Absent: unknown */
  readonly gen?: number
  /** of the root of the whole tree: when its computation began, epoch milliseconds. Absent: unknown */
  readonly at?: number
  /** of the root of the whole tree: how many pages were computed for it. Absent: unknown */
  readonly pages?: number
}

/** Roots of both subtrees, and the root of the whole tree; without `whole` it follows from them. */
export interface StoredRoots {
  readonly replicated: StoredPage
  readonly local: StoredPage
  readonly whole?: StoredPage
}

/** Read-only view of the journal for status and health: no items, no sums. */
export interface JournalView {
  /**
   * Reads the head and, of the tree with that id, the roots of both subtrees, if they exist. Items of further keys are read
   * along with them, in the order given: all of it is one batch read.
   * @param treeId absent: there is no tree
   */
  readStatus(
    treeId: string | undefined,
    keys?: readonly Key[],
  ): Promise<{ head?: Head; roots?: StoredRoots; items: readonly (Item | undefined)[] }>
}

/**
 * The journal of this cluster, its tree, and items with all of their stored attributes; there is no other access to these.
 * Reads are strongly consistent.
 * @throws ApiError `busy` from each method, when there is no answer: the call may have been done, or may still be
 */
export interface Journal {
  head(): Promise<Head | undefined>
  /** Moves the head by a row of `transitions.ts`. `refused`: the head is not as the row expects, or would break a rule. */
  moveHead(move: HeadMove): Promise<Head | 'refused'>
  /** Takes the next position of the epoch that this cluster is writing. Only this caller gets it. */
  allocate(epoch: Epoch): Promise<{ seq: number; incarnation: number } | 'refused'>
  /** The journal entries of all positions behind `after` up to `to`; undefined for a position without one. */
  entries(lineage: Lineage, after: number, to: number): Promise<(JournalEntry | undefined)[]>
  /** Stores a journal entry if the position has none, else returns the one that is there; the same one counts as stored. */
  putEntry(entry: JournalEntry): Promise<'done' | 'conflict' | JournalEntry>
  /**
   * Stores journal entries that another cluster has written, each independently, if the position has none yet. Their
   * owner writes each once, so all copies of one are the same.
   * @returns the first position's entry that is a different one: then nothing was stored
   */
  putEntries(entries: readonly JournalEntry[]): Promise<'done' | JournalEntry>
  /** Writes all elements, or none. */
  transact(elements: readonly Element[]): Promise<TransactionOutcome>
  /** Items as stored, expired ones included. */
  readRaw(places: readonly Place[]): Promise<(StoredItem | undefined)[]>
  /** A page of the items of the table `data`, as stored. */
  scan(segment: { index: number; of: number; from?: ScanPage['next'] | undefined }): Promise<ScanPage>
  /** Deletes items of the table `data`, except those of the tree with this id. @returns how many were deleted */
  wipe(items: readonly Pick<Place, 'pk' | 'sk'>[], treeId: string): Promise<number>
  /**
   * Adds stored items to journal and tree, under new revisions and one position. A conflict means that one of them has
   * changed.
   */
  backfill(
    items: readonly StoredItem[],
    as: { readonly record: ClusterRecord; readonly readAt: number },
  ): Promise<'done' | 'conflict'>
  /** Removes the marks of an ended journal from items that are still as given. @returns how many were */
  detach(items: readonly StoredItem[]): Promise<number>
  buckets(at: readonly Bucket[]): Promise<(StoredBucket | undefined)[]>
  /**
   * The items of a bucket, as stored. An index tells which ones there are, and may lag by seconds: the caller names items
   * that it may not know yet.
   * @param also further keys, of this bucket or not; those that are not there are left out
   */
  readBucketItems(bucket: Bucket, also: readonly { pk: string; sk: string }[]): Promise<StoredItem[]>
  /** Deletes all buckets or hashes of a partition of a tree that is no longer used. @returns how many were deleted */
  dropPartition(pk: string): Promise<number>
  /** All buckets of a page, by sort key. */
  page(pk: string): Promise<Map<string, StoredBucket>>
  pageHashes(root: string): Promise<Map<string, StoredPage>>
  /**
   * Stores the hash of a page, unless one of a later position is stored.
   * @param was a hash that is replaced even if it has the same position
   */
  putPageHash(root: string, page: string, stored: StoredPage, was?: string): Promise<void>
}
