import type { PrimaryContact } from '../../model/link.ts'

/** Milliseconds of one slot. A secondary sends a heartbeat every ten seconds. */
export const LAG_SLOT_MS = 10_000
/** Number of slots: ten minutes. */
export const LAG_SLOTS = 60
const UNKNOWN = -1

const slotOf = (at: number): number => Math.floor(at / LAG_SLOT_MS)

/**
 * Adds the lag at a heartbeat to the history. Slots without a heartbeat are unknown.
 * @param before the stored contact; undefined: none
 * @param contact the new contact
 */
export function addLagToHistory(
  before: Pick<PrimaryContact, 'at' | 'lags'> | undefined,
  { at, canaryAt, skewMs }: Pick<PrimaryContact, 'at' | 'canaryAt' | 'skewMs'>,
): number[] {
  const lag = canaryAt === 0 ? UNKNOWN : Math.max(0, at - (canaryAt - skewMs))
  const passed = before ? slotOf(at) - slotOf(before.at) : LAG_SLOTS
  // a clock that was set back, or a long silence, begins a new history
  const old = passed < 0 || passed >= LAG_SLOTS ? [] : (before?.lags ?? [])
  const kept = passed === 0 ? old.slice(0, -1) : old
  const missed = old.length === 0 ? 0 : Math.max(0, passed - 1)
  return [...kept, ...Array<number>(missed).fill(UNKNOWN), lag].slice(-LAG_SLOTS)
}

/** Lists the known lags of a contact, oldest first. `at`: epoch milliseconds. */
export const listLagHistory = ({
  at,
  lags = [],
}: Pick<PrimaryContact, 'at' | 'lags'>): { at: number; lag: number }[] =>
  lags.flatMap((lag, index) =>
    lag === UNKNOWN ? [] : [{ at: at - (lags.length - 1 - index) * LAG_SLOT_MS, lag }],
  )
