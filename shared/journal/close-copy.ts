import { emptyLink, isRestoredCopy, primaryOf } from '../model/cluster.ts'
import type { Ports } from '../ports.ts'
import { replace } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { stepDown } from './step-down.ts'
import { moves } from './transitions.ts'

type Dependencies = Pick<Ports, 'store' | 'journal' | 'clock' | 'audit' | 'entropy' | 'deployment' | 'log'>

/**
 * A primary that finds itself in restored tables ceases to be one: the set has gone on without it, and the same
 * positions may have been given away since. It becomes a secondary that follows nobody; whom it follows, it fetches
 * everything from, for its tables are not of one moment.
 * So does a secondary: beside the cluster that it was copied from there would be two of one name and one key, and each
 * of them could be handed the primary's role.
 * @see docs/runbooks/restore.md
 */
export async function closeCopy(ports: Dependencies): Promise<void> {
  const { store, journal, entropy, deployment, log } = ports
  const readAt = ports.clock.now()
  const [record] = await store.read([key('cluster')])
  if (!record || !isRestoredCopy(record.data, deployment)) return
  if (record.data.mode === 'secondary') return leavePrimary(ports, record, readAt)
  if (record.data.mode !== 'primary') return
  await journal.moveHead(moves.distrustOwn({}))
  await stepDown(ports, { reason: 'restored', epoch: record.data.epoch ?? '' }, entropy.uuid())
  log.error('these tables are a restored copy: this cluster is not the primary of its set any more', {
    reason: 'POST sys/replication/dr/secondary/disable or secondary/update-primary says what it shall be',
  })
}

/** The head names a link that nobody has: from then on nothing is taken that comes by the old one. */
async function leavePrimary(
  { store, journal, entropy, log }: Dependencies,
  record: Item<'cluster'>,
  readAt: number,
): Promise<void> {
  const { link } = record.data
  if (!link || !primaryOf(record.data)) return
  const name = entropy.uuid()
  await journal.moveHead(moves.distrustCopy({}, name))
  // whom another primary admits is a cluster of its own: its epochs are named after its id
  const alone = { ...record.data, id: entropy.uuid(), link: { ...emptyLink(link.ownKey), name } }
  await store.commit([replace(record, record, alone)], { record: record.data, readAt })
  log.error('these tables are a restored copy: this cluster does not follow its primary any more', {
    reason: 'POST sys/replication/dr/secondary/disable or secondary/update-primary says what it shall be',
  })
}
