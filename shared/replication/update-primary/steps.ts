import type { OperationEnd, OperationStep } from '../operation/run.ts'
import { adopt, finish, keepOldPrimary } from './adopt.ts'
import { changeLink } from './change-link.ts'
import { findPrimary } from './find.ts'

/** The steps by which a secondary takes another primary, or none, in their order. Nothing is wiped. */
export const updateSteps: Readonly<Record<string, OperationStep>> = {
  find: findPrimary,
  drain: changeLink,
  adopt,
  finish,
}

/** Called when a step is given up. */
export const updateFailed: OperationEnd = keepOldPrimary
