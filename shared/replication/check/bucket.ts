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

/** Whether something in the table `data` is an item that the tree is over. */
export const isOfTree = ({ kind }: Pick<StoredItem, 'kind'>): boolean =>
  Object.hasOwn(kinds, kind) && specOf(kind).table === 'data'

/** The leaf that an item should have, by its content; undefined if it has no place in this tree. */
export function leafByContent(item: StoredItem, treeId: string): Leaf | undefined {
  const gen = item.ttl === undefined ? null : generationOfTtl(item.ttl)
  const place = bucketText(bucketOf(treeId, item.kind, item.pk, item.sk))
  if (item.leaf === undefined || item.bucket !== place || !Number.isInteger(gen ?? 0)) return undefined
  return { leaf: leafOf(item), gen }
}

/** Whether the place or leaf that an item notes is wrong: the next change of it would make sums wrong. */
export const isMisplaced = (item: StoredItem, treeId: string): boolean =>
  leafByContent(item, treeId)?.leaf !== item.leaf || item.leaf === undefined

/** A bucket and its items, read while its mark and its sums stayed the same. */
export interface BucketFacts {
  readonly treeId: string
  readonly bucket: Bucket
  readonly stored: StoredBucket | undefined
  /** others may be among them */
  readonly items: readonly StoredItem[]
  /** epoch seconds */
  readonly now: number
}

export interface BucketVerdict {
  /** the difference of bucket and items, as a text that is the same for the same fault; empty: none */
  readonly difference: string
  /** the sums of the items, by their content */
  readonly sums: Sums
  readonly misplaced: readonly StoredItem[]
}

/** Judges a bucket by the content of its items: what their attribute `leaf` says does not count. */
export function judgeBucket({ treeId, bucket, stored, items, now }: BucketFacts): BucketVerdict {
  const name = bucketText(bucket)
  const own = items.filter(
    one => isOfTree(one) && bucketText(bucketOf(treeId, one.kind, one.pk, one.sk)) === name,
  )
  const changes = own.map(({ kind, pk, sk, ...rest }) => {
    const next = leafByContent({ kind, pk, sk, ...rest }, treeId) ?? null
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
