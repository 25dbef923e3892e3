import type { ClusterRecord } from '../model/cluster.ts'
import type { Item, Key, Kind } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'
import type { JournalHead } from './head.ts'
import type { JournalEntry } from './journal-entry.ts'
import type { Epoch, JournalLineage } from './position.ts'
import type { HeadMove } from './transitions.ts'
import type { BucketSums, TreeBucket } from './tree.ts'

/** The key of an item with its kind. The kind of an item decides its table. */
export interface ItemPlace {
  readonly kind: Kind
  readonly pk: string
  readonly sk: string
}

/** Returns a text that identifies a key. The text is unique because no key contains a line break. */
export const itemPlaceText = ({ pk, sk }: Pick<ItemPlace, 'pk' | 'sk'>): string => `${pk}\n${sk}`

/** A condition on an item: the item does not exist, or all conditions named in this object hold. */
export type ItemTest =
  | 'absent'
  | {
      readonly rev?: string
      readonly leaf?: string
      readonly pos?: string
      /** lowest position that the item may have */
      readonly posFrom?: string
      /** epoch seconds: the item had expired at this time */
      readonly expiredBy?: number
      /** `notOf`: the item's bucket belongs to another tree than this tree */
      readonly notOf?: string
    }

/** Conditions on an item of which at least one must hold. */
export type ItemCondition = ItemTest | readonly ItemTest[]

/** A part of a transaction. Each item, bucket and journal entry may occur once in a transaction. */
export type TransactionElement =
  /** `put` stores an item attribute by attribute as given, or deletes it */
  | {
      readonly kind: 'item'
      readonly item: ItemPlace
      readonly put: StoredItem | null
      readonly if: ItemCondition
    }
  /** a check changes nothing; it is only for items that only this cluster's applier writes */
  | { readonly kind: 'check'; readonly check: ItemPlace; readonly if: ItemCondition }
  /**
   * Adds to the sums of a bucket. With a mark, the sums change only if the bucket's mark is lower; the bucket then
   * gets the new mark. Without a mark, the sums change unconditionally and the bucket keeps its mark.
   */
  | {
      readonly kind: 'bucket'
      readonly bucket: TreeBucket
      readonly sums: BucketSums
      readonly mark?: string
    }
  /**
   * Replaces the sums of a bucket, except those of ended generations, if the bucket's mark and all of its sums are
   * unchanged since they were read. The mark of the bucket stays.
   */
  | {
      readonly kind: 'renewal'
      readonly renew: TreeBucket
      readonly sums: BucketSums
      readonly was: StoredTreeBucket | undefined
    }
  /** writes a journal entry if its position has no entry */
  | { readonly kind: 'entry'; readonly entry: JournalEntry }
  /** moves the head; never part of a commit */
  | { readonly kind: 'head'; readonly head: HeadMove }

/**
 * The outcome of a transaction: done, or cancelled. `condition` lists the elements whose condition failed. A
 * conflict decides nothing: another write was in progress, or DynamoDB was busy.
 */
export type TransactionOutcome = 'done' | 'conflict' | { readonly condition: readonly number[] }

export interface TableScanPage {
  readonly items: StoredItem[]
  /** `next`: the key at which the next page of the segment begins; absent at the segment's end */
  readonly next?: { readonly pk: string; readonly sk: string }
}

/** A bucket of the tree as stored. A bucket has no mark if only syncs have written to it. */
export interface StoredTreeBucket {
  readonly mark?: string
  readonly sums: BucketSums
}

/** The hash of a page or of a root, and the position that it describes. */
export interface StoredPageHash {
  readonly hash: string
  readonly asOf: string
  /**
   * `gen` is the newest generation that had ended when the hash was computed; later generations count in the hash.
   * An absent `gen` is unknown.
   */
  readonly gen?: number
  /** `at` of the whole tree's root: when the computation began, epoch milliseconds. An absent `at` is unknown. */
  readonly at?: number
  /** `pages` of the whole tree's root: how many pages were computed for it. An absent `pages` is unknown. */
  readonly pages?: number
}

/**
 * The roots of both subtrees, and the root of the whole tree. If `whole` is absent, the root of the whole tree
 * follows from the roots of both subtrees.
 */
export interface StoredTreeRoots {
  readonly replicated: StoredPageHash
  readonly local: StoredPageHash
  readonly whole?: StoredPageHash
}

