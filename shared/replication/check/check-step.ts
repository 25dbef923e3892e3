import { alarmingTexts } from '../../api/alarming.ts'
import type { TreeCheck } from '../../model/tree-work.ts'
import { DONE, type OperationRun, type StepResult } from '../operation/run.ts'
import { findTreeFaults } from './examine.ts'
import { isCorrupt, type TreeFault, toFindings } from './findings.ts'
import { checkTime, endTreeWork, failAsBusy, readTreeOperation } from './tree-run.ts'
import { viewTree } from './view.ts'

/**
 * Checks this cluster's tree level by level, and stores the faults. It repairs nothing, so an interrupted check starts from
 * the beginning.
 */
export async function checkTree(run: OperationRun, id: string): Promise<StepResult> {
  const snapshot = await readTreeOperation(run, id)
  if (!snapshot) return DONE
  const { ports } = run
  const { view, faults } = await failAsBusy(async () => {
    const view = await viewTree(ports, snapshot.treeId)
    return { view, faults: await findTreeFaults(view, async () => checkTime(run)) }
  })
  const hashOf = (of: 'replicated' | 'local'): string => view.hashes.roots.get(of)?.hash ?? ''
  const findings = toFindings(faults, { replicated: hashOf('replicated'), local: hashOf('local') })
  const corrupted = isCorrupt(findings)
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
  return endTreeWork(run, id, { check })
}

const counts = (faults: readonly TreeFault[]): Record<TreeFault['level'], number> => {
  const count = { bucket: 0, page: 0, root: 0, whole: 0 }
  for (const { level } of faults) count[level] += 1
  return count
}
