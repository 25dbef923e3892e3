import { alarmingTexts } from '../../api/alarming.ts'
import type { TreeCheck } from '../../model/tree-work.ts'
import { type OperationRun, type OperationStepResult, STEP_DONE } from '../operation/run.ts'
import { findTreeFaults } from './examine.ts'
import { areFindingsCorrupt, type TreeFault, toTreeFindings } from './findings.ts'
import { checkRunTimeLeft, endTreeOperation, readTreeOperation, rethrowAsTreeBusy } from './tree-run.ts'
import { beginTreeView } from './view.ts'

/**
 * Checks this cluster's tree level by level, and stores the faults. The check repairs nothing, so an interrupted
 * check starts from the beginning.
 */
export async function checkTree(run: OperationRun, id: string): Promise<OperationStepResult> {
  const snapshot = await readTreeOperation(run, id)
  if (!snapshot) return STEP_DONE
  const { ports } = run
  const { view, faults } = await rethrowAsTreeBusy(async () => {
    const view = await beginTreeView(ports, snapshot.treeId)
    return { view, faults: await findTreeFaults(view, async () => checkRunTimeLeft(run)) }
  })
  const hashOf = (of: 'replicated' | 'local'): string => view.hashes.roots.get(of)?.hash ?? ''
  const findings = toTreeFindings(faults, { replicated: hashOf('replicated'), local: hashOf('local') })
  const corrupted = areFindingsCorrupt(findings)
  if (corrupted)
    ports.log.error(alarmingTexts.tree, {
      operation: id,
      ...counts(faults),
      reason: 'POST sys/replication/reindex rebuilds it',
    })
  const check: Partial<TreeCheck> = {
    treeId: snapshot.treeId,
    operation: id,
    findings,
    corrupted,
    checkedAt: ports.clock.now(),
  }
  return endTreeOperation(run, id, { check })
}

const counts = (faults: readonly TreeFault[]): Record<TreeFault['level'], number> => {
  const count = { bucket: 0, page: 0, root: 0, whole: 0 }
  for (const { level } of faults) count[level] += 1
  return count
}
