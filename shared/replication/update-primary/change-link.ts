import { endOwnEpoch } from '../../journal/density.ts'
import type { JournalHead } from '../../journal/head.ts'
import { headMoves } from '../../journal/transitions.ts'
import { pauseBeforeRetry } from '../apply/window.ts'
import { noLongerSecondaryError } from '../operation/faults.ts'
import {
  commitOperationStep,
  type OperationRun,
  type OperationStep,
  readOperation,
  STEP_AGAIN,
  STEP_DONE,
} from '../operation/run.ts'
import { stopStagingEntries } from '../secondary/staged.ts'
import { isPrimaryAdopted } from './find.ts'

/**
 * Stops the old link permanently, and applies all entries that the old link staged. As soon as the head names the
 * new link, late writes by the old link are rejected, so there is only one link at a time.
 */
export const changePrimaryLink: OperationStep = async (run, id) => {
  const { ports } = run
  const before = await readOperation(run, id)
  const { treeId } = before.record.data
  if (isPrimaryAdopted(before.record.data, id) || before.operation.data.status !== 'running') return STEP_DONE
  const head = await ports.journal.head()
  if (!head || treeId === undefined || head.mode === 'writing') throw noLongerSecondaryError()
  if (!(await stopFollowing(run, head, id))) return STEP_AGAIN
  const drained = await drainOldLink(run, head, treeId)
  if (!drained) {
    await pauseBeforeRetry(ports, 1)
    return STEP_AGAIN
  }
  const snapshot = await readOperation(run, id)
  return commitOperationStep(run, snapshot, { step: 'adopt' })
}

/** Stores the new link in the head, whose mode is no longer `applying` afterwards. */
async function stopFollowing({ ports }: OperationRun, head: JournalHead, id: string): Promise<boolean> {
  if (head.link === id && head.mode !== 'applying') return true
  return (await ports.journal.moveHead(headMoves.changeLink(head, id))) !== 'refused'
}

/**
 * Reports whether all staged entries are applied, and the own closed journal has its exact end. If staged entries cannot be
 * applied, marks the items so that everything is fetched from the next primary.
 */
async function drainOldLink(
  { ports }: OperationRun,
  { mode, incarnation, epoch }: JournalHead,
  treeId: string,
): Promise<boolean> {
  if (mode === 'syncing') return true
  if (mode === 'closed') return (await endOwnEpoch(ports, { epoch })) !== undefined
  const applied = await stopStagingEntries(ports, treeId)
  if (applied === 'done') return true
  if (applied !== 'missing' && typeof applied !== 'object') return false
  ports.log.error('staged journal entries cannot be applied: a full sync follows', { applied })
  const moved = await ports.journal.moveHead(headMoves.refetchAll({ mode: 'draining', incarnation }))
  return moved !== 'refused'
}
