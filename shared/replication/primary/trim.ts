import { moves } from '../../journal/transitions.ts'
import type { Ports } from '../../ports.ts'
import { JOURNAL_PROMISE_MS } from '../../values/bounds.ts'

/** Milliseconds, about, between two moves of the beginning. */
const TRIM_STEP_MS = 12 * 3600 * 1000

/**
 * Moves the beginning of what this cluster promises of its journal: journal entries that the engine may delete soon are read by
 * nobody any more. Whoever needs them fetches everything instead.
 * @see docs/spec/replication.md#density-and-the-end-of-an-epoch
 */
export async function trimJournal({ journal, clock }: Pick<Ports, 'journal' | 'clock'>): Promise<void> {
  const head = await journal.head()
  if (!head || head.mode === 'syncing' || head.mode === 'draining' || head.retainedFrom >= head.applied)
    return
  const { retainedFrom, lineage, applied } = head
  const oldest = clock.now() - JOURNAL_PROMISE_MS
  const at = async (seq: number): Promise<number> =>
    (await journal.entries(lineage, seq - 1, seq))[0]?.at ?? 0
  if ((await at(retainedFrom + 1)) > oldest - TRIM_STEP_MS) return
  // the lowest position whose journal entry is younger, by halving; below `done` journal entries are missing only where
  // they were deleted
  let low = retainedFrom + 1
  let high = applied + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((await at(middle)) >= oldest) high = middle
    else low = middle + 1
  }
  await journal.moveHead(moves.trim(head, low - 1))
}
