import {
  commitStep,
  DONE,
  endOperation,
  type OperationEnd,
  type OperationStep,
  readStandToEnd,
  toStep,
} from '../operation/run.ts'
import { adopt, keepOldPrimary } from '../update-primary/adopt.ts'
import { changeLink } from '../update-primary/change-link.ts'
import { findPrimary } from '../update-primary/find.ts'
import { forget, leave } from './leave.ts'

/**
 * The steps by which a secondary leaves its set, in their order: it is told to follow nobody first, as by an update of
 * the primary.
 */
export const disableSteps: Readonly<Record<string, OperationStep>> = {
  find: findPrimary,
  drain: changeLink,
  adopt,
  leave,
  forget,
  finish: endOperation,
}

/**
 * Called when a step is given up. Once the record says that this cluster has left, there is no way back and no request could
 * repeat the step: the operation is not ended, and another execution goes on with it within minutes.
 */
export const disableFailed: OperationEnd = async (run, id, fault) => {
  const stand = await readStandToEnd(run, id)
  const { operation, record } = stand
  if (record.data.mode !== 'disabled' || record.data.operation !== id) return keepOldPrimary(run, id, fault)
  if (operation.data.status !== 'running') return DONE
  return commitStep(run, [toStep(stand, run.ports.clock.now(), { step: 'forget', fault })], stand)
}
