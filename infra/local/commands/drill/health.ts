import { type ServingInterruptions, watchServing } from '../../../../shared/replication/drill/watch.ts'
import { systemSetClock } from '../../../command/set/look.ts'
import type { LocalHost } from '../../host/host.ts'

const HEALTH_LOOK_PAUSE_MS = 20

type Asked = Pick<LocalHost, 'base_url'>

/** Samples `sys/health` of clusters every 20 ms. @returns a function that ends the watch */
export const watchClusterHealth = (clusters: readonly Asked[]): (() => Promise<ServingInterruptions>) =>
  watchServing(
    async () => (await Promise.all(clusters.map(readServing))).flat(),
    systemSetClock,
    HEALTH_LOOK_PAUSE_MS,
  )

/** Returns the answer of a serving cluster, or an empty list. */
async function readServing({ base_url }: Asked): Promise<string[]> {
  const answer = await fetch(`${base_url}/sys/health`).catch(() => undefined)
  const text = await answer?.text().catch(() => undefined)
  return answer?.status === 200 ? [text ?? ''] : []
}
