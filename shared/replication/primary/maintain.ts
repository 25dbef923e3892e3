import { fillJournalHoles } from '../../journal/density.ts'
import { refreshTreeHashes } from '../../journal/refresh.ts'
import { headMoves } from '../../journal/transitions.ts'
import { type ClusterRecord, isCopyOfPrimary } from '../../model/cluster.ts'
import type { Ports } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'
import { JOURNAL_PROMISED_FOR_MS } from '../../values/bounds.ts'

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

/** Closes the unused positions of a primary below its last used position. */
export async function closeJournalHoles(ports: Dependencies): Promise<void> {
  if ((await readTreeCluster(ports))?.mode === 'primary') await fillJournalHoles(ports, 'below')
}

/**
 * Closes unused positions of a primary, and trims the journal. The next run continues at the place where the
 * previous run stopped, because it reads the journal.
 */
export async function maintainJournal(ports: Dependencies): Promise<void> {
  const cluster = await readTreeCluster(ports)
  if (!cluster) return
  if (cluster.mode === 'primary') await fillJournalHoles(ports, 'all')
  await trimJournal(ports)
}

/**
 * Refreshes the hashes of the tree, on primary and secondary.
 * @param when `paced`: as often as `REFRESH_PACE_MS` allows, because AWS bills each refresh; `now`: immediately
 */
export async function refreshDueTreeHashes(ports: Dependencies, when: 'paced' | 'now'): Promise<void> {
  const { journal, clock } = ports
  const cluster = await readTreeCluster(ports)
  if (!cluster) return
  const head = await journal.head()
  if (head?.mode !== (cluster.mode === 'primary' ? 'writing' : 'applying')) return
  const now = Math.floor(clock.now() / 1000)
  await refreshTreeHashes({ journal, treeId: cluster.treeId, head, now }, { paced: when === 'paced' })
}

/** Minimum time between two moves of `retainedFrom`, milliseconds. */
const TRIM_STEP_MS = 12 * 3600 * 1000

/**
 * Advances `retainedFrom`: older journal entries, which DynamoDB may delete soon, are no longer read. A secondary
 * that needs these entries runs a full sync instead.
 * @see docs/spec/journal.md#density-and-the-end-of-an-epoch
 */
export async function trimJournal({ journal, clock }: Pick<Ports, 'journal' | 'clock'>): Promise<void> {
  const head = await journal.head()
  if (!head || head.mode === 'syncing' || head.mode === 'draining' || head.retainedFrom >= head.applied)
    return
  const { retainedFrom, lineage, applied } = head
  const oldest = clock.now() - JOURNAL_PROMISED_FOR_MS
  const at = async (seq: number): Promise<number> =>
    (await journal.entries(lineage, seq - 1, seq))[0]?.at ?? 0
  if ((await at(retainedFrom + 1)) > oldest - TRIM_STEP_MS) return
  // Binary search for the lowest position with a younger journal entry. Below `applied`, journal entries are only missing
  // if they were deleted.
  let low = retainedFrom + 1
  let high = applied + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((await at(middle)) >= oldest) high = middle
    else low = middle + 1
  }
  await journal.moveHead(headMoves.trim(head, low - 1))
}

/**
 * Reports whether new journal entries contain changes. An idle journal gets an empty entry every ten seconds, one
 * at a time, so this function reads only a single entry.
 * @param names sort keys of the journal entries, from the table stream
 */
export async function containsTreeChanges(
  { journal }: Pick<Ports, 'journal'>,
  names: readonly unknown[],
): Promise<boolean> {
  const seq = Number(names[0])
  if (names.length !== 1 || !Number.isSafeInteger(seq)) return true
  const head = await journal.head()
  const [entry] = head ? await journal.entries(head.lineage, seq - 1, seq) : []
  return entry?.noop !== true
}
