import type { Clock } from '../../ports.ts'
import { noopCell } from '../cell.ts'
import type { Head } from '../head.ts'
import type { Journal } from '../journal.ts'
import { epochAt } from '../position.ts'

/** Cells that are looked for at once. */
const PAGE = 1000

/**
 * Fills the holes of a journal that this cluster has closed: only then its end is exact.
 * @returns whether every hole is decided; where not, a commit may still be under way
 */
export async function fillClosed(
  { journal, clock }: { journal: Journal; clock: Clock },
  { line, seq, own }: Head,
): Promise<boolean> {
  const start = line.find(([epoch]) => epoch === own)?.[1] ?? seq + 1
  for (let after = start - 1; after < seq; after += PAGE) {
    const to = Math.min(seq, after + PAGE)
    const cells = await journal.cells(line, after, to)
    for (const [index, cell] of cells.entries()) {
      const at = after + 1 + index
      if (cell) continue
      const stored = await journal.putCell(noopCell({ epoch: epochAt(line, at), seq: at }, clock.now()))
      if (stored === 'conflict') return false
    }
  }
  return true
}
