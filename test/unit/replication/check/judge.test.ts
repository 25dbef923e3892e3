import { describe, expect, test } from 'vitest'
import { formatBucketLine, parseBucketLine } from '../../../../shared/journal/bucket-line.ts'
import { ttlOfGeneration } from '../../../../shared/journal/generation.ts'
import type { StoredTreeBucket } from '../../../../shared/journal/journal.ts'
import { allTreePages } from '../../../../shared/journal/page-places.ts'
import {
  addTreeBucket,
  computeBucketDeltas,
  readStoredLeaf,
  treeBucketOf,
} from '../../../../shared/journal/tree.ts'
import { checkBucketSums } from '../../../../shared/replication/check/bucket.ts'
import { repairItemPlace } from '../../../../shared/replication/check/repair.ts'
import {
  addToTally,
  createTreeTally,
  findSuspectBuckets,
} from '../../../../shared/replication/check/tally.ts'
import type { StoredItem } from '../../../../shared/storage/requests.ts'
import { neighbours, type Place, TREE_ID, tokenAt, writer } from '../../../builders/journal.ts'

// Tests that a bucket is judged by the content of its items, not by the leaves that the items store.

const now = 1_800_000_000
const alive = Math.ceil(now / 345_600) + 1

function itemAt(place: Place, value = 'v', expires?: number): StoredItem {
  const { items } = ((one: ReturnType<typeof writer>) => {
    one.commit(now * 1000, expires === undefined ? [place, value] : [place, value, expires])
    return one
  })(writer())
  const [item] = items.values()
  if (!item) throw new Error('no item')
  return addTreeBucket(item, TREE_ID)
}

const bucketAt = ({ kind, pk, sk }: Place) => treeBucketOf(TREE_ID, kind, pk, sk)

/** The bucket with the sums of the given items. */
function sumOf(...items: StoredItem[]): StoredTreeBucket {
  const [delta] = computeBucketDeltas(
    TREE_ID,
    items.map(item => ({ ...item, prev: null, next: readStoredLeaf(item) })),
    now,
  )
  return { mark: 'm', sums: delta?.sums ?? new Map() }
}

const judged = (place: Place, stored: StoredTreeBucket | undefined, items: StoredItem[]) =>
  checkBucketSums({ treeId: TREE_ID, bucket: bucketAt(place), stored, items, now })

const { a, b, apart } = neighbours
const [first, second, stranger] = [itemAt(a), itemAt(b), itemAt(apart)]
const token = itemAt(tokenAt('x'), 'v', now + 1000)
const flipped: StoredItem = { ...first, data: { value: 'other' } }

describe('judging a bucket of the tree', () => {
  test('a bucket is right if its sums are those of its items, whatever other items were read', () => {
    expect(judged(a, sumOf(first, second), [first, second, stranger]).difference).toBe('')
    expect(judged(a, undefined, []).difference).toBe('')
    expect(judged(tokenAt('x'), sumOf(token), [token]).difference).toBe('')
  })

  test.each<[string, Place, StoredTreeBucket | undefined, StoredItem[]]>([
    ['an item that was changed without its leaf', a, sumOf(first, second), [flipped, second]],
    [
      'an item that was changed together with its leaf',
      a,
      sumOf(first),
      [repairItemPlace(flipped, TREE_ID, now)],
    ],
    ['a deleted item', a, sumOf(first, second), [second]],
    ['an inserted item', a, sumOf(first), [first, second]],
    [
      'an item that was inserted without a place in the tree',
      a,
      sumOf(first),
      [first, { ...second, bucket: 't#other' }],
    ],
    ['a leaf that was changed without its item', a, sumOf(first), [{ ...first, leaf: second.leaf ?? '' }]],
    ['an item that stores another bucket', a, sumOf(first), [{ ...first, bucket: stranger.bucket ?? '' }]],
    ['deleted sums', a, undefined, [first]],
    [
      'a token that was moved to another generation',
      tokenAt('x'),
      sumOf(token),
      [{ ...token, ttl: ttlOfGeneration(alive + 3) }],
    ],
    [
      'a token without a time of deletion',
      tokenAt('x'),
      sumOf(token),
      [{ ...token, ttl: undefined } as never],
    ],
  ])('a bucket is wrong with %s', (_, place, stored, items) => {
    const verdict = judged(place, stored, items)
    expect(verdict.difference).not.toBe('')
    expect(judged(place, stored, [...items].reverse()).difference).toBe(verdict.difference)
  })

  test('a bucket ignores items of ended generations, which may exist or not', () => {
    const past = itemAt(tokenAt('x'), 'v', now - 1_000_000)
    const sums = new Map([['g100', [1n, 2n, 3n] as const]])
    expect(judged(tokenAt('x'), { sums }, [past]).difference).toBe('')
    expect(judged(tokenAt('x'), { sums }, []).difference).toBe('')
  })

  test('a bucket is right again after the repair of its items', () => {
    const loose = { ...token, leaf: undefined, bucket: undefined, ttl: now + 4600 } as never as StoredItem
    for (const item of [flipped, loose, { ...second, leaf: 'wrong' }]) {
      const settled = repairItemPlace(item, TREE_ID, now)
      const verdict = judged(item, undefined, [settled])
      expect(verdict.misplaced).toEqual([])
      expect(judged(item, { sums: verdict.sums }, [settled]).difference).toBe('')
      expect(settled.data).toEqual(item.data)
    }
    expect(repairItemPlace(loose, TREE_ID, now).ttl).toBe(token.ttl)
    expect(repairItemPlace(first, TREE_ID, now)).toEqual(first)
  })
})

