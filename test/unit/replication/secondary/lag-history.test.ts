import { describe, expect, test } from 'vitest'
import {
  addLagToHistory,
  LAG_SLOT_MS,
  LAG_SLOTS,
  listLagHistory,
} from '../../../../shared/replication/secondary/lag-history.ts'

const START = 1_750_000_000_000
const contactAt = (at: number, lag: number) => ({ at, canaryAt: at - lag, skewMs: 0 })

/** Returns the contact after heartbeats at these times. */
function historyOf(times: readonly number[]) {
  let before: { at: number; lags: number[] } | undefined
  for (const at of times) before = { at, lags: addLagToHistory(before, contactAt(at, 300)) }
  return before ?? { at: 0, lags: [] }
}

describe('the history of lags in the stored contact', () => {
  test('each slot of ten seconds has one sample, and the last sixty slots are kept', () => {
    const times = Array.from({ length: 100 }, (_, index) => START + index * LAG_SLOT_MS)
    const { lags } = historyOf(times)
    expect(lags).toEqual(Array(LAG_SLOTS).fill(300))
  })

  test('a second heartbeat in a slot replaces the sample', () => {
    expect(addLagToHistory({ at: START, lags: [1, 2] }, contactAt(START + 1, 9))).toEqual([1, 9])
  })

  test('slots without a heartbeat are unknown, and are not listed', () => {
    const contact = historyOf([START, START + 3 * LAG_SLOT_MS])
    expect(contact.lags).toEqual([300, -1, -1, 300])
    expect(listLagHistory(contact)).toEqual([
      { at: START, lag: 300 },
      { at: START + 3 * LAG_SLOT_MS, lag: 300 },
    ])
  })

  test('a long silence, and a clock that was set back, begin a new history', () => {
    expect(historyOf([START, START + LAG_SLOTS * LAG_SLOT_MS]).lags).toEqual([300])
    expect(historyOf([START, START - LAG_SLOT_MS]).lags).toEqual([300])
  })

  test('without an entry the lag is unknown; the skew of the clocks is subtracted', () => {
    expect(addLagToHistory(undefined, { at: START, canaryAt: 0, skewMs: 0 })).toEqual([-1])
    expect(addLagToHistory(undefined, { at: START, canaryAt: START + 700, skewMs: 1000 })).toEqual([300])
  })
})
