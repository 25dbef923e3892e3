import { expect, test } from 'vitest'
import { visitItems } from '../../../../shared/auth-method/review/read-pages.ts'
import type { ListPage } from '../../../../shared/ports.ts'
import { itemPartitions } from '../../../../shared/storage/kinds.ts'
import { portsWith } from '../../../builders/ports.ts'

const UNTIL = 1000

/** Visits roles or issuers of partitions with the given numbers of items. Each read takes `readMs`. */
async function visited(sizes: readonly number[], readMs = 0) {
  const where = itemPartitions(sizes.length === 1 ? 'role' : 'issuer', 'm')
  const nameOf = (index: number) => String(index).padStart(6, '0')
  let [now, reads, count] = [0, 0, 0]
  const list = async ({ pks: [pk = ''] }: { pks: readonly string[] }, { after, limit = 0 }: ListPage) => {
    reads += 1
    now += readMs
    const size = sizes[where.pks.indexOf(pk)] ?? 0
    const from = after ? Number(after) + 1 : 0
    return Array.from({ length: Math.min(limit, size - from) }, (_, index) => ({ sk: nameOf(from + index) }))
  }
  const ports = portsWith({ store: { list }, clock: { now: () => now } })
  const gap = await visitItems({ ports }, where, UNTIL, () => {
    count += 1
  })
  return { gap, reads, count }
}

test.each([
  ['no items', [0], 1, 0],
  ['one page', [999], 1, 999],
  ['a full page', [1000], 2, 1000],
  ['as many as are visited', [10_000], 11, 10_000],
  ['many partitions', Array.from({ length: 16 }, () => 150), 32, 2400],
])('%s are read in pages', async (_, sizes, reads, count) => {
  expect(await visited(sizes)).toEqual({ gap: undefined, reads, count })
})

test.each([
  ['one partition', [10_001], 11],
  ['many partitions', Array.from({ length: 16 }, () => 2000), 116],
])('at most 10,000 items of %s are visited', async (_, sizes, reads) => {
  const seen = await visited(sizes)
  expect(seen).toMatchObject({ gap: 'only the first 10000 items were read', count: 10_000 })
  expect(seen.reads).toBeLessThanOrEqual(reads)
})

test('reads end when the time is up', async () => {
  expect(await visited([9000], 400)).toEqual({
    gap: 'the time was up after 3000 items',
    reads: 3,
    count: 3000,
  })
})
