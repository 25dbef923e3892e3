import type { OperationStep } from '../operation/run.ts'
import { drainAll } from './drain.ts'
import { askHandover } from './handover.ts'
import { beginService, open } from './serve.ts'
import type { PromotionStep } from './stand.ts'
import { takeOver } from './take-over.ts'
import { verify } from './verify.ts'

/** The steps that make a primary of a secondary, in their order. @see docs/spec/promotion.md#promotion */
export const stepsOfPromotion: Readonly<Record<PromotionStep, OperationStep>> = {
  verify,
  handover: askHandover,
  drain: drainAll,
  claim: takeOver,
  open,
  serve: beginService,
}
