import { isRestoredCopy, makeEmptyLink, primaryOf } from '../model/cluster.ts'
import type { Ports } from '../ports.ts'
import { replace } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { stepDown } from './step-down.ts'
import { moves } from './transitions.ts'

type Dependencies = Pick<Ports, 'store' | 'journal' | 'clock' | 'audit' | 'entropy' | 'deployment' | 'log'>

/**
 * Ends the role of a cluster whose tables are a restored copy. A primary steps down: its set has gone on without it and
 * may have used the same positions since. It becomes a secondary that follows nobody, and fetches everything from its
 * next primary, because restored tables mix states of several moments.
 * A secondary loses its link: the original cluster has the same name and key, and either of the two could be handed the
 * primary's role.
 * @see docs/runbooks/restore.md
 */
export async function handleRestoredCopy(ports: Dependencies): Promise<void> {
  const { store, journal, entropy, deployment, log } = ports
  const readAt = ports.clock.now()
  const [record] = await store.read([key('cluster')])
  if (!record || !isRestoredCopy(record.data, deployment)) return
  if (record.data.mode === 'secondary') return leavePrimary(ports, record, readAt)
  if (record.data.mode !== 'primary') return
  await journal.moveHead(moves.distrustOwn({}))
  await stepDown(ports, { reason: 'restored', epoch: record.data.epoch ?? '' }, entropy.uuid())
  log.error('these tables are a restored copy: this cluster is not the primary of its set any more', {
    reason: 'POST sys/replication/dr/secondary/disable or secondary/update-primary decides what it becomes',
  })
}

/** Names a link in the head that does not exist, so that whatever arrives by the old one is refused. */
async function leavePrimary(
  { store, journal, entropy, log }: Dependencies,
  record: Item<'cluster'>,
  readAt: number,
): Promise<void> {
  const { link } = record.data
  if (!link || !primaryOf(record.data)) return
  const name = entropy.uuid()
  await journal.moveHead(moves.distrustCopy({}, name))
  // if another primary admits it, it is a cluster of its own: its epochs are named after its id
  const alone = { ...record.data, id: entropy.uuid(), link: { ...makeEmptyLink(link.ownKey), name } }
  await store.commit([replace(record, record, alone)], { record: record.data, readAt })
  log.error('these tables are a restored copy: this cluster does not follow its primary any more', {
    reason: 'POST sys/replication/dr/secondary/disable or secondary/update-primary decides what it becomes',
  })
}
