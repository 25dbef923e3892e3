import type { OperationState, PromotionState } from '../../model/operation.ts'
import type { Change } from '../../storage/changes.ts'
import { roleChangeRunningError } from '../operation/faults.ts'
import {
  commitOperationStep,
  type OperationRun,
  type OperationSnapshot,
  type OperationStepResult,
  readOperation,
} from '../operation/run.ts'

/** A running promotion that was just read. */
export interface PromotionSnapshot extends OperationSnapshot {
  promotion: PromotionState
}

/**
 * Reads a promotion at this step; undefined if the promotion is past the step.
 * @throws OperationFailed if the cluster record contains another operation
 */
export async function readPromotionAtStep(
  run: OperationRun,
  id: string,
  step: PromotionStep,
): Promise<PromotionSnapshot | undefined> {
  const snapshot = await readOperation(run, id)
  const { operation, record } = snapshot
  const { promotion, status } = operation.data
  if (!promotion) throw new Error('this operation is no promotion')
  if (status !== 'running' || operation.data.step !== step) return undefined
  if (record.data.operation !== id) throw roleChangeRunningError()
  return { ...snapshot, promotion }
}

export const promotionSteps = ['verify', 'handover', 'drain', 'claim', 'open', 'serve'] as const

export type PromotionStep = (typeof promotionSteps)[number]

/** Moves the promotion to a step, with new values of its own state, and commits that with other changes. */
export const movePromotionToStep = (
  run: OperationRun,
  snapshot: PromotionSnapshot,
  step: PromotionStep,
  change: Partial<PromotionState>,
  rest: Partial<OperationState> = {},
  others: readonly Change[] = [],
): Promise<OperationStepResult> =>
  commitOperationStep(
    run,
    snapshot,
    { step, promotion: { ...snapshot.promotion, ...change }, ...rest },
    others,
  )
