import type { OperationState, PromotionState } from '../../model/operation.ts'
import type { Change } from '../../storage/changes.ts'
import { roleTaken } from '../operation/faults.ts'
import { type OperationRun, type OperationStand, readStand, toStep } from '../operation/run.ts'

/** A promotion that is under way, as it is now. */
export interface PromotionStand extends OperationStand {
  promotion: PromotionState
}

/**
 * A promotion at this step; undefined if it is past the step.
 * @throws OperationFailed if the cluster record names another operation
 */
export async function promotionAt(
  run: OperationRun,
  id: string,
  step: PromotionStep,
): Promise<PromotionStand | undefined> {
  const stand = await readStand(run, id)
  const { operation, record } = stand
  const { promotion, status } = operation.data
  if (!promotion) throw new Error('this operation is no promotion')
  if (status !== 'running' || operation.data.step !== step) return undefined
  if (record.data.operation !== id) throw roleTaken()
  return { ...stand, promotion }
}

export const promotionSteps = ['verify', 'handover', 'drain', 'claim', 'open', 'serve'] as const

export type PromotionStep = (typeof promotionSteps)[number]

/** The promotion with a change of its own part, gone on to a step. */
export const promotionTo = (
  stand: PromotionStand,
  now: number,
  step: PromotionStep,
  change: Partial<PromotionState>,
  rest: Partial<OperationState> = {},
): Change => toStep(stand, now, { step, promotion: { ...stand.promotion, ...change }, ...rest })
