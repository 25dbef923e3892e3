import { hasTimeLeft, type JobResult, type JobRun } from '../../jobs/job.ts'
import type { ScanPlace } from '../../jobs/scan.ts'
import { listTreePartitions } from '../../journal/refresh.ts'
import { type Change, putItem, removeItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { pauseUntilTime, scanDataTable, type TablePass } from './walk.ts'

export interface JournalMarksRemovalJob {
  /** items with a lower position belong to the ended journal */
  journalStart: string
  /** `treeId` is the id of the ended journal's tree; absent: unknown, and the tree's sums stay */
  treeId?: string | undefined
  /** epoch milliseconds: before `notBefore`, requests may still use the journal */
  notBefore: number
  at?: ScanPlace | undefined
  pass?: TablePass | undefined
  /** `dropped` is the number of deleted partitions of the tree; absent: the job still processes items */
  dropped?: number | undefined
}

/** Partitions of the tree that are deleted in parallel. */
const AT_ONCE = 16

/** Removes the marks of an ended journal from items, then deletes the sums of the journal's tree. */
export async function removeJournalMarks(run: JobRun, job: JournalMarksRemovalJob): Promise<JobResult> {
  const { journalStart, treeId, dropped } = job
  if (dropped !== undefined) return dropTree(run, job)
  const result = await detach(run, job)
  if (result !== 'done') return { again: defined({ ...result.again, treeId }) }
  return treeId === undefined ? 'done' : { again: { journalStart, treeId, notBefore: 0, dropped: 0 } }
}

/** Deletes sums and hashes of a tree that the cluster record no longer contains. */
async function dropTree(
  run: JobRun,
  { treeId = '', dropped = 0, ...job }: JournalMarksRemovalJob,
): Promise<JobResult> {
  const { store, journal } = run.ports
  const [record] = await store.read([key('cluster')])
  if (record?.data.treeId === treeId) return 'done'
  const all = listTreePartitions(treeId)
  for (let at = dropped; at < all.length; at += AT_ONCE) {
    if (!hasTimeLeft(run)) return { again: { ...job, treeId, dropped: at } }
    await Promise.all(all.slice(at, at + AT_ONCE).map(pk => journal.dropPartition(pk)))
  }
  return 'done'
}

/**
 * Removes position, leaf and bucket of an ended journal from items, and sets the time at which DynamoDB may delete
 * them. Each write requires that the item is unchanged since it was read. The job reads the table until a pass
 * finds no such item.
 */
async function detach(
  run: JobRun,
  job: JournalMarksRemovalJob,
): Promise<'done' | { again: Omit<JournalMarksRemovalJob, 'treeId'> }> {
  const { journal } = run.ports
  if (!(await pauseUntilTime(run, job.notBefore))) return { again: { ...job } }
  const pass = job.pass ?? { seen: 0, found: 0, before: 0 }
  const left = await scanDataTable(run, job.at, pass, async items => {
    const cluster = await run.cluster()
    if (cluster?.record.mode !== 'disabled' || cluster.record.journalStart !== job.journalStart) return false
    const marked = items.filter(({ pos }) => pos !== undefined && pos < job.journalStart)
    pass.found += marked.length
    await journal.detach(marked)
    return true
  })
  if (left === 'ended') return 'done'
  if (left) return { again: { ...job, at: left, pass } }
  if (pass.found > 0)
    return {
      again: { journalStart: job.journalStart, notBefore: 0, pass: { seen: 0, found: 0, before: pass.seen } },
    }
  return forgetTimes(run, pass.seen)
}

/**
 * Deletes the stamps of the list settings, because the list entries have lost their expiry times. The hourly tidy
 * then sets the expiry times again.
 */
async function forgetTimes(run: JobRun, total: number): Promise<'done'> {
  const [mounts] = await run.ports.store.read([key('mounts')])
  const lists = ['identity-accesslist', 'roletag-denylist'] as const
  const stamps = (mounts?.data.mounts ?? []).flatMap(({ accessor }) =>
    lists.map(list => removeItem(key('tidy-stamp', accessor, list))),
  )
  const changes: Change[] = [
    ...stamps,
    putItem(key('reindex'), { treeId: '', stage: 'done', done: total, total, late: 0 }),
  ]
  for (const change of changes) {
    const cluster = await run.cluster()
    if (cluster) await run.ports.store.commit([change], cluster)
  }
  return 'done'
}
