import { eachOf, hasTime, type JobResult, type JobRun } from '../../jobs/job.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { replace } from '../../storage/changes.ts'
import { key, partitions } from '../../storage/kinds.ts'
import { kindOfList, noRun, type TidyList, type TidyRun } from './settings.ts'

/** One run over one list. */
export interface TidyJob {
  /** accessor of the mount */
  mount: string
  list: TidyList
  /** seconds */
  buffer: number
  /** who holds the list's guard */
  runner: string
}

/** How long a runner may be silent before its list is free again, milliseconds. */
const LEASE_MS = 15 * 60_000

/**
 * Takes the guard of a list: one runner at a time, whoever starts it.
 * @param nextAt when the schedule will come again, epoch milliseconds; absent: as it was
 * @returns the runner's name; undefined when somebody else runs
 * @see auth-behaviour 6
 */
export async function acquire(
  ports: Ports,
  cluster: ClusterRead,
  mount: string,
  list: TidyList,
  nextAt?: number,
): Promise<string | undefined> {
  const [item] = await ports.store.read([key('tidy-run', mount, list)])
  const now = ports.clock.now()
  if (item && item.data.leaseUntil > now) return undefined
  const runner = ports.entropy.uuid()
  const last = item?.data ?? noRun
  const started: TidyRun = {
    ...last,
    leaseUntil: now + LEASE_MS,
    runner,
    startedAt: now,
    endedAt: 0,
    removed: 0,
    failed: 0,
    nextAt: nextAt ?? last.nextAt,
  }
  const written = await ports.store.commit([replace(key('tidy-run', mount, list), item, started)], cluster)
  return written === 'done' ? runner : undefined
}

/** Gives the guard back, with what became of the run; nothing happens when somebody else holds it by now. */
export async function release(
  ports: Ports,
  cluster: ClusterRead,
  { mount, list, runner }: TidyJob,
): Promise<void> {
  await updateRun(ports, cluster, { mount, list, runner }, run => ({
    ...run,
    leaseUntil: 0,
    endedAt: ports.clock.now(),
  }))
}

async function updateRun(
  { store }: Ports,
  cluster: ClusterRead,
  { mount, list, runner }: Omit<TidyJob, 'buffer'>,
  change: (run: TidyRun) => TidyRun,
): Promise<boolean> {
  const [item] = await store.read([key('tidy-run', mount, list)])
  if (item?.data.runner !== runner) return false
  return (
    (await store.commit([replace(key('tidy-run', mount, list), item, change(item.data))], cluster)) === 'done'
  )
}

/**
 * Removes the entries of a list whose expiration plus buffer has passed. Each is deleted only as it was seen:
 * one that was renewed meanwhile stays. A fault costs one entry, not the run.
 */
export async function tidy(run: JobRun, job: TidyJob): Promise<JobResult> {
  const { ports } = run
  const before = Math.floor(ports.clock.now() / 1000) - job.buffer
  for await (const page of ports.store.due(partitions(kindOfList[job.list], job.mount), before)) {
    const cluster = await run.cluster()
    if (!cluster) return 'done'
    const { done, failed } = await eachOf(page, async entry => {
      const change = { delete: entry, expected: { rev: entry.rev } }
      return (await ports.store.commit([change], cluster)) === 'done'
    })
    const held = await updateRun(ports, cluster, job, state => ({
      ...state,
      leaseUntil: ports.clock.now() + LEASE_MS,
      removed: state.removed + done,
      failed: state.failed + failed,
    }))
    if (!held) return 'done'
    if (!hasTime(run)) return { again: { ...job } }
  }
  const cluster = await run.cluster()
  if (cluster) await release(ports, cluster, job)
  return 'done'
}
