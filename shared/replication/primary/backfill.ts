import type { JobResult, JobRun } from '../../jobs/job.ts'
import type { ScanPlace } from '../../jobs/scan.ts'
import { storedLeafInTree } from '../../journal/tree.ts'
import type { Reindex } from '../../model/reindex.ts'
import type { ClusterRead } from '../../ports.ts'
import { put, replace } from '../../storage/changes.ts'
import { isKind, key } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { type Pass, pauseUntil, walkTable } from './walk.ts'

export interface BackfillJob {
  /** the tree that items are taken into */
  treeId: string
  /** epoch milliseconds: until then requests may still write without the journal */
  notBefore: number
  at?: ScanPlace | undefined
  pass?: Pass | undefined
}

/**
 * Items under one position. Their transaction holds each of them, its bucket and the journal entry with all of them: the engine
 * takes a hundred elements and 4 MiB, and a page of a scan is never more than one.
 */
const ITEMS_PER_COMMIT = 40
/** Milliseconds between two positions: most of what a journal can take is left for logins. */
const BACKFILL_PACE_MS = 66

/**
 * Adds every item that was written without a journal to journal and tree. It reads the whole table until a pass finds none:
 * then no item is missing, late ones included.
 */
export async function backfillAll(run: JobRun, job: BackfillJob): Promise<JobResult> {
  if (!(await pauseUntil(run, job.notBefore))) return { again: { ...job } }
  const pass = job.pass ?? { seen: 0, found: 0, before: 0 }
  const left = await walkTable(run, job.at, pass, async items => {
    const cluster = await servingCluster(run, job.treeId)
    if (!cluster) return false
    // an item of an unknown kind was put there by hand, and is left alone
    const loose = items.filter(item => isKind(item.kind) && !storedLeafInTree(item, job.treeId))
    for (let at = 0; at < loose.length; at += ITEMS_PER_COMMIT) {
      const some = loose.slice(at, at + ITEMS_PER_COMMIT)
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
 * Adds items together if nothing conflicts, else each half by itself; a writer that conflicts on a single item has added it
 * itself. Positions are taken at a limited rate.
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

/** A complete tree stays complete while late items are looked for. */
async function noteProgress(run: JobRun, treeId: string, { seen, before }: Pass): Promise<void> {
  const [item] = await run.ports.store.read([key('reindex')])
  if (item?.data.treeId === treeId && item.data.stage === 'done') return
  await note(run, { treeId, stage: 'building', done: seen, total: Math.max(seen, before), late: 0 })
}

async function note(run: JobRun, reindex: Reindex): Promise<void> {
  const cluster = await run.cluster()
  if (cluster) await run.ports.store.commit([put(key('reindex'), reindex)], cluster)
}

/** Notes in the record that the tree is complete: from now on other clusters may follow. */
async function markBuilt(run: JobRun, job: BackfillJob, total: number): Promise<JobResult> {
  const cluster = await servingCluster(run, job.treeId)
  const [item, before] = await run.ports.store.read([key('cluster'), key('reindex')])
  if (!cluster || item?.data.treeId !== job.treeId) return 'done'
  if (!item.data.treeComplete) {
    const changes = [replace(item, item, { ...item.data, treeComplete: true })]
    if ((await run.ports.store.commit(changes, cluster)) === 'conflict')
      return { again: { ...job, pass: undefined } }
  }
  const late = before?.data.treeId === job.treeId && before.data.stage === 'done' ? before.data.late + 1 : 0
  await note(run, { treeId: job.treeId, stage: 'done', done: total, total, late })
  return 'done'
}
