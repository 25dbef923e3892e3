import type { JournalHead } from '../../journal/head.ts'
import { epochNumber } from '../../journal/position.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { PromotionPlan } from '../../set/readiness.ts'
import {
  decidePromotion,
  type PrimaryFacts,
  type PromotionFacts,
  shouldRequestHandover,
} from '../promotion/decide.ts'
import { type PromotionStep, promotionSteps } from '../promotion/step.ts'
import { computeNextEpoch } from '../promotion/take-over.ts'

/** The input of a plan, besides the facts that decide the promotion itself. */
export interface PromotionPlanInput {
  readonly facts: Omit<PromotionFacts, 'head'> & { readonly head: JournalHead | undefined }
  readonly record: Pick<ClusterRecord, 'id'>
  /** `lastKnownEpoch` is the epoch of the primary in its last answer */
  readonly lastKnownEpoch?: string | undefined
}

/** Returns the steps that a promotion would take now, without taking them. */
export function planPromotion(
  planning: PromotionPlanInput,
  { force }: { readonly force: boolean },
): PromotionPlan {
  const { facts } = planning
  const { refused, warnings } = decidePromotion(facts, { force })
  const { head } = facts
  if (refused || !head)
    return {
      goes_through: false,
      refused: refused?.text ?? '',
      warnings: [],
      steps: [
        { step: 'verify', does: 'this cluster refuses the promotion: nothing changes on either cluster' },
      ],
    }
  const steps = promotionSteps.map(step => ({ step, does: does[step]({ ...planning, head }) }))
  return { goes_through: true, refused: '', warnings, steps }
}

type Planned = PromotionPlanInput & { readonly head: JournalHead }

const does: Readonly<Record<PromotionStep, (planned: Planned) => string>> = {
  verify: () => 'passes',
  handover: ({ facts }) =>
    shouldRequestHandover(facts)
      ? `this cluster makes the primary end its epoch ${primaryReportOf(facts.primary)?.epoch ?? ''}: from then on no cluster serves clients, until the step open`
      : `this step is skipped: ${reasonWithoutHandover(facts)}`,
  drain: ({ facts, head }) => {
    const received = `this cluster applies ${head.last - head.applied} received positions`
    if (!shouldRequestHandover(facts))
      return head.mode === 'closed' ? 'this cluster ends its own journal at an exact position' : received
    const missing = Math.max(0, (primaryReportOf(facts.primary)?.seq ?? head.last) - head.last)
    return `this cluster waits for the rest of the journal, ${missing} positions by now; ${received}`
  },
  claim: ({ record, head, lastKnownEpoch, facts }) => {
    const epoch = computeNextEpoch(head, [lastKnownEpoch, primaryReportOf(facts.primary)?.epoch], record.id)
    const behind = shouldRequestHandover(facts) ? 'the end of the primary’s journal' : `position ${head.last}`
    return `this cluster becomes the primary, in epoch ${epoch}, which begins after ${behind}; the generation of the new primary is ${epochNumber(epoch) - 1}`
  },
  open: () => 'this cluster writes its first journal entry, and serves clients from then on',
  serve: ({ facts }) =>
    `this cluster deletes the operation token that was generated here, and sends an event to the event bus${
      shouldRequestHandover(facts)
        ? ''
        : '; every minute this cluster makes other clusters of the set end earlier epochs, until each cluster has confirmed the end'
    }`,
}

const primaryReportOf = (primary: PrimaryFacts) =>
  primary.state === 'answers' ? primary.reported : undefined

const reasonWithoutHandover = ({ primary, head }: PromotionFacts): string => {
  if (primary.state === 'answers') return `a sync is running (${head?.mode})`
  if (primary.state === 'silent') return 'the primary does not answer'
  return primary.state === 'none' ? 'this cluster knows no primary' : 'the primary refuses this cluster'
}
