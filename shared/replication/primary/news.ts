import type { Ports } from '../../ports.ts'

/**
 * Whether journal entries that were written tell more than the time. Only a single one is looked at: a journal that is at rest
 * gets one every ten seconds, and several at once contain a commit.
 * @param names sort keys of the journal entries, as a stream tells them
 */
export async function tellsNews(
  { journal }: Pick<Ports, 'journal'>,
  names: readonly unknown[],
): Promise<boolean> {
  const seq = Number(names[0])
  if (names.length !== 1 || !Number.isSafeInteger(seq)) return true
  const head = await journal.head()
  const [entry] = head ? await journal.entries(head.lineage, seq - 1, seq) : []
  return entry?.noop !== true
}
