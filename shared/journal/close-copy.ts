import { createEmptyLink, isRestoredCopy, linkToPrimaryOf } from '../model/cluster.ts'
import type { Ports } from '../ports.ts'
import { replaceItem } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { stepDownAsPrimary } from './step-down.ts'
import { headMoves } from './transitions.ts'

type Dependencies = Pick<Ports, 'store' | 'journal' | 'clock' | 'audit' | 'entropy' | 'deployment' | 'log'>

/**
 * Ends the role of a cluster whose tables are a restored copy. A primary steps down, because its set has continued
 * without it and may have used the same positions since. The former primary becomes a secondary without a primary.
 * The cluster will fetch all items from its next primary, because restored tables mix states of several moments. A
 * secondary loses its link, because the original cluster has the same name and key, and a primary could hand over
 * to either cluster.
 * @see docs/runbooks/restore.md
 */
export async function handleRestoredCopy(ports: Dependencies): Promise<void> {
  const { store, journal, entropy, deployment, log } = ports
  const readAt = ports.clock.now()
  const [record] = await store.read([key('cluster')])
  if (!record || !isRestoredCopy(record.data, deployment)) return
  if (record.data.mode === 'secondary') return leavePrimary(ports, record, readAt)
  if (record.data.mode !== 'primary') return
  await journal.moveHead(headMoves.distrustOwn({}))
  await stepDownAsPrimary(ports, { reason: 'restored', epoch: record.data.epoch ?? '' }, entropy.uuid())
  log.error(
    'the tables of this cluster are a restored copy: this cluster is no longer the primary of its set',
    {
      reason:
        'POST sys/replication/dr/secondary/disable or secondary/update-primary decides the new role of this cluster',
    },
  )
}

/** Stores a link name that does not exist in the head, so that everything that arrives by the old link is refused. */
async function leavePrimary(
  { store, journal, entropy, log }: Dependencies,
  record: Item<'cluster'>,
  readAt: number,
): Promise<void> {
  const { link } = record.data
  if (!link || !linkToPrimaryOf(record.data)) return
  const name = entropy.uuid()
  await journal.moveHead(headMoves.distrustCopy({}, name))
  // the copy gets a new id, because epochs are named after the id, and the original cluster keeps the old one
  const alone = { ...record.data, id: entropy.uuid(), link: { ...createEmptyLink(link.ownKey), name } }
  await store.commit([replaceItem(record, record, alone)], { record: record.data, readAt })
  log.error('the tables of this cluster are a restored copy: this cluster no longer follows its primary', {
    reason:
      'POST sys/replication/dr/secondary/disable or secondary/update-primary decides the new role of this cluster',
  })
}
