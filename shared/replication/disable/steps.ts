import { endOperation, type OperationEnd, type OperationStep } from '../operation/run.ts'
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

/** What follows when a step is given up. */
export const disableFailed: OperationEnd = keepOldPrimary
