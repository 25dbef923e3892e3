import type { Cell } from '../../journal/cell.ts'
import type { Head } from '../../journal/head.ts'
import type { Journal } from '../../journal/journal.ts'
import { common, epochAt, type Lineage } from '../../journal/position.ts'
import { moves } from '../../journal/transitions.ts'

/** Cells that are staged, and then applied, together. */
const WINDOW = 1000

/** What the source sent is not the journal that this cluster follows. */
class WrongCells extends Error {
  override readonly name = 'WrongCells'
}

/**
 * The cells of an answer that may be staged: from the next position on without gaps, each in the epoch that the
 * source's lineage says, and the lineage goes on from the own one.
 * @throws WrongCells
 */
export function nextCells(head: Head, answer: { cells: readonly Cell[]; lineage: Lineage }): readonly Cell[] {
  const { diverged, cut } = common(answer, head)
  if (diverged || cut < head.last) throw new WrongCells('the lineage of these cells is another one')
  const cells = answer.cells.slice(0, WINDOW)
  for (const [index, { epoch, seq }] of cells.entries()) {
    if (seq !== head.last + 1 + index) throw new WrongCells(`cell ${seq} is not the next one`)
    if (epoch !== epochAt(answer.lineage, seq)) throw new WrongCells(`cell ${seq} is of another epoch`)
  }
  return cells
}

/**
 * Stores cells, and then says in the head that they are here: from then on they are applied whatever happens to the
 * source. Nothing of them is applied before.
 * @param given `stored`: this run has put these cells into the table already
 * @throws WrongCells when another cell stands in the place of one
 */
export async function stage(
  journal: Journal,
  head: Head,
  { cells, lineage, stored = false }: { cells: readonly Cell[]; lineage: Lineage; stored?: boolean },
): Promise<Head | 'refused'> {
  const last = cells.at(-1)
  if (!last) return head
  const there = stored ? 'done' : await journal.putCells(cells)
  if (there !== 'done') throw new WrongCells(`another cell stands at ${there.epoch}/${there.seq}`)
  return journal.moveHead(moves.stage(head, last, lineage))
}
