import { generationOfTtl } from '../../journal/generation.ts'
import type { StoredBucket } from '../../journal/journal.ts'
import {
  type Bucket,
  bucketOf,
  bucketText,
  computeDeltas,
  type Leaf,
  type Limbs,
  leafOf,
  liveSums,
  type Sums,
} from '../../journal/tree.ts'
import { kinds, specOf } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'

/** Reports whether the tree contains items of this kind. */
export const isOfTree = ({ kind }: Pick<StoredItem, 'kind'>): boolean =>
  Object.hasOwn(kinds, kind) && specOf(kind).table === 'data'

/** Returns the leaf that an item's content requires; undefined if the item has no place in this tree. */
export function computeLeaf(item: StoredItem, treeId: string): Leaf | undefined {
  const gen = item.ttl === undefined ? null : generationOfTtl(item.ttl)
  const place = bucketText(bucketOf(treeId, item.kind, item.pk, item.sk))
  if (item.leaf === undefined || item.bucket !== place || !Number.isInteger(gen ?? 0)) return undefined
  return { leaf: leafOf(item), gen }
}

/**
 * Reports whether the leaf or the bucket that an item stores is wrong. The next change of such an item would make the sums
 * wrong.
 */
export const isMisplaced = (item: StoredItem, treeId: string): boolean =>
  computeLeaf(item, treeId)?.leaf !== item.leaf || item.leaf === undefined

/** A bucket and its items, read while neither its mark nor its sums changed. */
export interface BucketFacts {
  readonly treeId: string
  readonly bucket: Bucket
  readonly stored: StoredBucket | undefined
  /** may contain items of other buckets */
  readonly items: readonly StoredItem[]
  /** epoch seconds */
  readonly now: number
}

export interface BucketVerdict {
  /** difference between bucket and items as text, equal for equal faults; empty if there is none */
  readonly difference: string
  /** sums computed from the items' content */
  readonly sums: Sums
  readonly misplaced: readonly StoredItem[]
}

/** Judges a bucket by the content of its items. Ignores their attribute `leaf`. */
export function judgeBucket({ treeId, bucket, stored, items, now }: BucketFacts): BucketVerdict {
  const name = bucketText(bucket)
  const own = items.filter(
    one => isOfTree(one) && bucketText(bucketOf(treeId, one.kind, one.pk, one.sk)) === name,
  )
  const changes = own.map(({ kind, pk, sk, ...rest }) => {
    const next = computeLeaf({ kind, pk, sk, ...rest }, treeId) ?? null
    return { kind, pk, sk, prev: null, next }
  })
  const sums = liveSums(computeDeltas(treeId, changes, now)[0]?.sums ?? new Map(), now)
  const misplaced = own.filter(item => isMisplaced(item, treeId))
  const names = misplaced.map(({ pk, sk, rev }) => JSON.stringify([pk, sk, rev])).sort()
  const difference = [...differing(sums, liveSums(stored?.sums ?? new Map(), now)), ...names].join()
  return { difference, sums, misplaced }
}

const ZERO: Limbs = [0n, 0n, 0n]

const differing = (computed: Sums, stored: Sums): string[] =>
  [...new Set([...computed.keys(), ...stored.keys()])].sort().flatMap(slot => {
    const [a, b] = [computed.get(slot) ?? ZERO, stored.get(slot) ?? ZERO]
    const by = a.map((limb, index) => limb - (b[index] ?? 0n))
    return by.some(limb => limb !== 0n) ? [`${slot}:${by.join(' ')}`] : []
  })
