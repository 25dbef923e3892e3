import { ApiError } from '../api/errors.ts'
import { isActive, isCopyOfPrimary } from '../model/cluster.ts'
import type { ClusterRead, Ports } from '../ports.ts'
import { key } from '../storage/kinds.ts'

type Dependencies = Pick<Ports, 'store' | 'clock' | 'cipher' | 'deployment'>

/** The cluster record as it is now; undefined when this cluster no longer serves requests. */
export async function activeCluster({
  store,
  clock,
  cipher,
  deployment,
}: Dependencies): Promise<ClusterRead | undefined> {
  const readAt = clock.now()
  const [item] = await store.read([key('cluster')])
  if (!item || !isActive(item.data) || isCopyOfPrimary(item.data, deployment)) return undefined
  cipher.expect(item.data)
  return { record: item.data, readAt }
}

/**
 * The same, for work that takes longer than a commit accepts a record's age.
 * @throws ApiError `busy` when this cluster no longer serves requests
 */
export async function currentCluster(ports: Dependencies): Promise<ClusterRead> {
  const cluster = await activeCluster(ports)
  if (!cluster) throw new ApiError('busy', 'this cluster is changing its role', { retryAfter: 5 })
  return cluster
}
