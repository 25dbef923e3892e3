import { hasGenerationEnded } from '../../journal/generation.ts'
import type { StoredTreeBucket } from '../../journal/journal.ts'
import type { TreePagePlace } from '../../journal/page-places.ts'
import { TREE_SUBTREES } from '../../journal/refresh.ts'
import type { DataTableKey } from '../../journal/tail.ts'
import {
  type LeafLimbs,
  selectLiveSums,
  splitLeafIntoLimbs,
  TREE_PAGE_COUNT,
  type TreeLeaf,
  treeBucketOf,
  treePageNames,
} from '../../journal/tree.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { computeLeaf, isMisplacedInTree, isTreeItem } from './bucket.ts'

/** Buckets in a page. */
const SUBPAGES = 256

const numberOf = ({ of, page }: TreePagePlace, subpage: number): number =>
  (TREE_SUBTREES.indexOf(of) * TREE_PAGE_COUNT + page) * SUBPAGES + subpage

/** The sums of all items: one number for each bucket, so that memory does not grow with the number of items. */
export interface TreeTally {
  readonly treeId: string
  /** epoch seconds: generations that ended before `now` do not count */
  readonly now: number
  /** number of items read */
  seen: number
  readonly sums: (bigint | undefined)[]
  /** `misplaced` has the items with a wrong leaf or bucket, by bucket */
  readonly misplaced: Map<number, DataTableKey[]>
}

export const createTreeTally = (treeId: string, now: number): TreeTally => ({
  treeId,
  now,
  seen: 0,
  sums: new Array<bigint | undefined>(TREE_SUBTREES.length * TREE_PAGE_COUNT * SUBPAGES),
  misplaced: new Map(),
})

/** Adds an item by its content. */
export function addToTally(tally: TreeTally, item: StoredItem): void {
  const { treeId, now, sums, misplaced } = tally
  tally.seen += 1
  if (!isTreeItem(item)) return
  const bucket = treeBucketOf(treeId, item.kind, item.pk, item.sk)
  const of = bucket.pk.at(-4) === 'r' ? ('replicated' as const) : ('local' as const)
  const place = { of, page: Number.parseInt(bucket.pk.slice(-2), 16) }
  const number = numberOf(place, Number.parseInt(bucket.sk, 16))
  const leaf = computeLeaf(item, treeId)
  if (leaf && (leaf.gen === null || !hasGenerationEnded(leaf.gen, now)))
    sums[number] = (sums[number] ?? 0n) + weigh(slotWeight(leaf.gen), splitLeafIntoLimbs(leaf.leaf))
  if (isMisplacedInTree(item, treeId))
    misplaced.set(number, [...(misplaced.get(number) ?? []), { pk: item.pk, sk: item.sk }])
}

/** Returns the numbers of a page's buckets whose sums differ from the count. */
export function findSuspectBuckets(
  { now, sums, misplaced }: TreeTally,
  place: TreePagePlace,
  buckets: ReadonlyMap<string, StoredTreeBucket>,
): number[] {
  return treePageNames.flatMap((sk, subpage) => {
    const number = numberOf(place, subpage)
    const fits = (sums[number] ?? 0n) === weightOf(buckets.get(sk), now) && !misplaced.has(number)
    return fits ? [] : [subpage]
  })
}

/** Returns the keys of a bucket's items that have a wrong leaf or bucket. */
export const findMisplacedItems = (
  tally: TreeTally,
  place: TreePagePlace,
  subpage: number,
): readonly DataTableKey[] => tally.misplaced.get(numberOf(place, subpage)) ?? []

/**
 * Returns one number for the sums of a bucket. Each generation has its own factor, so that the check notices a leaf
 * in a wrong generation.
 */
const weightOf = (bucket: StoredTreeBucket | undefined, now: number): bigint =>
  [...selectLiveSums(bucket?.sums ?? new Map<string, LeafLimbs>(), now)].reduce(
    (total, [slot, limbs]) => total + weigh(slotWeight(slot === 'p' ? null : Number(slot.slice(1))), limbs),
    0n,
  )

const slotWeight = (gen: TreeLeaf['gen']): bigint => (gen === null ? 1n : BigInt(gen))

const BITS = 86n

const weigh = (weight: bigint, [low, middle, high]: LeafLimbs): bigint =>
  weight * (low + (middle << BITS) + (high << (2n * BITS)))
