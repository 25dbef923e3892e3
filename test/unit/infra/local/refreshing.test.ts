import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startRefreshing } from '../../../../infra/local/host/refreshing.ts'

// Tests how often an embedded host computes tree hashes.

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Returns the number of refreshes that begin within ten seconds, if each takes `ms` milliseconds. */
async function begunWithin10s(tookMs: number, outcome: () => Promise<void>): Promise<number> {
  let begun = 0
  const { close } = startRefreshing(async () => {
    begun++
    await new Promise(over => setTimeout(over, tookMs))
    return outcome()
  })
  await vi.advanceTimersByTimeAsync(10_000)
  close()
  const after = begun
  await vi.advanceTimersByTimeAsync(60_000)
  expect(begun, 'a closed host refreshes no more').toBe(after)
  return begun
}

test.each([
  ['twice a second where a refresh takes no time', 0, 19],
  ['a fifth of the time where a refresh takes a second', 1000, 2],
] as const)('%s', async (_, took, count) => {
  expect(await begunWithin10s(took, async () => undefined)).toBe(count)
})

test('a failed refresh is followed by another one', async () => {
  expect(await begunWithin10s(0, () => Promise.reject(new Error('the function failed')))).toBe(19)
})
