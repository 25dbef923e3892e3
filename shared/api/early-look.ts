import type { ClusterRecord } from '../model/cluster.ts'
import type { Ports } from '../ports.ts'
import type { Call } from './call.ts'
import type { Prepared } from './endpoint.ts'

/** Head of the journal and roots of the tree, as they were read. */
export type JournalView = Omit<Awaited<ReturnType<Ports['journalView']['readStatus']>>, 'items'>

/** What the first read of a request brought of the journal, and of which tree. */
interface EarlyLook {
  treeId: string | undefined
  view?: JournalView
}

type Looking = Pick<Call, 'prepared'> & { ports: Pick<Ports, 'journalView'> }

/**
 * Has the first read of a request bring the journal along: where it stands is known from the cluster record, so this
 * guesses by the record that the environment has read last. Whoever has none makes two reads.
 * @param needs of a record: the tree whose roots are wanted besides the head, if any; undefined: nothing is
 */
export function prefetchJournal(
  { memory, journalView }: Pick<Ports, 'memory' | 'journalView'>,
  needs: (record: ClusterRecord) => { treeId: string | undefined } | undefined,
): Pick<Prepared, 'prepared' | 'read'> {
  const guess = memory.cluster && needs(memory.cluster.record)
  if (!guess) return { prepared: undefined }
  const early: EarlyLook = { treeId: guess.treeId }
  return {
    prepared: early,
    read: async keys => {
      const { items, ...seen } = await journalView.readStatus(early.treeId, keys)
      early.view = seen
      return items
    },
  }
}

/** The journal as the first read has brought it, if that was of this tree; else it is read now. */
export async function readJournalView(
  { prepared, ports }: Looking,
  treeId: string | undefined,
): Promise<JournalView> {
  const early = prepared as EarlyLook | undefined
  return early?.view && early.treeId === treeId ? early.view : ports.journalView.readStatus(treeId)
}
