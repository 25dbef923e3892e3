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

/** One text for one key: no key holds a line break. */
export const placeText = ({ pk, sk }: Pick<Place, 'pk' | 'sk'>): string => `${pk}\n${sk}`

/** What must hold of an item: it is not there, or all that is named here is so. */
export type Test =
  | 'absent'
  | {
      readonly rev?: string
      readonly leaf?: string
      readonly pos?: string
      /** its position is this one or a later one */
      readonly posFrom?: string
      /** epoch seconds: it had expired by then */
      readonly expiredBy?: number
      /** its bucket is not one of this tree's */
      readonly notOf?: string
    }

/** One of several tests must hold. */
export type Condition = Test | readonly Test[]

/** A part of a transaction. An item, a bucket, a journal entry may be in it once. */
export type Element =
  /** stores an item as it is given, attribute by attribute, or deletes it */
  | { readonly item: Place; readonly put: StoredItem | null; readonly if: Condition }
  /** changes nothing; only where nobody else but this cluster's applier writes */
  | { readonly check: Place; readonly if: Condition }
  /**
   * Adds to the sums of a bucket. With a mark: only where the bucket's is lower, and the bucket takes it; without:
   * whatever its mark is, and it stays.
   */
  | { readonly bucket: Bucket; readonly sums: Sums; readonly mark?: string }
  /**
   * Makes the sums of a bucket what is given, but for generations that have ended, where its mark and all of its sums
   * are still as they were read; the mark stays.
   */
  | { readonly renew: Bucket; readonly sums: Sums; readonly was: StoredBucket | undefined }
  /** writes a cell where there is none */
  | { readonly entry: JournalEntry }
  /** moves the head: never for a commit */
  | { readonly head: HeadMove }

/**
 * What became of a transaction: done, or cancelled. `condition`: the places of the elements whose condition did not
 * hold. A conflict decides nothing: another write was under way, or the engine was busy.
 */
export type Transacted = 'done' | 'conflict' | { readonly condition: readonly number[] }

export interface ScanPage {
  readonly items: StoredItem[]
  /** where the segment goes on; absent at its end */
  readonly next?: { readonly pk: string; readonly sk: string }
}

/** A bucket as it stands; without mark where only a sync has written to it. */
export interface StoredBucket {
  readonly mark?: string
  readonly sums: Sums
}

/** The hash of a page, or of a root, and the position up to which it is right. */
export interface StoredPage {
  readonly hash: string
  readonly asOf: string
  /** the newest generation that had ended when it was made: what ended later counts in it still. Absent: unknown */
  readonly gen?: number
}

/** Roots of both subtrees, and what was made of them together; without `whole` it follows from them. */
export interface StoredRoots {
  readonly replicated: StoredPage
  readonly local: StoredPage
  readonly whole?: StoredPage
}

/** What status and health show of the journal: no items, no sums, and nothing can be changed by it. */
export interface JournalView {
  /**
   * Head and, of the tree with that name, the roots of both subtrees; without those that are not there. Items of other
   * keys come along, in their order: all of it is one batch read.
   * @param treeId absent: there is no tree
   */
  look(
    treeId: string | undefined,
    keys?: readonly Key[],
  ): Promise<{ head?: Head; roots?: StoredRoots; items: readonly (Item | undefined)[] }>
}

/**
 * The journal of this cluster, its tree, and items as they stand in the tables, with all of their attributes: the
 * only way to them. Reads are strongly consistent.
 * @throws ApiError `busy` from each of these, when there is no answer: what was asked may have been done, or may be yet
 */
export interface Journal {
  head(): Promise<Head | undefined>
  /** Moves the head by a row of `transitions.ts`. `refused`: it is not as the row expects, or would break a rule. */
  moveHead(move: HeadMove): Promise<Head | 'refused'>
  /** The next position of an epoch that this cluster is writing. It belongs to the caller: nobody else gets it. */
  allocate(epoch: Epoch): Promise<{ seq: number; incarnation: number } | 'refused'>
  /** The journal entries of all positions behind `after` up to `to`; undefined where there is none. */
  entries(lineage: Lineage, after: number, to: number): Promise<(JournalEntry | undefined)[]>
  /** Stores a journal entry where there is none, or tells which one there is; the same one counts as stored. */
  putEntry(entry: JournalEntry): Promise<'done' | 'conflict' | JournalEntry>
  /**
   * Stores journal entries that another cluster has written, where there are none yet, each for itself. They are
   * written once by their owner, so whoever else stores one stores the same.
   * @returns the first that stands there otherwise: nothing was stored then
   */
  putEntries(entries: readonly JournalEntry[]): Promise<'done' | JournalEntry>
  /** All elements, or none. */
  transact(elements: readonly Element[]): Promise<Transacted>
  /** Items as they stand, dead ones included. */
  raw(places: readonly Place[]): Promise<(StoredItem | undefined)[]>
  /** A page of the items of the table `data` as they stand. */
  scan(segment: { index: number; of: number; from?: ScanPage['next'] | undefined }): Promise<ScanPage>
  /** Deletes what stands in the table `data`, as long as it is not of the tree with this name. @returns how many are gone */
  wipe(items: readonly Pick<Place, 'pk' | 'sk'>[], treeId: string): Promise<number>
  /**
   * Gives items their place in journal and tree, as they stand, under new revisions and one position. A conflict
   * means that one of them has changed.
   */
  backfill(
    items: readonly StoredItem[],
    as: { readonly record: ClusterRecord; readonly readAt: number },
  ): Promise<'done' | 'conflict'>
  /** Takes the place in a journal that has ended from items that still stand as given. @returns how many did */
  detach(items: readonly StoredItem[]): Promise<number>
  buckets(at: readonly Bucket[]): Promise<(StoredBucket | undefined)[]>
  /**
   * The items of a bucket as they stand. Which ones there are is told by an index, which may be seconds behind: what
   * it does not know yet has to be named.
   * @param also further keys, of this bucket or not; those that are not there are left out
   */
  itemsOf(bucket: Bucket, also: readonly { pk: string; sk: string }[]): Promise<StoredItem[]>
  /** Deletes all buckets or hashes of a partition, of a tree that nobody uses any more. @returns how many are gone */
  dropPartition(pk: string): Promise<number>
  /** All buckets of a page, by sort key. */
  page(pk: string): Promise<Map<string, StoredBucket>>
  pageHashes(root: string): Promise<Map<string, StoredPage>>
  /**
   * Notes the hash of a page, unless a later one is noted.
   * @param was a hash that is replaced even where it is of the same position
   */
  putPageHash(root: string, page: string, stored: StoredPage, was?: string): Promise<void>
}
