import type { ClusterRead, Ports } from '../ports.ts'
import { put } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'

/**
 * Has whoever follows the primary look at once: the run that rests, which sees the notice, or a new one where none runs.
 * For some seconds more it looks often by itself (`EAGER_MS` in `secondary/rest.ts`).
 */
export async function wakePuller(
  { store, clock, puller }: Pick<Ports, 'store' | 'clock' | 'puller'>,
  cluster: ClusterRead,
): Promise<void> {
  // the notice first: a run that ends gives its lease back, and then looks for one
  await store.commit([put(key('notice'), { at: clock.now() })], cluster)
  const [lease] = await store.read([key('puller')])
  if (!lease || lease.data.until <= clock.now()) await puller.wake()
}
