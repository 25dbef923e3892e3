import { endOwnEpoch } from '../../journal/density.ts'
import type { JournalHead } from '../../journal/head.ts'
import { headMoves } from '../../journal/transitions.ts'
import { pauseBeforeRetry } from '../apply/window.ts'
import { noLongerSecondaryError } from '../operation/faults.ts'
import {
  AGAIN,
  commitStep,
  DONE,
  moveToStep,
  type OperationRun,
  type OperationStep,
  readOperation,
} from '../operation/run.ts'
import { stopStaging } from '../secondary/staged.ts'
import { isAdopted } from './find.ts'

/**
 * Stops the old link permanently, and applies everything that was staged by it. As soon as the head names the new link,
 * writes by the old one are rejected, however late, so there is only one link at a time.
 */
export const changeLink: OperationStep = async (run, id) => {
  const { ports } = run
  const before = await readOperation(run, id)
  const { treeId } = before.record.data
  if (isAdopted(before.record.data, id) || before.operation.data.status !== 'running') return DONE
  const head = await ports.journal.head()
  if (!head || treeId === undefined || head.mode === 'writing') throw noLongerSecondaryError()
  if (!(await stopFollowing(run, head, id))) return AGAIN
  const drained = await drainOldLink(run, head, treeId)
  if (!drained) {
    await pauseBeforeRetry(ports, 1)
    return AGAIN
  }
  const snapshot = await readOperation(run, id)
  return commitStep(run, [moveToStep(snapshot, ports.clock.now(), { step: 'adopt' })], snapshot)
}

/** Stores the new link in the head, which is no longer `applying` then. */
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
  const applied = await stopStaging(ports, treeId)
  if (applied === 'done') return true
  if (applied !== 'missing' && typeof applied !== 'object') return false
  ports.log.error('staged journal entries cannot be applied: a full sync follows', { applied })
  const moved = await ports.journal.moveHead(headMoves.refetchAll({ mode: 'draining', incarnation }))
  return moved !== 'refused'
}
