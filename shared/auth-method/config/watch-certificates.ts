import { X509Certificate } from 'node:crypto'
import { processEach } from '../../jobs/job.ts'
import { isAuthMethodMount } from '../../model/mount.ts'
import type { Ports } from '../../ports.ts'
import { itemPartitions, key } from '../../storage/kinds.ts'
import { logDaysUntilExpiry } from '../../watching/notice.ts'

/** A registered certificate and its expiry, epoch milliseconds. */
interface Ending {
  mount: string
  name: string
  endsAt: number
}

/**
 * Logs the days until the first registered certificate expires. If no certificate is registered, the function logs
 * nothing.
 */
export async function watchCertificates({
  store,
  clock,
  log,
}: Pick<Ports, 'store' | 'clock' | 'log'>): Promise<void> {
  const [table] = await store.read([key('mounts')])
  const found: Ending[] = []
  await processEach(
    (table?.data.mounts ?? []).filter(isAuthMethodMount),
    async ({ accessor, path: mount }) => {
      for (const { sk: name, data } of await store.list(itemPartitions('certificate', accessor)))
        found.push({ mount, name, endsAt: new X509Certificate(data.pem).validToDate.getTime() })
      return true
    },
  )
  const [first] = found.toSorted((a, b) => a.endsAt - b.endsAt)
  if (!first) return
  const { endsAt, ...named } = first
  const message = 'time until the first registered certificate expires'
  logDaysUntilExpiry({ clock, log }, message, named, { endsAt, metric: 'CertificateDays' })
}
