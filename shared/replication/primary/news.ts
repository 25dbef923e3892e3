import type { Ports } from '../../ports.ts'

/**
 * Whether cells that were written tell more than the time. Only a single one is looked at: a journal that is at rest
 * gets one every ten seconds, and where more are written at once somebody has written something.
 * @param names sort keys of the cells, as a stream tells them
 */
export async function tellsNews(
  { journal }: Pick<Ports, 'journal'>,
  names: readonly unknown[],
): Promise<boolean> {
  const seq = Number(names[0])
  if (names.length !== 1 || !Number.isSafeInteger(seq)) return true
  const head = await journal.head()
  const [cell] = head ? await journal.cells(head.lineage, seq - 1, seq) : []
  return cell?.noop !== true
}
