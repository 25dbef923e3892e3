import type { Head } from '../../journal/head.ts'
import type { Journal } from '../../journal/journal.ts'
import type { JournalEntry } from '../../journal/journal-entry.ts'
import { compareLineages, epochAt, type Lineage } from '../../journal/position.ts'
import { moves } from '../../journal/transitions.ts'

/** Journal entries that are staged, and then applied, together. */
const WINDOW = 1000

/** What the source sent is not the journal that this cluster follows. */
class WrongEntries extends Error {
  override readonly name = 'WrongCells'
}

/**
 * The journal entries of an answer that may be staged: from the next position on without gaps, each in the epoch that the
 * source's lineage says, and the lineage goes on from the own one.
 * @throws WrongEntries
 */
export function nextEntries(
  head: Head,
  answer: { entries: readonly JournalEntry[]; lineage: Lineage },
): readonly JournalEntry[] {
  const { diverged, forkPoint } = compareLineages(answer, head)
  if (diverged || forkPoint < head.last)
    throw new WrongEntries('the lineage of these journal entries is another one')
  const entries = answer.entries.slice(0, WINDOW)
  for (const [index, { epoch, seq }] of entries.entries()) {
    if (seq !== head.last + 1 + index) throw new WrongEntries(`journal entry ${seq} is not the next one`)
    if (epoch !== epochAt(answer.lineage, seq))
      throw new WrongEntries(`journal entry ${seq} is of another epoch`)
  }
  return entries
}

/**
 * Stores journal entries, and then says in the head that they are here: from then on they are applied whatever happens to the
 * source. Nothing of them is applied before.
 * @param given `stored`: this run has put these journal entries into the table already
 * @throws WrongEntries when another journal entry stands in the place of one
 */
export async function stage(
  journal: Journal,
  head: Head,
  {
    entries,
    lineage,
    stored = false,
  }: { entries: readonly JournalEntry[]; lineage: Lineage; stored?: boolean },
): Promise<Head | 'refused'> {
  const last = entries.at(-1)
  if (!last) return head
  const there = stored ? 'done' : await journal.putEntries(entries)
  if (there !== 'done') throw new WrongEntries(`another journal entry stands at ${there.epoch}/${there.seq}`)
  return journal.moveHead(moves.stage(head, last, lineage))
}
