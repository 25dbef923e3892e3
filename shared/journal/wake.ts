import type { ClusterRead, Ports } from '../ports.ts'
import { putItem } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'

/**
 * Makes this cluster's follower fetch at once: a resting run sees the notice, and if no run is active, a new run
 * starts. For some seconds afterwards the run checks for new entries often (`bounds.EAGER_MS`).
 */
export async function wakePuller(
  { store, clock, puller }: Pick<Ports, 'store' | 'clock' | 'puller'>,
  cluster: ClusterRead,
): Promise<void> {
  // the notice is stored first, because a run that ends releases its lease and then checks for a notice
  await store.commit([putItem(key('notice'), { at: clock.now() })], cluster)
  const [lease] = await store.read([key('puller')])
  if (!lease || lease.data.until <= clock.now()) await puller.wake()
}
