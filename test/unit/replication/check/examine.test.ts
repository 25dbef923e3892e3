import { expect, test } from 'vitest'
import type { StoredBucket } from '../../../../shared/journal/journal.ts'
import type { Limbs } from '../../../../shared/journal/tree.ts'
import { readBucket } from '../../../../shared/replication/check/examine.ts'
import { newTally } from '../../../../shared/replication/check/tally.ts'
import type { TreeView } from '../../../../shared/replication/check/view.ts'
import { TREE_ID } from '../../../builders/journal.ts'

const now = 1_800_000_000
const alive = Math.ceil(now / 345_600) + 1
const slots: [slot: string, limbs: Limbs][] = [
  ['p', [1n, 2n, 3n]],
  [`g${alive}`, [4n, 5n, 6n]],
]

/** A bucket without items, of which each read gives the next of some answers. */
function reading(...answers: StoredBucket[]) {
  let asked = 0
  const journal = {
    buckets: async () => [answers[asked++ % answers.length]],
    itemsOf: async () => [],
  }
  const view = { journal, treeId: TREE_ID, now, tally: newTally(TREE_ID, now), tail: { keys: () => [] } }
  return readBucket(view as unknown as TreeView, { of: 'local', page: 7 }, 3)
}

test('a bucket whose attributes come in another order each time is read all the same, and judged', async () => {
  const one = { mark: 'm', sums: new Map(slots) }
  const read = await reading(one, { ...one, sums: new Map(slots.toReversed()) })
  expect(read?.verdict.difference).toBe(`g${alive}:-4 -5 -6,p:-1 -2 -3`)
})

test('a bucket that has other sums, or another mark, each time is not judged', async () => {
  const one = { mark: 'm', sums: new Map(slots) }
  expect(await reading(one, { ...one, mark: 'n' })).toBeUndefined()
  expect(await reading(one, { ...one, sums: new Map(slots.slice(1)) })).toBeUndefined()
})
