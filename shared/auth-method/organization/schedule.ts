import { isActiveRecord, isCopyOfPrimary } from '../../model/cluster.ts'
import { isAuthMethodMount } from '../../model/mount.ts'
import { isMapStale } from '../../model/organization.ts'
import type { Ports } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'

const MINUTE_MS = 60_000
/** Minutes between two rounds of an organization. */
const EVERY = 15
/** Minutes in which a round may start, because the minute's run can be late and miss one. */
const STARTING = 2
/** Milliseconds for which a complete round keeps the second of these minutes from starting another one. */
const FRESH_MS = 5 * MINUTE_MS

/**
 * Reports whether the run of this minute starts rounds. It does every fifteen minutes, and after a promotion: the lost
 * primary may have made no rounds for a while, so the map may be too old.
 * @param now epoch milliseconds
 * @param since time of the last change of the cluster's mode, epoch milliseconds
 */
export const startsRounds = (now: number, since = 0): boolean =>
  Math.floor(now / MINUTE_MS) % EVERY < STARTING || now - since < STARTING * MINUTE_MS

/** Starts the due round of each mount that has an organization, and counts the maps that are too old. */
export async function startOrganizationRounds({
  store,
  background,
  clock,
  deployment,
  log,
}: Pick<Ports, 'store' | 'background' | 'clock' | 'deployment' | 'log'>): Promise<void> {
  const [cluster] = await store.read([key('cluster')])
  if (!cluster || !isActiveRecord(cluster.data) || isCopyOfPrimary(cluster.data, deployment)) return
  const now = clock.now()
  if (!startsRounds(now, cluster.data.modeSince)) return
  const [table] = await store.read([key('mounts')])
  const mounts = (table?.data.mounts ?? []).filter(isAuthMethodMount)
  const maps = await store.read(mounts.map(({ accessor }) => key('organization-map', accessor)))
  const stale: string[] = []
  for (const [index, { accessor, path }] of mounts.entries()) {
    const map = maps[index]?.data
    if (!map || now - map.completedAt < FRESH_MS) continue
    if (isMapStale(map, now)) stale.push(path)
    await background.start({ job: 'organization', mount: accessor })
  }
  if (stale.length > 0)
    log.error('organization maps are too old', { mounts: stale }, { IssuerFaults: stale.length })
}
