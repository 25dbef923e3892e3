import { generationOfTtl } from '../../journal/generation.ts'
import type { StoredTreeBucket } from '../../journal/journal.ts'
import {
  type BucketSums,
  computeBucketDeltas,
  computeItemLeaf,
  type LeafLimbs,
  selectLiveSums,
  type TreeBucket,
  type TreeLeaf,
  treeBucketOf,
  treeBucketText,
} from '../../journal/tree.ts'
import { itemKindSpec, itemKinds } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'

/** Reports whether the tree contains items of this kind. */
export const isTreeItem = ({ kind }: Pick<StoredItem, 'kind'>): boolean =>
  Object.hasOwn(itemKinds, kind) && itemKindSpec(kind).table === 'data'

/** Returns the leaf that an item's content requires; undefined if the item has no place in this tree. */
export function computeLeaf(item: StoredItem, treeId: string): TreeLeaf | undefined {
  const gen = item.ttl === undefined ? null : generationOfTtl(item.ttl)
  const place = treeBucketText(treeBucketOf(treeId, item.kind, item.pk, item.sk))
  if (item.leaf === undefined || item.bucket !== place || !Number.isInteger(gen ?? 0)) return undefined
  return { leaf: computeItemLeaf(item), gen }
}

/**
 * Reports whether the leaf or the bucket that an item stores is wrong. The next change of an item with a wrong leaf
 * would make the bucket's sums wrong.
 */
export const isMisplacedInTree = (item: StoredItem, treeId: string): boolean =>
  computeLeaf(item, treeId)?.leaf !== item.leaf || item.leaf === undefined

/** A bucket and its items, read while neither its mark nor its sums changed. */
export interface BucketFacts {
  readonly treeId: string
  readonly bucket: TreeBucket
  readonly stored: StoredTreeBucket | undefined
  /** `items` may contain items of other buckets */
  readonly items: readonly StoredItem[]
  /** epoch seconds */
  readonly now: number
}

export interface BucketCheckResult {
  /**
   * `difference` is the difference between bucket and items as text, equal for equal faults; empty if there is no
   * difference
   */
  readonly difference: string
  /** `sums` are computed from the items' content */
  readonly sums: BucketSums
  readonly misplaced: readonly StoredItem[]
}

/** Judges a bucket by the content of its items. The check ignores the items' attribute `leaf`. */
export function checkBucketSums({ treeId, bucket, stored, items, now }: BucketFacts): BucketCheckResult {
  const name = treeBucketText(bucket)
  const own = items.filter(
    one => isTreeItem(one) && treeBucketText(treeBucketOf(treeId, one.kind, one.pk, one.sk)) === name,
  )
  const changes = own.map(({ kind, pk, sk, ...rest }) => {
    const next = computeLeaf({ kind, pk, sk, ...rest }, treeId) ?? null
    return { kind, pk, sk, prev: null, next }
  })
  const sums = selectLiveSums(computeBucketDeltas(treeId, changes, now)[0]?.sums ?? new Map(), now)
  const misplaced = own.filter(item => isMisplacedInTree(item, treeId))
  const names = misplaced.map(({ pk, sk, rev }) => JSON.stringify([pk, sk, rev])).sort()
  const difference = [...differing(sums, selectLiveSums(stored?.sums ?? new Map(), now)), ...names].join()
  return { difference, sums, misplaced }
}

const ZERO: LeafLimbs = [0n, 0n, 0n]

const differing = (computed: BucketSums, stored: BucketSums): string[] =>
  [...new Set([...computed.keys(), ...stored.keys()])].sort().flatMap(slot => {
    const [a, b] = [computed.get(slot) ?? ZERO, stored.get(slot) ?? ZERO]
    const by = a.map((limb, index) => limb - (b[index] ?? 0n))
    return by.some(limb => limb !== 0n) ? [`${slot}:${by.join(' ')}`] : []
  })
