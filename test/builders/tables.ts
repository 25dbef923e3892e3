import {
  addTreeBucket,
  type BucketDelta,
  computeBucketDeltas,
  type LeafLimbs,
  parseTreeBucketText,
  readStoredLeaf,
  treeBucketText,
} from '../../shared/journal/tree.ts'
import type {
  BucketChanges,
  BucketWrite,
  ItemExpectation,
  StoredBucketState,
} from '../../shared/replication/apply/judge.ts'
import type { ApplyTarget } from '../../shared/replication/apply/window.ts'
import type { StoredItem } from '../../shared/storage/requests.ts'
import { nameOf, TREE_ID } from './journal.ts'

interface Sums {
  mark: string
  sums: Map<string, LeafLimbs>
}

/**
 * Imitates the items and buckets of a secondary, on which plans of the applier take effect. Each transaction
 * takes effect as a whole or not at all.
 * @param fetched items at the beginning, contained in the sums
 */
export function tables(fetched: ReadonlyMap<string, StoredItem> = new Map()) {
  const items = new Map([...fetched].map(([place, item]) => [place, addTreeBucket(item, TREE_ID)]))
  const buckets = new Map<string, Sums>(
    summed(items, 0).map(({ bucket, sums }) => [treeBucketText(bucket), { mark: '', sums: new Map(sums) }]),
  )
  const bucketAt = (bucket: BucketDelta['bucket']): Sums =>
    buckets.get(treeBucketText(bucket)) ?? { mark: '', sums: new Map() }

  const holds = (at: string, found: ItemExpectation): boolean => {
    const own = items.get(at)
    if (found === 'absent') return own === undefined
    return 'rev' in found ? own?.rev === found.rev : own?.leaf === found.leaf
  }

  function write(all: readonly BucketWrite[]): 'done' | 'refused' {
    const fits = all.every(
      ({ items: some, bucket, mark }) =>
        some.every(one => holds(nameOf(one.key), one.if)) && bucketAt(bucket.bucket).mark < mark,
    )
    if (!fits) return 'refused'
    for (const { items: some, bucket, mark } of all) {
      for (const { key, put } of some) {
        if (put) items.set(nameOf(key), put)
        if (put === null) items.delete(nameOf(key))
      }
      buckets.set(treeBucketText(bucket.bucket), { mark, sums: added(bucketAt(bucket.bucket).sums, bucket) })
    }
    return 'done'
  }

  const find = (pieces: readonly BucketChanges[]): StoredBucketState[] =>
    pieces.map(piece => ({
      items: piece.changes.map(change => items.get(nameOf(change))),
      mark: bucketAt(piece.bucket).mark,
    }))

  const target: ApplyTarget = {
    find: async pieces => find(pieces),
    write: async steps => write(steps),
    pause: async () => undefined,
  }

  /**
   * Returns the sums computed from the items, and the stored sums. Computed and stored sums are equal except for
   * expired generations.
   */
  const tree = (now: number) => ({
    kept: textOf(
      [...buckets].map(([place, { sums }]) => ({ kind: 'bucket', bucket: parseTreeBucketText(place), sums })),
      now,
    ),
    right: textOf(summed(items, now), now),
  })

  const markOf = (piece: Pick<BucketChanges, 'bucket'>): string => bucketAt(piece.bucket).mark

  return { items, find, write, target, tree, markOf }
}

const summed = (items: ReadonlyMap<string, StoredItem>, now: number): BucketDelta[] =>
  computeBucketDeltas(
    TREE_ID,
    [...items.values()].map(item => ({ ...item, prev: null, next: readStoredLeaf(item) })),
    now,
  )

const ZERO: LeafLimbs = [0n, 0n, 0n]

const added = (sums: Map<string, LeafLimbs>, delta: BucketDelta): Map<string, LeafLimbs> => {
  const sum = new Map(sums)
  for (const [slot, [a, b, c]] of delta.sums) {
    const [x, y, z] = sum.get(slot) ?? ZERO
    sum.set(slot, [x + a, y + b, z + c])
  }
  return sum
}

const PERIOD = 4 * 24 * 3600

const textOf = (all: readonly BucketDelta[], now: number): string[] =>
  all
    .flatMap(({ bucket, sums }) =>
      [...sums]
        .filter(([slot]) => slot === 'p' || Number(slot.slice(1)) * PERIOD > now)
        .filter(([, limbs]) => limbs.some(limb => limb !== 0n))
        .map(([slot, limbs]) => `${treeBucketText(bucket)} ${slot} ${limbs.join(' ')}`),
    )
    .sort()

/** Returns what readers can see: kind and revision by place. */
export const seen = (items: ReadonlyMap<string, StoredItem>): string[] =>
  [...items].map(([place, { rev }]) => `${place} ${rev}`).sort()
