import { allTreePages, treePagePk } from '../../journal/page-places.ts'
import {
  type ChosenTreePages,
  invalidateTreeHashes,
  refreshTreeHashes,
  TREE_SUBTREES,
} from '../../journal/refresh.ts'
import { key } from '../../storage/kinds.ts'
import { mapInParallel } from '../../values/in-parallel.ts'
import { bucketsChangingError, hashesChangingError } from '../operation/faults.ts'
import { type OperationRun, type OperationStepResult, STEP_DONE } from '../operation/run.ts'
import { confirmTreeFaults, findTreeSuspects, tallyAllItems } from './examine.ts'
import type { TreeFault } from './findings.ts'
import { repairTreeBucket } from './repair.ts'
import {
  createTreeProgressNoter,
  readTreeOperation,
  rethrowAsTreeBusy,
  type TreeOperation,
} from './tree-run.ts'
import { beginTreeView, type CheckedTreeView } from './view.ts'

/**
 * Repairs the tree of this cluster from its items. Clients may write during the reindex. Repairs stay, so an
 * interrupted reindex starts again and has less to do.
 */
export async function reindexTreeStep(run: OperationRun, id: string): Promise<OperationStepResult> {
  const snapshot = await readTreeOperation(run, id)
  if (!snapshot) return STEP_DONE
  const note = createTreeProgressNoter(run, id)
  return rethrowAsTreeBusy(async () => {
    const view = await beginTreeView(run.ports, snapshot.treeId)
    await note({ stage: 'scanning' }, true)
    await tallyAllItems(view, () => note({}))
    const total = allTreePages.length
    const judged = (done: number) => note({ stage: 'building', done, total })
    await note({ stage: 'building', done: 0, total }, true)
    const faults = await confirmTreeFaults(view, await findTreeSuspects(view, judged))
    await repairBuckets(view, run, faults)
    await note({ stage: 'commit', done: total, total }, true)
    await repairHashes(view, faults, snapshot)
    const buckets = faults.filter(({ level }) => level === 'bucket').length
    run.ports.log.info('tree rebuilt', {
      operation: id,
      items: view.tally.seen,
      buckets,
      faults: faults.length,
    })
    return STEP_DONE
  })
}

type BucketFault = Extract<TreeFault, { level: 'bucket' }>

const isOfBucket = (fault: TreeFault): fault is BucketFault => fault.level === 'bucket'

async function repairBuckets(
  view: CheckedTreeView,
  { ports }: OperationRun,
  faults: readonly TreeFault[],
): Promise<void> {
  const cluster = async () => {
    const readAt = ports.clock.now()
    const [record] = await ports.store.read([key('cluster')])
    if (!record) throw new Error('this cluster is not initialised')
    return { record: record.data, readAt }
  }
  const repaired = await mapInParallel(faults.filter(isOfBucket), fault =>
    repairTreeBucket(view, fault, fault.subpage, cluster),
  )
  if (repaired.includes(false)) throw bucketsChangingError()
}

const ROUNDS = 3

/** Recomputes the hashes of the faulty pages, or with `force` of all pages. */
async function repairHashes(
  view: CheckedTreeView,
  faults: readonly TreeFault[],
  { treeId, operation }: Pick<TreeOperation, 'treeId' | 'operation'>,
): Promise<void> {
  const { force = false, skipFlush = false } = operation.data.reindex ?? {}
  if (skipFlush) return invalidateTreeHashes(view.journal, treeId)
  const touched = faults.filter(fault => fault.level === 'bucket' || fault.level === 'page')
  const pks = new Set(touched.map(fault => treePagePk(treeId, fault)))
  if (!force && faults.length === 0) return
  const anew: ChosenTreePages = force ? 'all' : pks
  const again: TreeFault[] = [
    ...(force ? allTreePages : touched).map(({ of, page }) => ({ level: 'page' as const, of, page })),
    ...TREE_SUBTREES.map(of => ({ level: 'root' as const, of })),
    { level: 'whole' },
  ]
  for (let rounds = 0; rounds < ROUNDS; rounds++) {
    const head = await view.journal.head()
    if (!head) break
    const now = Math.floor(view.clock.now() / 1000)
    await refreshTreeHashes({ journal: view.journal, treeId, head, now }, { recompute: anew })
    // a refresh that read the tree before the repair may have stored its hashes after the repair
    if ((await confirmTreeFaults(view, again)).length === 0) return
  }
  throw hashesChangingError()
}
