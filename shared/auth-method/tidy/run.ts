import { ApiError } from '../../api/errors.ts'
import { commitEachGroup, countGroupOutcomes, type GroupOutcomeCounts } from '../../jobs/commit-each.ts'
import { hasTimeLeft, type JobResult, type JobRun } from '../../jobs/job.ts'
import type { TidyRun } from '../../model/tidy.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { removeItemUnlessChanged, replaceItem } from '../../storage/changes.ts'
import { itemPartitions, key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { CONFLICT_RESULT, ok } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import { neverRunTidy, type TidyList, tidyListKinds } from './settings.ts'

/** One tidy run over one list. */
export interface TidyJob {
  /** accessor of the mount */
  mount: string
  list: TidyList
  /** seconds */
  buffer: number
  /** ID of the run that holds the list's lease */
  runner: string
}

/**
 * Takes the lease of a list, which allows one run at a time.
 * @param period milliseconds until the next scheduled run; absent: an operator started this run
 * @returns false if another run holds the lease
 * @see docs/spec/configuration.md#tidying
 */
async function acquire(
  ports: Ports,
  cluster: ClusterRead,
  { mount, list, runner }: TidyHolder,
  period?: number,
): Promise<boolean> {
  const [item] = await ports.store.read([key('tidy-run', mount, list)])
  const now = ports.clock.now()
  if (item && item.data.leaseUntil > now) return false
  const last = item?.data ?? neverRunTidy
  const started: TidyRun = {
    ...last,
    leaseUntil: now + bounds.TIDY_LEASE_MS,
    runner,
    startedAt: now,
    endedAt: 0,
    removed: 0,
    failed: 0,
    nextAt: period === undefined ? last.nextAt : now + period,
  }
  const written = await ports.store.commit(
    [replaceItem(key('tidy-run', mount, list), item, started)],
    cluster,
  )
  return written === 'done'
}

/**
 * Starts a tidy run in the background, unless a run is active.
 * @param period milliseconds until the next scheduled run; absent: an operator started this run
 * @returns whether the run was started
 */
export async function startTidyRun(
  ports: Ports,
  cluster: ClusterRead,
  { mount, list, buffer, period }: Omit<TidyJob, 'runner'> & { period?: number },
): Promise<boolean> {
  const job = { mount, list, buffer, runner: ports.entropy.uuid() }
  try {
    if (!(await acquire(ports, cluster, job, period))) return false
    await ports.background.start({ job: 'tidy', ...job })
    return true
  } catch (error) {
    // a commit may succeed although it reported an error, so the lease is released in any case
    await release(ports, cluster, job).catch(() => false)
    throw error
  }
}

/** Releases the lease and records the end of the run. If another run holds the lease, this run does nothing. */
const release = (ports: Ports, cluster: ClusterRead, held: TidyHolder): Promise<boolean> =>
  updateRun(ports, cluster, held, run => ({ ...run, leaseUntil: 0, endedAt: ports.clock.now() }))

type TidyHolder = Pick<TidyJob, 'mount' | 'list' | 'runner'>

const TIDY_COMMIT_TRIES = 5

/** Updates the record of the tidy run. @returns whether the run still holds the lease */
async function updateRun(
  { store }: Ports,
  cluster: ClusterRead,
  { mount, list, runner }: TidyHolder,
  change: (run: TidyRun) => TidyRun,
): Promise<boolean> {
  const place = key('tidy-run', mount, list)
  const holds = await retryOnConflict({ tries: TIDY_COMMIT_TRIES }, async () => {
    const [item] = await store.read([place])
    if (item?.data.runner !== runner) return ok(false)
    const written = await store.commit([replaceItem(place, item, change(item.data))], cluster)
    return written === 'done' ? ok(true) : CONFLICT_RESULT
  })
  if (!holds.ok) throw new ApiError('busy', 'the record of this tidy run is being changed')
  return holds.value
}

/** Number of entries removed between two checks of the remaining time. */
const PART = 64

/**
 * Removes the entries of a list whose expiration plus buffer has passed. An entry is deleted only if it is
 * unchanged since it was read, so a renewed entry stays. A failed deletion skips one entry. A run that fails as a
 * whole releases the lease; its retry goes on unless another run has taken the lease.
 */
export async function tidyList(run: JobRun, job: TidyJob): Promise<JobResult> {
  try {
    return await removeDue(run, job)
  } catch (error) {
    const cluster = await run.cluster().catch(() => undefined)
    if (cluster) await release(run.ports, cluster, job).catch(() => false)
    throw error
  }
}

async function* partsOf<T>(pages: AsyncIterable<readonly T[]>): AsyncIterable<readonly T[]> {
  let part: T[] = []
  for await (const page of pages)
    for (const one of page) {
      part.push(one)
      if (part.length < PART) continue
      yield part
      part = []
    }
  if (part.length > 0) yield part
}

async function removeDue(run: JobRun, job: TidyJob): Promise<JobResult> {
  const sum = { done: 0, failed: 0 }
  try {
    return await removeParts(run, job, sum)
  } finally {
    tellTidied(run.ports, job, sum)
  }
}

/** Logs the result of a run, unless it removed nothing and nothing failed. */
function tellTidied(
  { log }: Pick<Ports, 'log'>,
  { mount, list }: TidyJob,
  { done, failed }: Readonly<RunCounts>,
): void {
  if (done + failed === 0) return
  const measures = {
    ...(done > 0 ? { TidyRemoved: done } : {}),
    ...(failed > 0 ? { TidyFailed: failed } : {}),
  }
  log.info('tidied', { mount_accessor: mount, list }, measures)
}

type RunCounts = Pick<GroupOutcomeCounts, 'done' | 'failed'>

/** Removes the due entries part by part. @param sum is updated after each part */
async function removeParts(run: JobRun, job: TidyJob, sum: RunCounts): Promise<JobResult> {
  const { ports } = run
  if (!(await proceeds(run, job, { done: 0, failed: 0 }))) return 'done'
  const before = Math.floor(ports.clock.now() / 1000) - job.buffer
  const due = ports.store.due(itemPartitions(tidyListKinds[job.list], job.mount), before)
  for await (const part of partsOf(due)) {
    const removals = part.map(entry => [removeItemUnlessChanged(entry)])
    const counts = countGroupOutcomes(await commitEachGroup(run, removals))
    sum.done += counts.done
    sum.failed += counts.failed
    if (!(await proceeds(run, job, counts))) return 'done'
    if (!hasTimeLeft(run)) return { again: { ...job } }
  }
  const cluster = await run.cluster()
  if (cluster) await release(ports, cluster, job)
  return 'done'
}

/** Records the progress of the tidy run. @returns whether the run may go on */
async function proceeds(run: JobRun, job: TidyJob, { done, failed }: RunCounts): Promise<boolean> {
  const cluster = await run.cluster()
  if (!cluster) return false
  return updateRun(run.ports, cluster, job, state => ({
    ...state,
    leaseUntil: run.ports.clock.now() + bounds.TIDY_LEASE_MS,
    removed: state.removed + done,
    failed: state.failed + failed,
  }))
}
