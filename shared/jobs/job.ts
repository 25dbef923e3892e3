import { ApiError } from '../api/errors.ts'
import { isActiveRecord, isCopyOfPrimary } from '../model/cluster.ts'
import type { ClusterRead, Ports } from '../ports.ts'
import { key } from '../storage/kinds.ts'
import { bounds } from '../values/bounds.ts'
import { mapInParallel } from '../values/in-parallel.ts'

/** A run of work that outlives its request, in its own Lambda. If the time is up, the next run continues the work. */
export interface JobRun {
  ports: Ports
  /** epoch milliseconds at which this Lambda must stop */
  deadline: number
  /** returns a recent cluster record for commits; undefined if this cluster no longer serves requests */
  cluster: () => Promise<ClusterRead | undefined>
}

/** The result of a run. `again`: the job that continues the work. */
export type JobResult = 'done' | { again: Readonly<Record<string, unknown>> }

/** Builds the context of a run. */
export function createJobRun(ports: Ports, deadline: number): JobRun {
  let read: ClusterRead | undefined
  return {
    ports,
    deadline,
    cluster: async () => {
      if (!read || ports.clock.now() - read.readAt > bounds.RECORD_REREAD_MS)
        read = await activeCluster(ports)
      return read
    },
  }
}

/** Reports whether there is time for another step. */
export const hasTimeLeft = ({ ports, deadline }: JobRun): boolean => ports.clock.now() < deadline

/** Processes each element, sixteen at a time. Counts errors instead of throwing them. */
export async function processEach<T>(
  elements: readonly T[],
  work: (element: T) => Promise<boolean>,
): Promise<{ done: number; failed: number }> {
  const counts = { done: 0, failed: 0 }
  await mapInParallel(elements, async element => {
    try {
      if (await work(element)) counts.done += 1
    } catch {
      counts.failed += 1
    }
  })
  return counts
}

type Dependencies = Pick<Ports, 'store' | 'clock' | 'cipher' | 'deployment'>

/** Reads the cluster record; undefined if this cluster no longer serves requests. */
async function activeCluster({
  store,
  clock,
  cipher,
  deployment,
}: Dependencies): Promise<ClusterRead | undefined> {
  const readAt = clock.now()
  const [item] = await store.read([key('cluster')])
  if (!item || !isActiveRecord(item.data) || isCopyOfPrimary(item.data, deployment)) return undefined
  cipher.expectKeyring(item.data)
  return { record: item.data, readAt }
}

/**
 * Reads the cluster record again, for work that takes longer than a commit accepts a record's age.
 * @throws ApiError `busy` if this cluster no longer serves requests
 */
export async function readCurrentCluster(ports: Dependencies): Promise<ClusterRead> {
  const cluster = await activeCluster(ports)
  if (!cluster) throw new ApiError('busy', 'this cluster is changing its role', { retryAfter: 5 })
  return cluster
}
