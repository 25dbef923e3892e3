import type { Ports } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'
import { fill } from '../density.ts'
import { refreshTree } from '../refresh.ts'
import { trimJournal } from './trim.ts'

/**
 * Keeps the journal of a primary dense, and the hashes of the tree up to date, on a secondary too. What one run leaves
 * undone, the next one finds: it looks at the journal, not at what it was told.
 * @param which positions that may be closed: `below` a later one, or `all`
 */
export async function tendJournal(
  ports: Pick<Ports, 'store' | 'journal' | 'clock'>,
  which: 'below' | 'all',
): Promise<void> {
  const { store, journal, clock } = ports
  const [cluster] = await store.read([key('cluster')])
  const { mode, life } = cluster?.data ?? {}
  if ((mode !== 'primary' && mode !== 'secondary') || life === undefined) return
  if (mode === 'primary') await fill(ports, which)
  if (which === 'all') await trimJournal(ports)
  const head = await journal.head()
  if (head?.mode !== (mode === 'primary' ? 'writing' : 'applying')) return
  await refreshTree({ journal, life, head, now: Math.floor(clock.now() / 1000) })
}
