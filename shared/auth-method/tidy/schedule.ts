import type { JobRun } from '../../jobs/job.ts'
import { isMethod } from '../../mounts/mount.ts'
import { key } from '../../storage/kinds.ts'
import { settle } from './restamp.ts'
import { acquire } from './run.ts'
import { defaultTidy, tidyLists } from './settings.ts'

/** The schedule's interval, milliseconds. @see auth-behaviour 6, "Periodic" */
export const PERIOD_MS = 3_600_000

/**
 * The hourly round: a tidy of every list of every mount whose settings allow it, and everything that an
 * earlier request left unfinished.
 */
export async function everyHour(run: JobRun): Promise<void> {
  const { ports } = run
  const cluster = await run.cluster()
  const [table] = await ports.store.read([key('mounts')])
  if (!cluster || !table) return
  for (const mount of table.data.mounts.filter(isMethod)) {
    const [client] = await ports.store.read([key('client-config', mount.accessor)])
    for (const list of tidyLists) {
      const [settings, last] = await ports.store.read([
        key('tidy-settings', mount.accessor, list),
        key('tidy-stamp', mount.accessor, list),
      ])
      await settle(ports, cluster, { mount: mount.accessor, list }, settings, last)
      const { disablePeriodicTidy, safetyBuffer } = settings?.data ?? defaultTidy
      if (disablePeriodicTidy) continue
      const runner = await acquire(ports, cluster, mount.accessor, list, ports.clock.now() + PERIOD_MS)
      if (runner === undefined) continue
      await ports.background.start({ job: 'tidy', mount: mount.accessor, list, buffer: safetyBuffer, runner })
    }
    if (client?.data.previousSecretKey)
      await ports.background.start({ job: 'drop-old-key', mount: mount.accessor })
  }
  for (const { accessor } of table.data.removing)
    await ports.background.start({ job: 'remove-mount', mount: accessor })
}
