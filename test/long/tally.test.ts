import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { ttlOfGeneration } from '../../shared/journal/generation.ts'
import { addTreeBucket, computeItemLeaf } from '../../shared/journal/tree.ts'
import { addToTally, createTreeTally } from '../../shared/replication/check/tally.ts'
import type { StoredItem } from '../../shared/storage/requests.ts'

// The memory of a check must not grow with the number of items.

const now = 1_800_000_000
const MEGABYTE = 2 ** 20

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Returns a token of one of nine generations, as a login stores it. */
function token(index: number): StoredItem {
  const gen = Math.ceil(now / 345_600) + 1 + (index % 9)
  const item: StoredItem = {
    kind: 'token',
    pk: `token#${index}`,
    sk: 'token',
    rev: `r${index}`,
    data: { policies: ['default', 'web'], path: 'auth/cloud/login', createdAt: now, n: index },
    expires: now + 1000,
    ttl: ttlOfGeneration(gen),
  }
  return addTreeBucket({ ...item, leaf: computeItemLeaf(item) }, 'life')
}

/** Returns the megabytes that a tally of `count` items holds. */
function heldFor(count: number): number {
  collect()
  const before = process.memoryUsage().heapUsed
  const began = performance.now()
  const tally = createTreeTally('life', now)
  for (let index = 0; index < count; index++) addToTally(tally, token(index))
  const took = performance.now() - began
  collect()
  const held = (process.memoryUsage().heapUsed - before) / MEGABYTE
  expect(tally.seen).toBe(count)
  process.stderr.write(`${count} items: ${held.toFixed(1)} MB held, ${(took / count) * 1000} µs an item\n`)
  return held
}

test('a check of the Merkle tree holds the same memory for a hundred thousand items and for a million items', () => {
  const [, large, largest] = [10_000, 100_000, 1_000_000].map(heldFor)
  expect(largest).toBeLessThan(40)
  expect((largest ?? 0) - (large ?? 0)).toBeLessThan(16)
})
