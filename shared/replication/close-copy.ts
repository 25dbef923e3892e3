import { isRestoredCopy } from '../model/cluster.ts'
import type { Ports } from '../ports.ts'
import { key } from '../storage/kinds.ts'
import { stepDown } from './step-down.ts'

/**
 * A primary that finds itself in restored tables ceases to be one: the set has gone on without it, and the same
 * positions may have been given away since. It becomes a secondary that follows nobody; whom it follows, it fetches
 * everything from, for its tables are not of one moment.
 * @see docs/runbooks/restore.md
 */
export async function closeCopy(
  ports: Pick<Ports, 'store' | 'journal' | 'clock' | 'audit' | 'entropy' | 'deployment' | 'log'>,
): Promise<void> {
  const { store, journal, entropy, deployment, log } = ports
  const [record] = await store.read([key('cluster')])
  if (record?.data.mode !== 'primary' || !isRestoredCopy(record.data, deployment)) return
  for (const mode of ['writing', 'closed'] as const)
    await journal.moveHead({ mode }, { dirty: 'all', dirtyFrom: '' })
  await stepDown(ports, { reason: 'restored', epoch: record.data.epoch ?? '' }, entropy.uuid())
  log.error('these tables are a restored copy: this cluster is not the primary of its set any more', {
    reason: 'POST sys/replication/dr/secondary/disable or secondary/update-primary says what it shall be',
  })
}
