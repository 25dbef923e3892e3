import type { JobResult, JobRun } from '../../jobs/job.ts'
import type { ScanPlace } from '../../jobs/scan.ts'
import { readStoredLeafInTree } from '../../journal/tree.ts'
import type { ReindexProgress } from '../../model/reindex.ts'
import type { ClusterRead } from '../../ports.ts'
import { putItem, replaceItem } from '../../storage/changes.ts'
import { isItemKind, key } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { splitIntoChunks } from '../../values/batches.ts'
import { pauseUntilTime, scanDataTable, type TablePass } from './walk.ts'

export interface BackfillJob {
  /** id of the tree to which items are added */
  treeId: string
  /** epoch milliseconds: before `notBefore`, requests may still write without the journal */
  notBefore: number
  at?: ScanPlace | undefined
  pass?: TablePass | undefined
}

/**
 * Number of items that are added at one position. Their transaction contains each item, its bucket, and a journal
 * entry with all of them. DynamoDB allows 100 elements and 4 MiB, and a page of a scan is at most 1 MiB.
 */
const ITEMS_PER_COMMIT = 40
/** Milliseconds between two positions, so that most of the journal's capacity stays free for logins. */
const BACKFILL_PACE_MS = 66

/**
 * Adds all items that were written without a journal to the journal and the tree. The job reads the table until a
 * pass finds no item without a journal position, so that items written meanwhile are found too.
 */
export async function backfillAllItems(run: JobRun, job: BackfillJob): Promise<JobResult> {
  if (!(await pauseUntilTime(run, job.notBefore))) return { again: { ...job } }
  const pass = job.pass ?? { seen: 0, found: 0, before: 0 }
  const left = await scanDataTable(run, job.at, pass, async items => {
    const cluster = await servingCluster(run, job.treeId)
    if (!cluster) return false
    // items of unknown kinds were written by hand, and are skipped
    const loose = items.filter(item => isItemKind(item.kind) && !readStoredLeafInTree(item, job.treeId))
    for (const some of splitIntoChunks(loose, ITEMS_PER_COMMIT)) {
      await backfillSome(run, some, cluster)
      pass.found += some.length
    }
    return true
  })
  if (left === 'ended') return 'done'
  await noteProgress(run, job.treeId, pass)
  if (left) return { again: { ...job, at: left, pass } }
  if (pass.found > 0)
    return { again: { treeId: job.treeId, notBefore: 0, pass: { seen: 0, found: 0, before: pass.seen } } }
  return markBuilt(run, job, pass.seen)
}

const servingCluster = async (run: JobRun, treeId: string): Promise<ClusterRead | undefined> => {
  const cluster = await run.cluster()
  return cluster?.record.mode === 'primary' && cluster.record.treeId === treeId ? cluster : undefined
}

/**
 * Adds items in one commit, or after a conflict each half of the items separately. If a single item conflicts, the
 * other writer has added this item to the journal. The job limits the rate of positions.
 */
async function backfillSome(run: JobRun, items: readonly StoredItem[], cluster: ClusterRead): Promise<void> {
  const { journal, clock } = run.ports
  const began = clock.now()
  const result = await journal.backfill(items, (await run.cluster()) ?? cluster)
  await clock.sleep(Math.max(0, BACKFILL_PACE_MS - (clock.now() - began)))
  if (result === 'done' || items.length === 1) return
  const half = Math.ceil(items.length / 2)
  await backfillSome(run, items.slice(0, half), cluster)
  await backfillSome(run, items.slice(half), cluster)
}

/** Stores the progress of the backfill. A complete tree stays complete during later passes. */
async function noteProgress(run: JobRun, treeId: string, { seen, before }: TablePass): Promise<void> {
  const [item] = await run.ports.store.read([key('reindex')])
  if (item?.data.treeId === treeId && item.data.stage === 'done') return
  await note(run, { treeId, stage: 'building', done: seen, total: Math.max(seen, before), late: 0 })
}

async function note(run: JobRun, reindex: ReindexProgress): Promise<void> {
  const cluster = await run.cluster()
  if (cluster) await run.ports.store.commit([putItem(key('reindex'), reindex)], cluster)
}

/**
 * Stores in the cluster record that the tree is complete. After the backfill other clusters may follow this
 * primary.
 */
async function markBuilt(run: JobRun, job: BackfillJob, total: number): Promise<JobResult> {
  const cluster = await servingCluster(run, job.treeId)
  const [item, before] = await run.ports.store.read([key('cluster'), key('reindex')])
  if (!cluster || item?.data.treeId !== job.treeId) return 'done'
  if (!item.data.treeComplete) {
    const changes = [replaceItem(item, item, { ...item.data, treeComplete: true })]
    if ((await run.ports.store.commit(changes, cluster)) === 'conflict')
      return { again: { ...job, pass: undefined } }
  }
  const late = before?.data.treeId === job.treeId && before.data.stage === 'done' ? before.data.late + 1 : 0
  await note(run, { treeId: job.treeId, stage: 'done', done: total, total, late })
  return 'done'
}
