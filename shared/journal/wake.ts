import type { ClusterRead, Ports } from '../ports.ts'
import { put } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'

/**
 * Makes this cluster's puller look at once: a resting run sees the notice, and if none runs, a new one is started. For some
 * seconds after that it looks often by itself (`bounds.EAGER_MS`).
 */
export async function wakePuller(
  { store, clock, puller }: Pick<Ports, 'store' | 'clock' | 'puller'>,
  cluster: ClusterRead,
): Promise<void> {
  // the notice comes first: a run that ends gives back its lease, and then looks for a notice
  await store.commit([put(key('notice'), { at: clock.now() })], cluster)
  const [lease] = await store.read([key('puller')])
  if (!lease || lease.data.until <= clock.now()) await puller.wake()
}
