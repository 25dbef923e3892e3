import type { Puller } from '../../model/secondary.ts'
import type { Head } from '../head.ts'

/** What status shows of a secondary. */
export interface SecondaryState {
  state: Puller['state']
  /** keys that the sync has seen, while one runs */
  synced?: number
  /** what keeps it from following, in words */
  fault?: string
}

/** Milliseconds after which a run that says nothing has ended. */
const SILENCE_MS = 90_000

/**
 * The state of a secondary, from what its journal is doing and what the last run told.
 * @param hasLink whether it knows a primary
 * @param now epoch milliseconds
 */
export function secondaryState(
  head: Pick<Head, 'mode'> | undefined,
  told: Puller | undefined,
  hasLink: boolean,
  now: number,
): SecondaryState {
  const fault = told?.fault === undefined ? {} : { fault: told.fault }
  if (!head || head.mode === 'writing' || head.mode === 'closed') return { state: 'idle', ...fault }
  if (head.mode === 'syncing') return { state: 'merkle-sync', synced: told?.synced ?? 0, ...fault }
  if (!hasLink || told?.fault !== undefined) return { state: 'idle', ...fault }
  if (head.mode === 'draining') return { state: 'merkle-diff' }
  return { state: told && now - told.until > SILENCE_MS ? 'idle' : 'stream-wals' }
}
