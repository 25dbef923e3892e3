import { nextStep, waits } from '../set/plan.ts'
import { type ClusterSeen, isHeard } from '../set/status.ts'
import { spanOf } from '../values/words.ts'
import { jsonText, listIn, objectOf } from './json.ts'

/** What a cluster has answered to the question for its readiness. */
export interface ShownReadiness {
  /** epoch milliseconds, by the clock of the page */
  at: number
  mode: string
  ready: boolean
  checks: readonly { name: string; passes: boolean; text: string; isOverridden: boolean }[]
  /** of a secondary: what a promotion would come to */
  promotion: Plan
  promotionWithForce: Plan
  token: {
    /** whether the presented token orders a promotion, and if not, why */
    counts: boolean
    why: string
    /** seconds; 0: without end */
    left: number
    /** seconds since a token was generated from recovery shares; absent: none was */
    generatedAge?: number
  }
}

interface Plan {
  goesThrough: boolean
  refused: string
  warnings: readonly string[]
  steps: readonly { step: string; does: string }[]
}

/** Reads the `data` of a readiness. */
export function readinessOf(data: unknown, at: number): ShownReadiness {
  const all = objectOf(data)
  const token = objectOf(all['operation_token'])
  const presented = objectOf(token['presented'])
  const generated = objectOf(token['generated'])
  return {
    at,
    mode: jsonText(all['mode']),
    ready: all['ready'] === true,
    checks: listIn(all['checks']).map(objectOf).map(checkOf),
    promotion: planOf(all['promotion']),
    promotionWithForce: planOf(all['promotion_with_force']),
    token: {
      counts: presented['counts'] === true,
      why: jsonText(presented['why']),
      left: Number(presented['seconds_left'] ?? 0),
      ...(typeof generated['age_seconds'] === 'number' ? { generatedAge: generated['age_seconds'] } : {}),
    },
  }
}

const checkOf = (one: Readonly<Record<string, unknown>>) => ({
  name: jsonText(one['name']),
  passes: one['passes'] === true,
  text: jsonText(one['text']),
  isOverridden: one['overridden_by_force'] === true,
})

function planOf(value: unknown): Plan {
  const plan = objectOf(value)
  return {
    goesThrough: plan['goes_through'] === true,
    refused: jsonText(plan['refused']),
    warnings: listIn(plan['warnings']).map(jsonText),
    steps: listIn(plan['steps'])
      .map(objectOf)
      .map(one => ({ step: jsonText(one['step']), does: jsonText(one['does']) })),
  }
}

/** Milliseconds for which what readiness said is taken for true. */
export const READINESS_COUNTS_MS = 60_000

interface Asked {
  own: ClusterSeen
  /** absent: the page knows of no other cluster */
  peer?: ClusterSeen | undefined
  readiness: ShownReadiness | undefined
  hasOperationToken: boolean
  /** what was typed to confirm */
  typed: string
  force: boolean
  now: number
}

/** Whether the button of a promotion may be pressed, and if not, what is missing. */
export function promotionAllowed(asked: Asked): { allowed: boolean; why: string } {
  const why = hindrance(asked)
  return { allowed: why === '', why }
}

function hindrance({ own, peer, readiness, hasOperationToken, typed, force, now }: Asked): string {
  if (!isHeard(own)) return 'This cluster does not answer.'
  const { cluster, status } = own.word
  if (status.mode !== 'secondary')
    return 'This cluster is no secondary: a promotion is ordered on the one that shall take over.'
  if (status.operation) return `The operation ${status.operation.name} is under way.`
  if (!hasOperationToken) return 'Type in a DR operation token first.'
  if (readiness?.mode !== 'secondary') return 'Ask for the readiness first.'
  if (now - readiness.at > READINESS_COUNTS_MS)
    return `The readiness is ${spanOf(now - readiness.at)} old: ask for it again.`
  if (!readiness.token.counts && readiness.token.why !== '')
    return `The token does not order a promotion: ${readiness.token.why}.`
  const plan = force ? readiness.promotionWithForce : readiness.promotion
  if (!plan.goesThrough) return `It would be refused: ${plan.refused}`
  if (force && readiness.promotion.goesThrough) return 'A planned switch goes through: force is not needed.'
  const step = force && peer && nextStep({ from: peer, to: own }, { kind: 'takeOver', may: ['force'], waits })
  if (step && step.do === 'stop') return `${step.why}.`
  if (!confirms(cluster, typed)) return `Type the name of this cluster, ${cluster}, to confirm.`
  return ''
}

/** Whether a name was typed, letter by letter. */
export const confirms = (name: string, typed: string): boolean => name !== '' && typed === name
