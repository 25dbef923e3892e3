import type { ClusterRecord } from '../model/cluster.ts'
import type { Ports } from '../ports.ts'
import type { Call } from './call.ts'
import type { PreparedKeys } from './endpoint.ts'

/** The head of the journal and the roots of the tree, as read. */
export type JournalAndTreeView = Omit<Awaited<ReturnType<Ports['journalView']['readStatus']>>, 'items'>

/** The journal state from the first read of a request, and the tree it belongs to. */
interface EarlyLook {
  treeId: string | undefined
  view?: JournalAndTreeView
}

type Looking = Pick<Call, 'prepared'> & { ports: Pick<Ports, 'journalView'> }

/**
 * Reads the journal state with the first read of a request. The tree is guessed from the cluster record that this environment read
 * last; an environment without a record needs a second read.
 * @param needs returns the tree to read besides the head, if any; undefined: nothing
 */
export function prefetchJournalView(
  { memory, journalView }: Pick<Ports, 'memory' | 'journalView'>,
  needs: (record: ClusterRecord) => { treeId: string | undefined } | undefined,
): Pick<PreparedKeys, 'prepared' | 'read'> {
  const guess = memory.cluster && needs(memory.cluster.record)
  if (!guess) return {}
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

/** Returns the journal state of the first read if it belongs to this tree; else reads it now. */
export async function readJournalView(
  { prepared, ports }: Looking,
  treeId: string | undefined,
): Promise<JournalAndTreeView> {
  const early = prepared as EarlyLook | undefined
  return early?.view && early.treeId === treeId ? early.view : ports.journalView.readStatus(treeId)
}