/**
 * A read-only view of the journal for status and health. The reader of the head reads no sums and no journaled
 * items.
 */
export interface JournalStatusView {
  /**
   * Reads the head, the roots of the tree with this id, and the items of further keys, all in one batch read. The
   * items come in the order of the keys.
   * @param treeId absent: there is no tree
   */
  readStatus(
    treeId: string | undefined,
    keys?: readonly Key[],
  ): Promise<{ head?: JournalHead; roots?: StoredTreeRoots; items: readonly (Item | undefined)[] }>
}

/**
 * The journal of this cluster, its tree, and items with all of their stored attributes. No other port reaches
 * journal entries and trees. Reads of the journal port are strongly consistent.
 * @throws ApiError `busy` from each method if DynamoDB does not answer: the call may have taken effect, or may
 * still take effect
 */
export interface Journal {
  head(): Promise<JournalHead | undefined>
  /**
   * Moves the head by a row of `transitions.ts`. `refused`: the head is not as the row expects, or would break a
   * rule.
   */
  moveHead(move: HeadMove): Promise<JournalHead | 'refused'>
  /** Allocates the next position of the epoch that this cluster writes. No other caller gets the same position. */
  allocate(epoch: Epoch): Promise<{ seq: number; incarnation: number } | 'refused'>
  /**
   * Returns the journal entries after `after`, up to and including `to`; undefined for a position without an entry.
   */
  entries(lineage: JournalLineage, after: number, to: number): Promise<(JournalEntry | undefined)[]>
  /**
   * Stores a journal entry if the position has none; otherwise returns the stored entry. If the stored entry is the
   * same entry, the call counts as successful.
   */
  putEntry(entry: JournalEntry): Promise<'done' | 'conflict' | JournalEntry>
  /**
   * Stores journal entries that another cluster wrote, each on its own, at positions that have no entry. All copies
   * of a journal entry are the same, because its writer writes it once.
   * @returns the stored entry of the first position that has a different entry; in this case the call stored
   * nothing
   */
  putEntries(entries: readonly JournalEntry[]): Promise<'done' | JournalEntry>
  /** Writes all elements of a transaction or none. */
  transact(elements: readonly TransactionElement[]): Promise<TransactionOutcome>
  /** Returns items as stored, including expired items. */
  readRaw(places: readonly ItemPlace[]): Promise<(StoredItem | undefined)[]>
  /** Returns a page of the stored items of the table `data`. */
  scan(segment: {
    index: number
    of: number
    from?: TableScanPage['next'] | undefined
  }): Promise<TableScanPage>
  /**
   * Deletes items of the table `data`, except items of the tree with this id.
   * @returns the number of deleted items
   */
  wipe(items: readonly Pick<ItemPlace, 'pk' | 'sk'>[], treeId: string): Promise<number>
  /**
   * Adds stored items to journal and tree, with new revisions and one position. A conflict means that another
   * writer has changed one of the items.
   */
  backfill(
    items: readonly StoredItem[],
    as: { readonly record: ClusterRecord; readonly readAt: number },
  ): Promise<'done' | 'conflict'>
  /**
   * Removes the attributes of an ended journal from items that are unchanged since they were read.
   * @returns the number of changed items
   */
  detach(items: readonly StoredItem[]): Promise<number>
  buckets(at: readonly TreeBucket[]): Promise<(StoredTreeBucket | undefined)[]>
  /**
   * Returns the stored items of a bucket. The index that lists the items may be seconds behind, so the caller names
   * items that the index may lack.
   * @param also further keys, of any bucket; keys without an item are left out
   */
  readBucketItems(bucket: TreeBucket, also: readonly { pk: string; sk: string }[]): Promise<StoredItem[]>
  /**
   * Deletes all buckets or hashes of one partition of an unused tree.
   * @returns the number of deleted buckets or hashes
   */
  dropPartition(pk: string): Promise<number>
  /** Returns all buckets of a page, by sort key. */
  page(pk: string): Promise<Map<string, StoredTreeBucket>>
  pageHashes(root: string): Promise<Map<string, StoredPageHash>>
  /**
   * Stores the hash of a page, unless a hash of a later position is stored.
   * @param was a stored hash; the method replaces this hash even if both have the same position
   */
  putPageHash(root: string, page: string, stored: StoredPageHash, was?: string): Promise<void>
}
