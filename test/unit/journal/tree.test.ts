import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addLiveSums,
  addTreeBucket,
  computeBucketDeltas,
  computeItemLeaf,
  hashTreePage,
  hashTreeRoot,
  type ItemLeafChange,
  type LeafLimbs,
  parseTreeBucketText,
  readStoredLeaf,
  readStoredLeafInTree,
  splitLeafIntoLimbs,
  TREE_PAGE_COUNT,
  treeBucketOf,
  treeBucketText,
  treePageNames,
} from '../../../shared/journal/tree.ts'
import type { StoredItem } from '../../../shared/storage/requests.ts'

const item: StoredItem = {
  pk: 'policy',
  sk: 'p1',
  kind: 'policy',
  rev: 'r1',
  data: { b: 1, a: [1, { d: 2, c: 3 }] },
}
const now = 1_800_000_000
const alive = 5300
const limb = (leaf: string) => splitLeafIntoLimbs(leaf)

describe("the tree bucket of an item's key", () => {
  test("the bucket is chosen by the first two bytes of the key's hash, in the tree with the given id", () => {
    const bucket = treeBucketOf('abc', 'policy', 'policy', 'p1')
    expect(bucket).toEqual({
      pk: expect.stringMatching(/^t#abc#r#[0-9a-f]{2}$/),
      sk: expect.stringMatching(/^[0-9a-f]{2}$/),
    })
    expect(treeBucketOf('abd', 'policy', 'policy', 'p1')).toEqual({
      pk: bucket.pk.replace('abc', 'abd'),
      sk: bucket.sk,
    })
    expect(treeBucketOf('abc', 'token', 'token#x', 'token').pk).toMatch(/^t#abc#l#/)
    expect(parseTreeBucketText(treeBucketText(bucket))).toEqual(bucket)
  })

  test('the bucket depends only on the key, not on the generation', () => {
    const change = (gen: number | null): ItemLeafChange => ({
      kind: 'token',
      pk: 'token#x',
      sk: 'token',
      prev: null,
      next: { leaf: computeItemLeaf(item), gen },
    })
    const buckets = [null, alive, alive + 1].map(
      gen => computeBucketDeltas('abc', [change(gen)], now)[0]?.bucket,
    )
    expect(new Set(buckets.map(bucket => JSON.stringify(bucket))).size).toBe(1)
  })

  test('keys spread over all pages', () => {
    const pages = Array.from(
      { length: 4000 },
      (_, index) => treeBucketOf('abc', 'policy', 'policy', `p${index}`).pk,
    )
    expect(new Set(pages).size).toBe(TREE_PAGE_COUNT)
    expect(treePageNames).toHaveLength(TREE_PAGE_COUNT)
  })
})

describe('the tree leaf of an item', () => {
  test("the leaf does not depend on the order of the item's members", () => {
    const turned = { ...item, data: { a: [1, { c: 3, d: 2 }], b: 1 } }
    expect(computeItemLeaf(turned)).toBe(computeItemLeaf(item))
    expect(Buffer.from(computeItemLeaf(item), 'base64url')).toHaveLength(32)
  })

  test.each<[string, Partial<StoredItem>]>([
    ['revision', { rev: 'r2' }],
    ['content', { data: { b: 1, a: [1, { d: 2, c: 4 }] } }],
    ['counter', { uses: 3 }],
    ['end', { expires: now }],
    ['tidy time', { due: now }],
    ['name', { sk: 'p2' }],
    ['kind', { kind: 'role' }],
  ])("the leaf changes with the item's %s", (_, change) =>
    expect(computeItemLeaf({ ...item, ...change })).not.toBe(computeItemLeaf(item)),
  )

  test.each<[string, Partial<StoredItem>]>([
    ['position', { pos: '000001.aaaaaaaaaaaa/000000000001' }],
    ['bucket', { bucket: 't#abc#r#00/00' }],
    ['own leaf', { leaf: 'x' }],
    ['time to live', { ttl: now }],
  ])("the leaf does not change with the item's %s", (_, change) =>
    expect(computeItemLeaf({ ...item, ...change })).toBe(computeItemLeaf(item)),
  )

  test('the leaf is split into three limbs of 86 bits', () => {
    const leaf = computeItemLeaf(item)
    const [a, b, c] = splitLeafIntoLimbs(leaf)
    const whole = BigInt(`0x${Buffer.from(leaf, 'base64url').toString('hex')}`)
    expect(a + (b << 86n) + (c << 172n)).toBe(whole)
    for (const part of [a, b, c]) expect(part < 1n << 86n).toBe(true)
  })

  test('a stored leaf has the generation of its time to live', () => {
    expect(readStoredLeaf({})).toBeNull()
    expect(readStoredLeaf({ leaf: 'x' })).toEqual({ leaf: 'x', gen: null })
    expect(readStoredLeaf({ leaf: 'x', ttl: alive * 345_600 + 3600 })).toEqual({ leaf: 'x', gen: alive })
  })
})

describe('an item of a hash tree', () => {
  const stored = addTreeBucket({ ...item, leaf: 'x' }, 'abc')

  test('the item names its bucket in that tree', () => {
    expect(stored).toEqual({
      ...item,
      leaf: 'x',
      bucket: treeBucketText(treeBucketOf('abc', 'policy', 'policy', 'p1')),
    })
  })

  test('the item has a leaf only in that tree', () => {
    expect(readStoredLeafInTree(stored, 'abc')).toEqual({ leaf: 'x', gen: null })
    expect(readStoredLeafInTree(stored, 'ab')).toBeNull()
    expect(readStoredLeafInTree(item, 'abc')).toBeNull()
  })
})

const keys = fc.constantFrom('a', 'b', 'c', 'd')
const leaves = fc.option(
  fc.record({
    leaf: fc.string().map(text => computeItemLeaf({ ...item, rev: text })),
    gen: fc.constantFrom(null, alive, alive + 1),
  }),
  { nil: null },
)

describe('sums of buckets', () => {
  test('a commit has one delta for each bucket', () => {
    const change = (sk: string): ItemLeafChange => ({
      kind: 'policy',
      pk: 'policy',
      sk,
      prev: null,
      next: { leaf: computeItemLeaf({ ...item, sk }), gen: null },
    })
    const names = Array.from({ length: 70_000 }, (_, index) => `p${index}`)
    const first = treeBucketText(treeBucketOf('abc', 'policy', 'policy', 'p0'))
    const twin = names
      .slice(1)
      .find(name => treeBucketText(treeBucketOf('abc', 'policy', 'policy', name)) === first)
    if (!twin) throw new Error('no two names share a bucket')
    const deltas = computeBucketDeltas('abc', [change('p0'), change(twin)], now)
    expect(deltas).toHaveLength(1)
    const sum = [0, 1, 2].map(
      index =>
        (limb(computeItemLeaf({ ...item, sk: 'p0' }))[index] ?? 0n) +
        (limb(computeItemLeaf({ ...item, sk: twin }))[index] ?? 0n),
    )
    expect(deltas[0]?.sums.get('p')).toEqual(sum)
  })

  test('a bucket whose sums do not change has a delta, because its mark carries the order', () => {
    const same = { leaf: computeItemLeaf(item), gen: null }
    const [delta] = computeBucketDeltas(
      'abc',
      [{ kind: 'policy', pk: 'policy', sk: 'p1', prev: same, next: same }],
      now,
    )
    expect([...(delta?.sums ?? [])]).toEqual([])
  })

  test('generations that ended long ago are neither added nor subtracted', () => {
    const old = { leaf: computeItemLeaf(item), gen: Math.ceil(now / 345_600) - 2 }
    const [delta] = computeBucketDeltas(
      'abc',
      [{ kind: 'token', pk: 'token#x', sk: 'token', prev: old, next: null }],
      now,
    )
    expect([...(delta?.sums ?? [])]).toEqual([])
  })

  test('after any changes the sums are those of the existing items', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(keys, leaves), { maxLength: 30 }), steps => {
        const there = new Map<string, ItemLeafChange['next']>()
        const sums = new Map<string, Map<string, LeafLimbs>>()
        for (const [sk, next] of steps) {
          const change: ItemLeafChange = { kind: 'token', pk: sk, sk, prev: there.get(sk) ?? null, next }
          there.set(sk, next)
          for (const delta of computeBucketDeltas('abc', [change], now)) {
            const bucket = sums.get(treeBucketText(delta.bucket)) ?? new Map<string, LeafLimbs>()
            sums.set(treeBucketText(delta.bucket), bucket)
            for (const [slot, by] of delta.sums) {
              const old = bucket.get(slot) ?? [0n, 0n, 0n]
              bucket.set(slot, [old[0] + by[0], old[1] + by[1], old[2] + by[2]])
            }
          }
        }
        for (const [sk, next] of there) {
          const bucket = sums.get(treeBucketText(treeBucketOf('abc', 'token', sk, sk))) ?? new Map()
          expect(addLiveSums(bucket, now)).toEqual(next ? splitLeafIntoLimbs(next.leaf) : [0n, 0n, 0n])
        }
      }),
    )
  })

  test('addLiveSums leaves out ended generations', () => {
    const sums = new Map<string, LeafLimbs>([
      ['p', [1n, 2n, 3n]],
      ['g10', [10n, 10n, 10n]],
      ['g11', [100n, 100n, 100n]],
    ])
    expect(addLiveSums(sums, 10 * 345_600 - 1)).toEqual([111n, 112n, 113n])
    expect(addLiveSums(sums, 10 * 345_600)).toEqual([101n, 102n, 103n])
    expect(addLiveSums(sums, 11 * 345_600)).toEqual([1n, 2n, 3n])
  })
})

describe('hashes of pages and roots', () => {
  test('an empty bucket counts as absent, and the order of buckets does not matter', () => {
    const one = new Map<string, LeafLimbs>([
      ['00', [1n, 2n, 3n]],
      ['ff', [4n, 5n, 6n]],
    ])
    const other = new Map<string, LeafLimbs>([
      ['ff', [4n, 5n, 6n]],
      ['07', [0n, 0n, 0n]],
      ['00', [1n, 2n, 3n]],
    ])
    expect(hashTreePage(other)).toBe(hashTreePage(one))
    expect(
      hashTreePage(
        new Map([
          ['00', [1n, 2n, 4n]],
          ['ff', [4n, 5n, 6n]],
        ]),
      ),
    ).not.toBe(hashTreePage(one))
  })

  test('a root depends on every page and on their order', () => {
    expect(
      new Set(
        [
          ['a', 'b'],
          ['b', 'a'],
          ['a', 'c'],
        ].map(hashTreeRoot),
      ).size,
    ).toBe(3)
  })
})
