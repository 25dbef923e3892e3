import type { Head } from '../../replication/head.ts'
import type { Journal } from '../../replication/journal.ts'

/** Cells that are looked at together. */
const RUN = 100

/** The last position of a journal below which no cell is missing; at most `head.seq`. */
export async function frontier(
  journal: Pick<Journal, 'cells'>,
  { line, done, seq }: Pick<Head, 'line' | 'done' | 'seq'>,
): Promise<number> {
  for (let after = done; after < seq; after += RUN) {
    const run = await journal.cells(line, after, Math.min(after + RUN, seq))
    const missing = run.indexOf(undefined)
    if (missing >= 0) return after + missing
  }
  return seq
}
