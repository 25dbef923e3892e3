import { eachOf, type JobRun } from '../../jobs/job.ts'
import { isMethod } from '../../mounts/mount.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'
import { settle } from './restamp.ts'
import { startRun } from './run.ts'
import { defaultTidy, type TidyList, tidyLists } from './settings.ts'

/** The schedule's interval, milliseconds. @see auth-behaviour 6, "Periodic" */
const PERIOD_MS = 3_600_000

/**
 * The hourly round: a tidy of every list of every mount whose settings allow it, and everything that an
 * earlier request left unfinished. What goes wrong with one of them does not keep the others waiting.
 */
export async function everyHour(run: JobRun): Promise<void> {
  const [table] = await run.ports.store.read([key('mounts')])
  if (!table) return
  await eachOf(table.data.mounts.filter(isMethod), async ({ accessor }) => {
    for (const list of tidyLists)
      await separately(run, accessor, cluster => startList(run, cluster, accessor, list))
    await separately(run, accessor, () => startDropping(run.ports, accessor))
    return true
  })
  await eachOf(table.data.removing, async ({ accessor }) => {
    await separately(run, accessor, () =>
      run.ports.background.start({ job: 'remove-mount', mount: accessor }),
    )
    return true
  })
}

async function separately(
  run: JobRun,
  mount: string,
  work: (cluster: ClusterRead) => Promise<void>,
): Promise<void> {
  try {
    const cluster = await run.cluster()
    if (cluster) await work(cluster)
  } catch (error) {
    run.ports.log.error('hourly round', { mount, cause: String(error) })
  }
}

async function startList(
  { ports }: JobRun,
  cluster: ClusterRead,
  mount: string,
  list: TidyList,
): Promise<void> {
  const [settings, last] = await ports.store.read([
    key('tidy-settings', mount, list),
    key('tidy-stamp', mount, list),
  ])
  await settle(ports, cluster, { mount, list }, settings, last)
  const { disablePeriodicTidy, safetyBuffer } = settings?.data ?? defaultTidy
  if (disablePeriodicTidy) return
  await startRun(ports, cluster, {
    mount,
    list,
    buffer: safetyBuffer,
    period: PERIOD_MS,
  })
}

async function startDropping({ store, background }: Ports, mount: string): Promise<void> {
  const [client] = await store.read([key('client-config', mount)])
  if (client?.data.previousSecretKey) await background.start({ job: 'drop-old-key', mount })
}
