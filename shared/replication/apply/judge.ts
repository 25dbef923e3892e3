import { ttlOfGeneration } from '../../journal/generation.ts'
import { type ItemPlace, itemPlaceText } from '../../journal/journal.ts'
import type { EntryChange } from '../../journal/journal-entry.ts'
import { bucketMarkText } from '../../journal/position.ts'
import {
  addTreeBucket,
  type BucketDelta,
  computeBucketDeltas,
  type ItemLeafChange,
  readStoredLeafInTree,
  type TreeBucket,
} from '../../journal/tree.ts'
import { itemKindSpec } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'

/** A change and its commit time in epoch milliseconds. */
export type DatedChange = EntryChange & { readonly at: number }

/**
 * The changes that one journal entry, or several consecutive journal entries, make in one bucket. The applier
 * writes these changes together or not at all, because the bucket's mark records whether the changes were applied.
 */
export interface BucketChanges {
  /** position text of the (last) journal entry */
  readonly pos: string
  readonly seq: number
  readonly bucket: TreeBucket
  /** `changes` has at most one change for each item */
  readonly changes: readonly DatedChange[]
  /** upper estimate of the items' size, bytes */
  readonly bytes: number
}

/** Facts of this cluster that do not change while it applies a window. */
export interface ApplySettings {
  /** `treeId` is the id of this cluster's tree */
  readonly treeId: string
  /** `incarnation` of the head is the first part of every mark */
  readonly incarnation: number
  /**
   * `replayUntil` is the last position of the replay after a sync: up to this position, items may be newer than
   * their journal entries
   */
  readonly replayUntil: number
  /** epoch seconds */
  readonly now: number
  /**
   * `tolerated` has the given-up keys as texts of `itemPlaceText`: the applier overwrites their items without
   * comparing
   */
  readonly tolerated?: ReadonlySet<string>
}

/** The condition under which a transaction writes an item. */
export type ItemExpectation = 'absent' | { readonly rev: string } | { readonly leaf: string }

/**
 * The effect of a transaction on an item: `put` stores the item, or deletes it if `put` is null. Without `put` the
 * transaction only checks the item's condition.
 */
export interface ItemWriteStep {
  readonly key: ItemPlace
  readonly put?: StoredItem | null
  readonly if: ItemExpectation
}

/** A transaction or a part of one: items, and the bucket that sums their hashes. */
export interface BucketWrite {
  readonly items: readonly ItemWriteStep[]
  readonly bucket: BucketDelta
  /** the bucket's next mark; the transaction requires the stored mark to be lower */
  readonly mark: string
}

/** The items and the bucket mark that are stored where a piece writes. */
export interface StoredBucketState {
  readonly items: readonly (StoredItem | undefined)[]
  /** `mark` is the mark of the bucket; empty if there is no bucket yet */
  readonly mark: string
}

/**
 * The decision about a piece: `applied` (nothing to do), `write`, or `mismatch` (items are not as the journal entries
 * expect).
 */
export type ApplyJudgement =
  | { readonly kind: 'applied' }
  | { readonly kind: 'write'; readonly steps: BucketWrite }
  | { readonly kind: 'mismatch'; readonly places: readonly ItemPlace[] }

/** Returns only the key of an item or a change. */
export const pickItemPlace = ({ kind, pk, sk }: ItemPlace): ItemPlace => ({ kind, pk, sk })

/**
 * Returns the writes for a part of a journal entry, assuming that all items are as the entry expects. This function
 * needs no read.
 */
export function planBucketWrite(piece: BucketChanges, setting: ApplySettings): BucketWrite {
  const items = piece.changes.map(change =>
    step(change, setting.treeId, change.prev ? { leaf: change.prev.leaf } : 'absent'),
  )
  return steps(piece, setting, items, piece.changes)
}

/**
 * Decides what a piece writes, given the stored items. The read may be outdated, so the transaction expects every
 * item as it was read, including items that the transaction does not change.
 */
export function judgeBucketChanges(
  piece: BucketChanges,
  found: StoredBucketState,
  setting: ApplySettings,
): ApplyJudgement {
  if (found.mark >= bucketMarkText(setting.incarnation, piece.pos)) return { kind: 'applied' }
  const syncing = piece.seq <= setting.replayUntil
  const seen = piece.changes.map((change, index) => ({ change, own: found.items[index] }))
  const wrong = syncing
    ? []
    : seen.filter(({ change, own }) => !isTolerated(change, setting) && !isExpected(change, own, setting.now))
  if (wrong.length > 0) return { kind: 'mismatch', places: wrong.map(({ change }) => pickItemPlace(change)) }
  const stays = ({ change, own }: (typeof seen)[number]) => syncing && isAhead(change, own, piece.pos)
  const items = seen.map(one =>
    stays(one)
      ? { key: pickItemPlace(one.change), if: expectUnchanged(one.own) }
      : step(one.change, setting.treeId, expectUnchanged(one.own)),
  )
  const leaves = seen
    .filter(one => !stays(one))
    .map(
      ({ change, own }): ItemLeafChange => ({
        ...pickItemPlace(change),
        prev: own ? readStoredLeafInTree(own, setting.treeId) : null,
        next: change.next,
      }),
    )
  return { kind: 'write', steps: steps(piece, setting, items, leaves) }
}

const isTolerated = (change: EntryChange, { tolerated }: ApplySettings): boolean =>
  tolerated?.has(itemPlaceText(change)) === true

/** Reports whether a sync has fetched the item in the state after the journal entry, or in a later state. */
const isAhead = ({ item }: EntryChange, own: StoredItem | undefined, pos: string): boolean =>
  own ? (own.pos ?? '') >= pos : item === null

/**
 * Reports whether an item equals the source's item before the journal entry. An expiring item may be missing on
 * this cluster, or still exist on it, because DynamoDB deletes expired items on each cluster at another time. In
 * both cases the item had expired.
 */
function isExpected({ kind, prev, at }: DatedChange, own: StoredItem | undefined, now: number): boolean {
  const dies = itemKindSpec(kind).expiry === 'dies'
  if (own && prev) return own.leaf === prev.leaf
  if (own) return dies && own.expires !== undefined && own.expires * 1000 <= at
  return !prev || (dies && prev.gen !== null && ttlOfGeneration(prev.gen) <= now)
}

const expectUnchanged = (own: StoredItem | undefined): ItemExpectation => (own ? { rev: own.rev } : 'absent')

const step = (change: EntryChange, treeId: string, found: ItemExpectation): ItemWriteStep => ({
  key: pickItemPlace(change),
  put: change.item && addTreeBucket(change.item, treeId),
  if: found,
})

function steps(
  { bucket, pos }: BucketChanges,
  { treeId, incarnation, now }: ApplySettings,
  items: readonly ItemWriteStep[],
  leaves: readonly ItemLeafChange[],
): BucketWrite {
  const [delta = { kind: 'bucket' as const, bucket, sums: new Map() }] = computeBucketDeltas(
    treeId,
    leaves,
    now,
  )
  return { items, bucket: delta, mark: bucketMarkText(incarnation, pos) }
}
