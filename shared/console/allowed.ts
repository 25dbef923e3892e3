import { decideNextStep, waits } from '../set/plan.ts'
import { readReadiness } from '../set/readiness.ts'
import { hasAnswered, type ObservedCluster } from '../set/status.ts'
import { spanOf } from '../values/words.ts'

/** Reads the `data` of a readiness. @param at epoch milliseconds, by the clock of the page */
export const readinessOf = (data: unknown, at: number) => ({ at, ...readReadiness(data) })
/** What a cluster has answered to the question for its readiness. */
export type ShownReadiness = ReturnType<typeof readinessOf>

/** Milliseconds for which what readiness said is taken for true. */
export const READINESS_COUNTS_MS = 60_000

interface Asked {
  own: ObservedCluster
  /** absent: the page knows of no other cluster */
  peer?: ObservedCluster | undefined
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
  if (!hasAnswered(own)) return 'This cluster does not answer.'
  const { cluster, status } = own.answer
  if (status.mode !== 'secondary')
    return 'This cluster is no secondary: a promotion is ordered on the one that shall take over.'
  if (status.operation) return `The operation ${status.operation.name} is under way.`
  if (!hasOperationToken) return 'Type in a DR operation token first.'
  const { mode, operation_token: token, promotion, promotion_with_force: forced } = readiness?.fields ?? {}
  if (!readiness || mode !== 'secondary') return 'Ask for the readiness first.'
  if (now - readiness.at > READINESS_COUNTS_MS)
    return `The readiness is ${spanOf(now - readiness.at)} old: ask for it again.`
  if (token?.presented.counts === false && token.presented.why !== '')
    return `The token does not order a promotion: ${token.presented.why}.`
  const plan = force ? forced : promotion
  if (!plan?.goes_through) return `It would be refused: ${plan?.refused ?? 'it does not say why'}`
  if (force && promotion?.goes_through) return 'A planned switch goes through: force is not needed.'
  const step =
    force &&
    peer &&
    decideNextStep({ from: peer, to: own }, { kind: 'takeOver', allowedActions: ['force'], waits })
  if (step && step.do === 'stop') return `${step.why}.`
  if (!confirms(cluster, typed)) return `Type the name of this cluster, ${cluster}, to confirm.`
  return ''
}

/** Whether a name was typed, letter by letter. */
export const confirms = (name: string, typed: string): boolean => name !== '' && typed === name
