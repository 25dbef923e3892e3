import type { JobResult, JobRun } from '../../jobs/job.ts'
import type { ScanPlace } from '../../jobs/scan.ts'
import type { Reindex } from '../../model/reindex.ts'
import type { ClusterRead } from '../../ports.ts'
import { put, replace } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { leafInLife } from '../tree.ts'
import { type Pass, pauseUntil, walk } from './walk.ts'

export interface StampJob {
  /** the tree that items are taken into */
  life: string
  /** epoch milliseconds: until then somebody may still write without the journal */
  notBefore: number
  at?: ScanPlace | undefined
  pass?: Pass | undefined
}

/** Items under one position: their transaction is far from the engine's limits, and one conflict costs little. */
const TOGETHER = 20
/** Milliseconds between two positions: most of what a journal can take is left for logins. */
const PACE = 66

/**
 * Takes every item that was written while no journal was kept into journal and tree, as it is. The whole table is
 * gone through until a pass finds none: then no item is missing, whoever came late.
 */
export async function stampAll(run: JobRun, job: StampJob): Promise<JobResult> {
  const { ports } = run
  if (!(await pauseUntil(run, job.notBefore))) return { again: { ...job } }
  const pass = job.pass ?? { seen: 0, found: 0, before: 0 }
  const left = await walk(run, job.at, pass, async items => {
    const cluster = await serving(run, job.life)
    if (!cluster) return false
    const loose = items.filter(item => !leafInLife(item, job.life))
    for (let at = 0; at < loose.length; at += TOGETHER) {
      const began = ports.clock.now()
      pass.found += await stamped(run, loose.slice(at, at + TOGETHER), cluster)
      await ports.clock.sleep(Math.max(0, PACE - (ports.clock.now() - began)))
    }
    return true
  })
  if (left === 'ended') return 'done'
  await progress(run, job.life, pass)
  if (left) return { again: { ...job, at: left, pass } }
  if (pass.found > 0)
    return { again: { life: job.life, notBefore: 0, pass: { seen: 0, found: 0, before: pass.seen } } }
  return built(run, job, pass.seen)
}

const serving = async (run: JobRun, life: string): Promise<ClusterRead | undefined> => {
  const cluster = await run.cluster()
  return cluster?.record.mode === 'primary' && cluster.record.life === life ? cluster : undefined
}

/** Together where nobody is in the way, else each alone; who is in the way has taken it into the journal himself. */
async function stamped(run: JobRun, items: readonly StoredItem[], cluster: ClusterRead): Promise<number> {
  const { journal } = run.ports
  if ((await journal.stamp(items, cluster)) === 'done') return items.length
  for (const item of items) {
    const now = (await run.cluster()) ?? cluster
    await journal.stamp([item], now)
  }
  return items.length
}

/** A tree that was whole stays so while those who came late are looked for. */
async function progress(run: JobRun, life: string, { seen, before }: Pass): Promise<void> {
  const [item] = await run.ports.store.read([key('reindex')])
  if (item?.data.life === life && item.data.stage === 'done') return
  await note(run, { life, stage: 'building', done: seen, total: Math.max(seen, before), late: 0 })
}

async function note(run: JobRun, reindex: Reindex): Promise<void> {
  const cluster = await run.cluster()
  if (cluster) await run.ports.store.commit([put(key('reindex'), reindex)], cluster)
}

/** The record says that the tree is whole: from now on other clusters may follow. */
async function built(run: JobRun, job: StampJob, total: number): Promise<JobResult> {
  const cluster = await serving(run, job.life)
  const [item, before] = await run.ports.store.read([key('cluster'), key('reindex')])
  if (!cluster || item?.data.life !== job.life) return 'done'
  if (!item.data.built) {
    const changes = [replace(item, item, { ...item.data, built: true })]
    if ((await run.ports.store.commit(changes, cluster)) === 'conflict')
      return { again: { ...job, pass: undefined } }
  }
  const late = before?.data.life === job.life && before.data.stage === 'done' ? before.data.late + 1 : 0
  await note(run, { life: job.life, stage: 'done', done: total, total, late })
  return 'done'
}
