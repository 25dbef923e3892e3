import { fill } from '../../journal/density.ts'
import { refreshTree } from '../../journal/refresh.ts'
import { type ClusterRecord, isCopyOfPrimary } from '../../model/cluster.ts'
import type { Ports } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'
import { JOURNAL_PROMISE_MS } from '../../values/bounds.ts'

type Dependencies = Pick<Ports, 'store' | 'journal' | 'clock' | 'deployment'>

/** A cluster that has a tree. */
type Keeping = ClusterRecord & { life: string }

async function keeping({ store, deployment }: Dependencies): Promise<Keeping | undefined> {
  const [cluster] = await store.read([key('cluster')])
  const { mode, life } = cluster?.data ?? {}
  if (!cluster || (mode !== 'primary' && mode !== 'secondary') || life === undefined) return undefined
  if (isCopyOfPrimary(cluster.data, deployment)) return undefined
  return { ...cluster.data, life }
}

/** Closes positions of a primary that nobody has taken, where a later one is taken. */
export async function closeHoles(ports: Dependencies): Promise<void> {
  if ((await keeping(ports))?.mode === 'primary') await fill(ports, 'below')
}

async function refreshHashes({ journal, clock }: Dependencies, { mode, life }: Keeping): Promise<void> {
  const head = await journal.head()
  if (head?.mode !== (mode === 'primary' ? 'writing' : 'applying')) return
  await refreshTree({ journal, life, head, now: Math.floor(clock.now() / 1000) })
}

/**
 * Keeps the journal of a primary dense, and the hashes of the tree up to date, on a secondary too. What one run leaves
 * undone, the next one finds: it looks at the journal, not at what it was told.
 * @param which positions that may be closed: `below` a later one, or `all`
 */
export async function tendJournal(ports: Dependencies, which: 'below' | 'all'): Promise<void> {
  const cluster = await keeping(ports)
  if (!cluster) return
  if (cluster.mode === 'primary') await fill(ports, which)
  if (which === 'all') await trimJournal(ports)
  await refreshHashes(ports, cluster)
}

/** Milliseconds between two refreshes, at least; and how long one may be put off. */
const PACE = { least: 1000, most: 4000 }

/**
 * Refreshes hashes where cells are written all the time: each refresh reads every page that has changed, so that without a
 * pause the tables would do nothing else. A pause is twice as long as the refresh took.
 * @returns a function that does it, for one environment. `more`: others will ask soon, and it may be left to them
 */
export function pacedRefresh(ports: Dependencies): (more: boolean) => Promise<void> {
  const { clock } = ports
  let due = 0
  return async more => {
    if (more && clock.now() < due) return
    await clock.sleep(Math.max(0, due - clock.now()))
    const began = clock.now()
    const cluster = await keeping(ports)
    if (cluster) await refreshHashes(ports, cluster)
    const ended = clock.now()
    due = ended + Math.min(PACE.most, Math.max(PACE.least, 2 * (ended - began)))
  }
}

/** Milliseconds, about, between two moves of the beginning. */
const STEP = 12 * 3600 * 1000

/**
 * Moves the beginning of what this cluster promises of its journal: cells that the engine may delete soon are read by
 * nobody any more. Whoever needs them fetches everything instead.
 * @see docs/spec/replication.md#density-and-the-end-of-an-epoch
 */
export async function trimJournal({ journal, clock }: Pick<Ports, 'journal' | 'clock'>): Promise<void> {
  const head = await journal.head()
  if (!head || head.mode === 'syncing' || head.mode === 'draining' || head.from >= head.done) return
  const { mode, epoch, hold, from, line, done } = head
  const oldest = clock.now() - JOURNAL_PROMISE_MS
  const at = async (seq: number): Promise<number> => (await journal.cells(line, seq - 1, seq))[0]?.at ?? 0
  if ((await at(from + 1)) > oldest - STEP) return
  // the lowest position whose cell is younger, by halving; below `done` cells are missing only where they were deleted
  let low = from + 1
  let high = done + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((await at(middle)) >= oldest) high = middle
    else low = middle + 1
  }
  await journal.moveHead({ mode, epoch, hold, from }, { from: low - 1 })
}
