import { withoutKey } from '../../cluster/recovery.ts'
import { isOfThisEpoch } from '../../link/admin/secondaries.ts'
import { FORMAT } from '../../link/source.ts'
import { type ClusterRecord, isActive, isCopyOfPrimary, isVerified } from '../../model/cluster.ts'
import type { Secondary } from '../../model/link.ts'
import type { Ports } from '../../ports.ts'
import { replace } from '../../storage/changes.ts'
import { key, partitions } from '../../storage/kinds.ts'

type Dependencies = Pick<Ports, 'store' | 'cipher' | 'clock' | 'deployment' | 'log'>

/**
 * Whether every cluster that may follow this one has told by a heartbeat that it reads what this version stores. An
 * unused token admits no cluster that does not.
 */
export const allReadThis = (all: readonly Secondary[], record: Pick<ClusterRecord, 'epoch'>): boolean =>
  all
    .filter(one => one.activatedAt !== undefined && one.revokedAt === undefined && isOfThisEpoch(one, record))
    .every(({ heartbeat }) => (heartbeat?.format ?? 0) >= FORMAT)

/**
 * Replaces a recovery key that an earlier version has stored by what verifies it, once every secondary reads that. Its
 * shares stay good. May be left at any point and repeated at any time.
 * @see docs/spec/keys.md#recovery-shares
 */
export async function forgetRecoveryKey({
  store,
  cipher,
  clock,
  deployment,
  log,
}: Dependencies): Promise<void> {
  const readAt = clock.now()
  const [cluster, stored] = await store.read([key('cluster'), key('recovery-key')])
  if (!cluster || !stored || isVerified(stored.data)) return
  const record = cluster.data
  if (!isActive(record) || isCopyOfPrimary(record, deployment)) return
  const secondaries = (await store.list(partitions('secondary'))).map(({ data }) => data)
  if (!allReadThis(secondaries, record)) return
  cipher.expect(record)
  const verified = await withoutKey(stored.data, cipher, readAt)
  if ((await store.commit([replace(stored, stored, verified)], { record, readAt })) === 'done')
    log.info('the recovery key is not stored any more', { shares: verified.shares })
}
