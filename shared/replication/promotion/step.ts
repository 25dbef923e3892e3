import type { OperationState, PromotionState } from '../../model/operation.ts'
import type { Change } from '../../storage/changes.ts'
import { roleChangeRunning } from '../operation/faults.ts'
import { moveToStep, type OperationRun, type OperationSnapshot, readOperation } from '../operation/run.ts'

/** A promotion that is under way, as it is now. */
export interface PromotionSnapshot extends OperationSnapshot {
  promotion: PromotionState
}

/**
 * A promotion at this step; undefined if it is past the step.
 * @throws OperationFailed if the cluster record names another operation
 */
export async function readPromotionAt(
  run: OperationRun,
  id: string,
  step: PromotionStep,
): Promise<PromotionSnapshot | undefined> {
  const snapshot = await readOperation(run, id)
  const { operation, record } = snapshot
  const { promotion, status } = operation.data
  if (!promotion) throw new Error('this operation is no promotion')
  if (status !== 'running' || operation.data.step !== step) return undefined
  if (record.data.operation !== id) throw roleChangeRunning()
  return { ...snapshot, promotion }
}

export const promotionSteps = ['verify', 'handover', 'drain', 'claim', 'open', 'serve'] as const

export type PromotionStep = (typeof promotionSteps)[number]

/** The promotion with a change of its own part, gone on to a step. */
export const movePromotionTo = (
  snapshot: PromotionSnapshot,
  now: number,
  step: PromotionStep,
  change: Partial<PromotionState>,
  rest: Partial<OperationState> = {},
): Change => moveToStep(snapshot, now, { step, promotion: { ...snapshot.promotion, ...change }, ...rest })
