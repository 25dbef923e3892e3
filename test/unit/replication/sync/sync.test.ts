import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { EntriesAnswer, EntriesRequest } from '../../../../shared/link/source.ts'
import { findReplayStart } from '../../../../shared/replication/sync/sync.ts'

const EPOCH = '000001.aaaaaaaaaaaa'
const lineage = [[EPOCH, 1]] as const
const NOW = 1_000_000

/**
 * Makes a source whose journal entries were written at the given times, and which retains entries after a
 * position.
 */
const source = (times: readonly number[], from = 0) => ({
  entries: async (request: EntriesRequest): Promise<EntriesAnswer> => {
    if (request.after < from) return { kind: 'trimmed', retainedFrom: from }
    const at = times[request.after]
    const entries = at === undefined ? [] : [{ epoch: EPOCH, seq: request.after + 1, id: 'x', at, body: [] }]
    return { kind: 'entries', entries, lineage, frontier: times.length }
  },
})

describe('the replay after a full sync', () => {
  test('the replay begins before all entries of the last minute', async () => {
    const times = [1, 5, NOW - 61_000, NOW - 59_000, NOW - 1000, NOW]
    const start = await findReplayStart(source(times), { lineage, frontier: times.length, time: NOW })
    expect(start).toBe(3)
  })

  test('the replay never begins after the frontier, whatever positions have been allocated', async () => {
    expect(await findReplayStart(source([1, 2, 3]), { lineage, frontier: 3, time: NOW })).toBe(3)
    expect(await findReplayStart(source([]), { lineage, frontier: 0, time: NOW })).toBe(0)
  })

  test('the replay begins at the first retained entry if all entries are young', async () => {
    const times = Array.from({ length: 50 }, () => NOW)
    expect(await findReplayStart(source(times, 20), { lineage, frontier: 50, time: NOW })).toBe(20)
  })

  test("no young journal entry is before the replay's start, for any journal", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: NOW })), fc.nat(), async (unsorted, cut) => {
        const times = unsorted.toSorted((a, b) => a - b)
        const from = cut % (times.length + 1)
        const start = await findReplayStart(source(times, from), {
          lineage,
          frontier: times.length,
          time: NOW,
        })
        expect(start).toBeGreaterThanOrEqual(from)
        expect(times.slice(from, start).every(at => at < NOW - 60_000)).toBe(true)
        expect(times.slice(start).every(at => at >= NOW - 60_000)).toBe(true)
      }),
    )
  })
})
