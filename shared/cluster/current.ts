import { ApiError } from '../api/errors.ts'
import type { ClusterRead, Ports } from '../ports.ts'
import { key } from '../storage/kinds.ts'
import { isActive } from './record.ts'

/**
 * The cluster record as it is now, for work that takes longer than a commit accepts a record's age.
 * @throws ApiError `busy` when this cluster does not serve any more
 */
export async function currentCluster({
  store,
  clock,
  sealer,
}: Pick<Ports, 'store' | 'clock' | 'sealer'>): Promise<ClusterRead> {
  const readAt = clock.now()
  const [item] = await store.read([key('cluster')])
  if (!item || !isActive(item.data))
    throw new ApiError('busy', 'this cluster is changing its role', { retryAfter: 5 })
  sealer.expect(item.data.keyring)
  return { record: item.data, readAt }
}
