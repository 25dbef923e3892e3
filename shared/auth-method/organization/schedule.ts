import { isActiveRecord } from '../../model/cluster.ts'
import { isAuthMethodMount } from '../../model/mount.ts'
import { isMapStale } from '../../model/organization.ts'
import type { Ports } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'

const MINUTE_MS = 60_000
/** Minutes between two rounds of an organization. */
const EVERY = 15

/** Reports whether the run of this minute starts rounds. @param now epoch milliseconds */
export const startsRounds = (now: number): boolean => Math.floor(now / MINUTE_MS) % EVERY === 0

/** Starts a round for each mount that has an organization, and counts the maps that are too old. */
export async function startOrganizationRounds({
  store,
  background,
  clock,
  log,
}: Pick<Ports, 'store' | 'background' | 'clock' | 'log'>): Promise<void> {
  const [table, cluster] = await store.read([key('mounts'), key('cluster')])
  if (!table || !cluster || !isActiveRecord(cluster.data)) return
  const mounts = table.data.mounts.filter(isAuthMethodMount)
  const maps = await store.read(mounts.map(({ accessor }) => key('organization-map', accessor)))
  const stale: string[] = []
  for (const [index, { accessor, path }] of mounts.entries()) {
    const map = maps[index]?.data
    if (!map) continue
    if (isMapStale(map, clock.now())) stale.push(path)
    await background.start({ job: 'organization', mount: accessor })
  }
  if (stale.length > 0)
    log.error('organization maps are too old', { mounts: stale }, { IssuerFaults: stale.length })
}
