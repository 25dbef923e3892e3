import {
  commitStep,
  endOperation,
  type OperationEnd,
  type OperationStep,
  standingToEnd,
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
 * What follows when a step is given up. Once it has left there is no way back: the operation is not over, and another
 * execution goes on with it.
 */
export const disableFailed: OperationEnd = async (run, id, fault) => {
  const stand = await standingToEnd(run, id)
  const { record, operation } = stand
  if (record.data.mode !== 'disabled' || operation.data.status !== 'running')
    return keepOldPrimary(run, id, fault)
  return commitStep(run, [toStep(stand, run.ports.clock.now(), { fault })], stand)
}
