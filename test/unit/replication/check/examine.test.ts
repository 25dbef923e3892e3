import { describe, expect, test } from 'vitest'
import type { StoredTreeBucket } from '../../../../shared/journal/journal.ts'
import type { LeafLimbs } from '../../../../shared/journal/tree.ts'
import { findLastingFaults, readTreeBucket } from '../../../../shared/replication/check/examine.ts'
import { createTreeTally } from '../../../../shared/replication/check/tally.ts'
import type { CheckedTreeView } from '../../../../shared/replication/check/view.ts'
import { mapInParallel } from '../../../../shared/values/in-parallel.ts'
import { TREE_ID } from '../../../builders/journal.ts'

const now = 1_800_000_000
const alive = Math.ceil(now / 345_600) + 1
const slots: [slot: string, limbs: LeafLimbs][] = [
  ['p', [1n, 2n, 3n]],
  [`g${alive}`, [4n, 5n, 6n]],
]

/** Makes a bucket without items. Each read of the bucket returns the next of the given answers. */
function reading(...answers: StoredTreeBucket[]) {
  let asked = 0
  const journal = {
    buckets: async () => [answers[asked++ % answers.length]],
    readBucketItems: async () => [],
  }
  const view = {
    journal,
    treeId: TREE_ID,
    now,
    tally: createTreeTally(TREE_ID, now),
    tail: { changedKeys: () => [] },
  }
  return readTreeBucket(view as unknown as CheckedTreeView, { of: 'local', page: 7 }, 3)
}

test('a bucket whose attributes come in a different order at each read is judged', async () => {
  const one = { mark: 'm', sums: new Map(slots) }
  const read = await reading(one, { ...one, sums: new Map(slots.toReversed()) })
  expect(read?.verdict.difference).toBe(`g${alive}:-4 -5 -6,p:-1 -2 -3`)
})

test('a bucket whose sums or mark differ at each read is not judged', async () => {
  const one = { mark: 'm', sums: new Map(slots) }
  expect(await reading(one, { ...one, mark: 'n' })).toBeUndefined()
  expect(await reading(one, { ...one, sums: new Map(slots.slice(1)) })).toBeUndefined()
})

let ms = 0
const clock = {
  now: () => ms,
  sleep: async (by: number) => {
    ms += by
  },
}

/** Returns the verdicts on suspected items at each check. */
const found = (says: Record<string, (string | undefined)[]>) => {
  let look = -1
  return findLastingFaults(
    clock,
    Object.keys(says),
    async name => says[name]?.[look],
    async () => {
      look += 1
    },
  )
}

describe('findLastingFaults', () => {
  test('findLastingFaults returns suspects with the same fault at every look, and drops suspects that are right once', async () => {
    const kept = await found({
      same: ['x', 'x', 'x'],
      changed: ['x', 'y', 'y'],
      right: ['x', 'x', ''],
      'right at once': ['', 'x', 'x'],
      other: ['x', 'x', 'y'],
      unclear: ['x', undefined, 'x'],
      moving: [undefined, undefined, undefined],
      'clear at last': [undefined, 'x', 'x'],
    })
    expect(kept).toEqual(['same', 'changed', 'clear at last'])
  })

  test('findLastingFaults does not wait if there are no suspects', async () => {
    ms = 0
    expect(await found({ a: [''], b: [''] })).toEqual([])
    expect(ms).toBe(0)
    expect(await found({ a: ['x', 'x', 'x'] })).toEqual(['a'])
    expect(ms).toBeGreaterThan(5000)
  })
})

test('at most sixteen tasks run in parallel, and their results keep the order', async () => {
  let [now, most] = [0, 0]
  const results = await mapInParallel(
    Array.from({ length: 50 }, (_, index) => index),
    async index => {
      now += 1
      most = Math.max(most, now)
      await new Promise(resolve => setTimeout(resolve, 50 - index > 40 ? 5 : 0))
      now -= 1
      return index
    },
  )
  expect(results).toEqual(Array.from({ length: 50 }, (_, index) => index))
  expect(most).toBe(16)
})
