import { fill } from '../../journal/density.ts'
import { refreshTree } from '../../journal/refresh.ts'
import { type ClusterRecord, isCopyOfPrimary } from '../../model/cluster.ts'
import type { Ports } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'
import { trimJournal } from './trim.ts'

type Dependencies = Pick<Ports, 'store' | 'journal' | 'clock' | 'deployment'>

/** A cluster that has a tree. */
type Keeping = ClusterRecord & { treeId: string }

async function keeping({ store, deployment }: Dependencies): Promise<Keeping | undefined> {
  const [cluster] = await store.read([key('cluster')])
  const { mode, treeId } = cluster?.data ?? {}
  if (!cluster || (mode !== 'primary' && mode !== 'secondary') || treeId === undefined) return undefined
  if (isCopyOfPrimary(cluster.data, deployment)) return undefined
  return { ...cluster.data, treeId }
}

/** Closes positions of a primary that nobody has taken, where a later one is taken. */
export async function closeHoles(ports: Dependencies): Promise<void> {
  if ((await keeping(ports))?.mode === 'primary') await fill(ports, 'below')
}

async function refreshHashes({ journal, clock }: Dependencies, { mode, treeId }: Keeping): Promise<void> {
  const head = await journal.head()
  if (head?.mode !== (mode === 'primary' ? 'writing' : 'applying')) return
  await refreshTree({ journal, treeId, head, now: Math.floor(clock.now() / 1000) })
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
