import { fill } from '../../journal/density.ts'
import { refreshTree } from '../../journal/refresh.ts'
import { moves } from '../../journal/transitions.ts'
import { type ClusterRecord, isCopyOfPrimary } from '../../model/cluster.ts'
import type { Ports } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'
import { JOURNAL_PROMISE_MS } from '../../values/bounds.ts'

type Dependencies = Pick<Ports, 'store' | 'journal' | 'clock' | 'deployment'>

/** A cluster that has a tree. */
type Keeping = ClusterRecord & { treeId: string }

async function readKeeping({ store, deployment }: Dependencies): Promise<Keeping | undefined> {
  const [cluster] = await store.read([key('cluster')])
  const { mode, treeId } = cluster?.data ?? {}
  if (!cluster || (mode !== 'primary' && mode !== 'secondary') || treeId === undefined) return undefined
  if (isCopyOfPrimary(cluster.data, deployment)) return undefined
  return { ...cluster.data, treeId }
}

/** Closes unused positions of a primary that have a later used one behind them. */
export async function closeHoles(ports: Dependencies): Promise<void> {
  if ((await readKeeping(ports))?.mode === 'primary') await fill(ports, 'below')
}

/** @returns how many pages were computed */
async function refreshHashes({ journal, clock }: Dependencies, { mode, treeId }: Keeping): Promise<number> {
  const head = await journal.head()
  if (head?.mode !== (mode === 'primary' ? 'writing' : 'applying')) return 0
  return refreshTree({ journal, treeId, head, now: Math.floor(clock.now() / 1000) })
}

/**
 * Keeps the journal of a primary dense, and the hashes of the tree up to date, on a secondary too. The next run finds what
 * one run leaves undone, because it reads the journal.
 * @param which positions that may be closed: `below` a later one, or `all`
 */
export async function maintainJournal(ports: Dependencies, which: 'below' | 'all'): Promise<void> {
  const cluster = await readKeeping(ports)
  if (!cluster) return
  if (cluster.mode === 'primary') await fill(ports, which)
  if (which === 'all') await trimJournal(ports)
  await refreshHashes(ports, cluster)
}

/** Milliseconds between two refreshes. Readers of the tree make up for what hashes are behind. */
const REFRESH_PAUSE_MS = { least: 1000, aPage: 100, most: 30_000 }
/** Milliseconds that somebody waits for the next one, while new journal entries wait behind it. */
const MOST_WAITED_MS = 4000

/**
 * Refreshes hashes under steady commits, ten pages a second: each is read whole, some 13 read units, and under many commits
 * all of them have changed.
 * @returns a function that does it, for one environment, unless it is left to others or to the minute. `more`: others
 * will ask soon
 */
export function pacedRefresh(ports: Dependencies): (more: boolean) => Promise<void> {
  const { clock } = ports
  let due = 0
  return async more => {
    const early = due - clock.now()
    if (early > (more ? 0 : MOST_WAITED_MS)) return
    await clock.sleep(Math.max(0, early))
    const cluster = await readKeeping(ports)
    const pages = cluster ? await refreshHashes(ports, cluster) : 0
    const { least, aPage, most } = REFRESH_PAUSE_MS
    due = clock.now() + Math.min(most, Math.max(least, aPage * pages))
  }
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
