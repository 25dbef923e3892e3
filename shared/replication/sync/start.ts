import type { Line } from '../../journal/position.ts'
import type { SourceLink } from '../../link/source-link.ts'

/** A replay begins this long before the frontier: what was read before a commit was decided is in it all the same. */
const MARGIN_MS = 60_000

/**
 * Where the replay after a full sync begins: behind it are all cells of the last minute.
 * @param frontier of the source: below it no cell is missing
 * @param time of the source, epoch milliseconds
 */
export async function startOf(
  link: Pick<SourceLink, 'cells'>,
  { line, frontier, time }: { line: Line; frontier: number; time: number },
): Promise<number> {
  let low = 0
  let high = frontier
  // the lowest position whose cell is younger, by halving; positions below what is kept are as good as older
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const answer = await link.cells({ line, from: middle, bytes: 1 })
    if ('trimmed' in answer) low = Math.max(middle + 1, answer.trimmed)
    else if ('diverged' in answer) throw new Error('the source changed its lineage while it was looked at')
    else if ((answer.cells[0]?.at ?? time) >= time - MARGIN_MS) high = middle
    else low = middle + 1
  }
  return Math.min(low, frontier)
}
