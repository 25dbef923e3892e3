import { noteEvent } from '../../journal/events.ts'
import type { Place } from '../../journal/journal.ts'
import { replace } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { afterRound, divergingOf } from './diverging.ts'
import type { Follower } from './follower.ts'

/** Names of keys that an entry of the audit log or of the log has room for. */
const NAMED = 20

/**
 * Counts a round of keys that are not as the primary has them. Those that three syncs have not brought in line are
 * given up: they are named, and from then on nothing waits for them.
 * @returns those that another sync may bring in line; `stop`: there are too many; `again`: somebody else counts too
 */
export async function countRound(
  { own, cluster, treeId, linkName }: Pick<Follower, 'own' | 'cluster' | 'treeId' | 'linkName'>,
  wrong: readonly Place[],
): Promise<readonly Place[] | 'stop' | 'again'> {
  const read = await cluster()
  if (!read) return 'again'
  const place = key('diverging')
  const [before] = await own.store.read([place])
  const now = own.clock.now()
  const known = divergingOf(before, { treeId, link: linkName })
  const { keys, fallen, left, tooMany } = afterRound(known, wrong, now)
  if (fallen.length > 0) {
    const items = fallen.slice(0, NAMED).map(({ kind, pk, sk }) => `${kind} ${pk}/${sk}`)
    const facts = { count: fallen.length, items }
    own.log.error('items do not stay in line with the primary, and are given up', {
      ...facts,
      reason: 'check the tree of the primary; then POST sys/replication/recover here',
    })
    await noteEvent('divergence', linkName, read.record, facts, own)
  }
  const written = await own.store.commit([replace(place, before, { treeId, link: linkName, keys })], read)
  if (written === 'conflict') return 'again'
  return tooMany ? 'stop' : left
}
