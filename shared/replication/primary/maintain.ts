import { fillHoles } from '../../journal/density.ts'
import { refreshTree } from '../../journal/refresh.ts'
import { moves } from '../../journal/transitions.ts'
import { type ClusterRecord, isCopyOfPrimary } from '../../model/cluster.ts'
import type { Ports } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'
import { JOURNAL_PROMISE_MS } from '../../values/bounds.ts'

type Dependencies = Pick<Ports, 'store' | 'journal' | 'clock' | 'deployment'>

/** A cluster that has a tree. */
type TreeCluster = ClusterRecord & { treeId: string }

async function readTreeCluster({ store, deployment }: Dependencies): Promise<TreeCluster | undefined> {
  const [cluster] = await store.read([key('cluster')])
  const { mode, treeId } = cluster?.data ?? {}
  if (!cluster || (mode !== 'primary' && mode !== 'secondary') || treeId === undefined) return undefined
  if (isCopyOfPrimary(cluster.data, deployment)) return undefined
  return { ...cluster.data, treeId }
}

/** Closes unused positions of a primary that have a later used one behind them. */
export async function closeHoles(ports: Dependencies): Promise<void> {
  if ((await readTreeCluster(ports))?.mode === 'primary') await fillHoles(ports, 'below')
}

/**
 * Keeps the journal of a primary dense and trimmed. The next run finds what one run leaves undone, because it reads the
 * journal.
 */
export async function maintainJournal(ports: Dependencies): Promise<void> {
  const cluster = await readTreeCluster(ports)
  if (!cluster) return
  if (cluster.mode === 'primary') await fillHoles(ports, 'all')
  await trimJournal(ports)
}

/**
 * Brings the hashes of the tree up to date, on a secondary too.
 * @param when `paced`: at the pace that AWS is paid for (`REFRESH_PACE_MS`); `now`: whatever it costs
 */
export async function refreshHashes(ports: Dependencies, when: 'paced' | 'now'): Promise<void> {
  const { journal, clock } = ports
  const cluster = await readTreeCluster(ports)
  if (!cluster) return
  const head = await journal.head()
  if (head?.mode !== (cluster.mode === 'primary' ? 'writing' : 'applying')) return
  const now = Math.floor(clock.now() / 1000)
  await refreshTree({ journal, treeId: cluster.treeId, head, now }, { paced: when === 'paced' })
}

/** Milliseconds, about, between two moves of the beginning. */
const TRIM_STEP_MS = 12 * 3600 * 1000

/**
 * Moves the position from which this cluster keeps its journal: journal entries that the engine may delete soon are no longer
 * read. A cluster that needs them fetches everything instead.
 * @see docs/spec/journal.md#density-and-the-end-of-an-epoch
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
  // the lowest position whose journal entry is younger, by halving; below `applied` journal entries are missing only where
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

/**
 * Whether journal entries that were written tell more than the time. Only a single one is looked at: a journal that is at rest
 * gets one every ten seconds, and several at once contain a commit.
 * @param names sort keys of the journal entries, as a stream tells them
 */
export async function containsChanges(
  { journal }: Pick<Ports, 'journal'>,
  names: readonly unknown[],
): Promise<boolean> {
  const seq = Number(names[0])
  if (names.length !== 1 || !Number.isSafeInteger(seq)) return true
  const head = await journal.head()
  const [entry] = head ? await journal.entries(head.lineage, seq - 1, seq) : []
  return entry?.noop !== true
}
