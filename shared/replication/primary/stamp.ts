import type { JobResult, JobRun } from '../../jobs/job.ts'
import type { ScanPlace } from '../../jobs/scan.ts'
import { leafInTree } from '../../journal/tree.ts'
import type { Reindex } from '../../model/reindex.ts'
import type { ClusterRead } from '../../ports.ts'
import { put, replace } from '../../storage/changes.ts'
import { isKind, key } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { type Pass, pauseUntil, walk } from './walk.ts'

export interface StampJob {
  /** the tree that items are taken into */
  treeId: string
  /** epoch milliseconds: until then somebody may still write without the journal */
  notBefore: number
  at?: ScanPlace | undefined
  pass?: Pass | undefined
}

/**
 * Items under one position. Their transaction holds each of them, its bucket and the cell with all of them: the engine
 * takes a hundred elements and 4 MiB, and a page of a scan is never more than one.
 */
const TOGETHER = 40
/** Milliseconds between two positions: most of what a journal can take is left for logins. */
const PACE = 66

/**
 * Takes every item that was written while no journal was kept into journal and tree, as it is. The whole table is
 * gone through until a pass finds none: then no item is missing, whoever came late.
 */
export async function stampAll(run: JobRun, job: StampJob): Promise<JobResult> {
  if (!(await pauseUntil(run, job.notBefore))) return { again: { ...job } }
  const pass = job.pass ?? { seen: 0, found: 0, before: 0 }
  const left = await walk(run, job.at, pass, async items => {
    const cluster = await serving(run, job.treeId)
    if (!cluster) return false
    // what is of no kind of ours was put there by hand, and is nobody's
    const loose = items.filter(item => isKind(item.kind) && !leafInTree(item, job.treeId))
    for (let at = 0; at < loose.length; at += TOGETHER) {
      const some = loose.slice(at, at + TOGETHER)
      await stamped(run, some, cluster)
      pass.found += some.length
    }
    return true
  })
  if (left === 'ended') return 'done'
  await progress(run, job.treeId, pass)
  if (left) return { again: { ...job, at: left, pass } }
  if (pass.found > 0)
    return { again: { treeId: job.treeId, notBefore: 0, pass: { seen: 0, found: 0, before: pass.seen } } }
  return built(run, job, pass.seen)
}

const serving = async (run: JobRun, treeId: string): Promise<ClusterRead | undefined> => {
  const cluster = await run.cluster()
  return cluster?.record.mode === 'primary' && cluster.record.treeId === treeId ? cluster : undefined
}

/**
 * Together where nobody is in the way, else each half for itself; who is in the way of a single one has taken it into the
 * journal himself. Positions are taken at a pace.
 */
async function stamped(run: JobRun, items: readonly StoredItem[], cluster: ClusterRead): Promise<void> {
  const { journal, clock } = run.ports
  const began = clock.now()
  const result = await journal.stamp(items, (await run.cluster()) ?? cluster)
  await clock.sleep(Math.max(0, PACE - (clock.now() - began)))
  if (result === 'done' || items.length === 1) return
  const half = Math.ceil(items.length / 2)
  await stamped(run, items.slice(0, half), cluster)
  await stamped(run, items.slice(half), cluster)
}

/** A tree that was whole stays so while those who came late are looked for. */
async function progress(run: JobRun, treeId: string, { seen, before }: Pass): Promise<void> {
  const [item] = await run.ports.store.read([key('reindex')])
  if (item?.data.treeId === treeId && item.data.stage === 'done') return
  await note(run, { treeId, stage: 'building', done: seen, total: Math.max(seen, before), late: 0 })
}

async function note(run: JobRun, reindex: Reindex): Promise<void> {
  const cluster = await run.cluster()
  if (cluster) await run.ports.store.commit([put(key('reindex'), reindex)], cluster)
}

/** The record says that the tree is whole: from now on other clusters may follow. */
async function built(run: JobRun, job: StampJob, total: number): Promise<JobResult> {
  const cluster = await serving(run, job.treeId)
  const [item, before] = await run.ports.store.read([key('cluster'), key('reindex')])
  if (!cluster || item?.data.treeId !== job.treeId) return 'done'
  if (!item.data.built) {
    const changes = [replace(item, item, { ...item.data, built: true })]
    if ((await run.ports.store.commit(changes, cluster)) === 'conflict')
      return { again: { ...job, pass: undefined } }
  }
  const late = before?.data.treeId === job.treeId && before.data.stage === 'done' ? before.data.late + 1 : 0
  await note(run, { treeId: job.treeId, stage: 'done', done: total, total, late })
  return 'done'
}