describe("a tally of the tree's items", () => {
  const items = [first, second, stranger, token]
  const bucketsOf = (of: string, page: number): Map<string, StoredTreeBucket> => {
    const own = items.filter(item => {
      const { pk } = bucketAt(item)
      return pk === `t#${TREE_ID}#${of}#${page.toString(16).padStart(2, '0')}`
    })
    return new Map([...Map.groupBy(own, item => bucketAt(item).sk)].map(([sk, some]) => [sk, sumOf(...some)]))
  }
  const suspects = (counted: readonly StoredItem[]) => {
    const tally = createTreeTally(TREE_ID, now)
    for (const item of counted) addToTally(tally, item)
    return allTreePages.flatMap(place =>
      findSuspectBuckets(tally, place, bucketsOf(place.of === 'local' ? 'l' : 'r', place.page)).map(
        sub => `${place.of} ${place.page} ${sub}`,
      ),
    )
  }
  const nameOf = (item: StoredItem) => {
    const { pk, sk } = bucketAt(item)
    const of = pk.at(-4) === 'r' ? 'replicated' : 'local'
    return `${of} ${Number.parseInt(pk.slice(-2), 16)} ${Number.parseInt(sk, 16)}`
  }

  test('the tally suspects exactly the buckets whose sums differ from the counted items', () => {
    expect(suspects(items)).toEqual([])
    expect(suspects(items.slice(1))).toEqual([nameOf(first)])
    expect(suspects([...items, first])).toEqual([nameOf(first)])
    expect(suspects([flipped, ...items.slice(1)])).toEqual([nameOf(first)])
    expect(suspects([{ ...token, ttl: ttlOfGeneration(alive + 3) }, ...items.slice(0, 3)])).toEqual([
      nameOf(token),
    ])
    expect(suspects([{ ...first, leaf: undefined } as never, ...items.slice(1)])).toEqual([nameOf(first)])
  })

  test('the tally ignores items of other products', () => {
    expect(suspects([...items, { ...first, kind: 'toString' as never }])).toEqual([])
    expect(suspects([...items, { ...first, kind: 'cluster' }])).toEqual([])
  })
})

describe('a line that describes an item of a bucket', () => {
  test('the line contains the key of the item and the leaf of its content', () => {
    expect(parseBucketLine(formatBucketLine(token))).toEqual([
      'token',
      'token#x',
      'token',
      token.leaf,
      readStoredLeaf(token)?.gen,
    ])
    expect(parseBucketLine(formatBucketLine(flipped))[3]).not.toBe(first.leaf)
  })

  test.each(['', '{}', '[]', '["policy","p","q","leaf"]', '[1,2,3,4,5]'])('the line %j is rejected', text => {
    expect(() => parseBucketLine(text)).toThrow()
  })
})
