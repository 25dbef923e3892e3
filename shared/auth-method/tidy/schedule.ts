import { type JobRun, processEach } from '../../jobs/job.ts'
import { isAuthMethodMount } from '../../model/mount.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { createBackfillJob } from '../../replication/primary/enable.ts'
import { key } from '../../storage/kinds.ts'
import { scheduleTtlUpdate } from './restamp.ts'
import { startTidyRun } from './run.ts'
import { defaultTidySettings, type TidyList, tidyLists } from './settings.ts'

/** Interval of the scheduled tidy, milliseconds. @see docs/spec/configuration.md#tidying */
const TIDY_PERIOD_MS = 3_600_000

/**
 * Runs once an hour. Tidies each list of each mount whose settings allow it, and finishes the background work of earlier
 * requests. If one mount fails, the run goes on with the others.
 * @throws if any part failed, so that the run counts as failed and is retried
 */
export async function runHourlyTidy(run: JobRun): Promise<void> {
  const [table] = await run.ports.store.read([key('mounts')])
  if (!table) return
  const { mounts, removing } = table.data
  const ofMounts = await processEach(mounts.filter(isAuthMethodMount), async ({ accessor }) => {
    const lists = tidyLists.map(list => (cluster: ClusterRead) => startList(run, cluster, accessor, list))
    return separately(run, accessor, [...lists, () => startDropping(run.ports, accessor)])
  })
  const ofRemovals = await processEach(removing, ({ accessor }) =>
    separately(run, accessor, [() => run.ports.background.start({ job: 'remove-mount', mount: accessor })]),
  )
  const failed = ofMounts.failed + ofRemovals.failed
  if (failed > 0)
    throw new Error(`the hourly round failed for ${failed} of ${mounts.length + removing.length} mounts`)
  await lookForStragglers(run)
}

/** Number of passes through the table in the hours after the journal was enabled. */
const LATE_PASSES = 3

/**
 * Starts a pass that finds items written without the journal after it was enabled. The later hourly runs repeat
 * this pass.
 */
async function lookForStragglers(run: JobRun): Promise<void> {
  const { store, background } = run.ports
  const [cluster, reindex] = await store.read([key('cluster'), key('reindex')])
  const { treeId, treeComplete } = cluster?.data ?? {}
  if (
    treeId === undefined ||
    !treeComplete ||
    reindex?.data.treeId !== treeId ||
    reindex.data.late >= LATE_PASSES
  )
    return
  await background.start({ ...createBackfillJob(treeId, 0) })
}

/** Runs the parts of the hourly run one after the other, even if one part fails. @throws if any part failed */
async function separately(
  run: JobRun,
  mount: string,
  parts: readonly ((cluster: ClusterRead) => Promise<void>)[],
): Promise<true> {
  let failed = 0
  for (const part of parts) {
    try {
      const cluster = await run.cluster()
      if (cluster) await part(cluster)
    } catch (error) {
      run.ports.log.error('hourly round', { mount, cause: String(error) })
      failed += 1
    }
  }
  if (failed > 0) throw new Error(`${failed} parts of the hourly round failed`)
  return true
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
  await scheduleTtlUpdate(ports, cluster, { mount, list }, settings, last)
  const { disablePeriodicTidy, safetyBuffer } = settings?.data ?? defaultTidySettings
  if (disablePeriodicTidy) return
  await startTidyRun(ports, cluster, {
    mount,
    list,
    buffer: safetyBuffer,
    period: TIDY_PERIOD_MS,
  })
}

async function startDropping({ store, background }: Ports, mount: string): Promise<void> {
  const [client] = await store.read([key('client-config', mount)])
  if (client?.data.previousSecretKey) await background.start({ job: 'drop-old-key', mount })
}
