import { decideNextStep, WAIT_LIMITS_MS } from '../set/plan.ts'
import { readReadiness } from '../set/readiness.ts'
import { hasAnswered, type ObservedCluster } from '../set/status.ts'
import { type AnnouncedTakeOver, announceTakeOver } from '../set/take-over.ts'
import { formatTimeSpan } from '../values/words.ts'

/** Reads the `data` of a readiness answer. @param at epoch milliseconds, by the clock of the page */
export const toShownReadiness = (data: unknown, at: number) => ({ at, ...readReadiness(data) })
/** A cluster's readiness answer, with the time of the answer. */
export type ShownReadiness = ReturnType<typeof toShownReadiness>

/** Milliseconds for which the page trusts a readiness answer. */
export const READINESS_VALID_MS = 60_000

interface PromotionInput {
  own: ObservedCluster
  /** the other cluster; absent: the page knows none */
  peer?: ObservedCluster | undefined
  readiness: ShownReadiness | undefined
  hasOperationToken: boolean
  /** text typed to confirm */
  typed: string
  force: boolean
  /** the operator accepts the possible loss; needed if the promotion is lossy */
  acceptsLoss: boolean
  now: number
}

/** Describes what the promotion would leave out and lose; undefined: this cluster has reported no readiness. */
export function announceFor({
  own,
  readiness,
  force,
  now,
}: Pick<PromotionInput, 'own' | 'readiness' | 'force' | 'now'>): AnnouncedTakeOver | undefined {
  if (!own.answer || readiness?.fields.mode !== 'secondary') return undefined
  return announceTakeOver(readiness.fields, own.answer.status, { force, age_ms: now - readiness.at })
}

/** Returns whether the promotion button is enabled and, if not, what is missing. */
export function checkPromotionButton(asked: PromotionInput): { allowed: boolean; why: string } {
  const why = findObstacle(asked)
  return { allowed: why === '', why }
}

function findObstacle({
  own,
  peer,
  readiness,
  hasOperationToken,
  typed,
  force,
  acceptsLoss,
  now,
}: PromotionInput): string {
  if (!hasAnswered(own)) return 'This cluster does not answer.'
  const { cluster, status } = own.answer
  if (status.mode !== 'secondary')
    return 'This cluster is not a secondary. Promote from the page of the cluster that should take over.'
  if (status.operation) return `The operation ${status.operation.name} is running.`
  if (!hasOperationToken) return 'Enter a DR operation token first.'
  const { mode, operation_token: token, promotion, promotion_with_force: forced } = readiness?.fields ?? {}
  if (!readiness || mode !== 'secondary') return 'Request the readiness first.'
  if (now - readiness.at > READINESS_VALID_MS)
    return `The readiness is ${formatTimeSpan(now - readiness.at)} old. Request it again.`
  if (token?.presented.counts === false && token.presented.why !== '')
    return `The token does not allow a promotion: ${token.presented.why}.`
  const plan = force ? forced : promotion
  if (!plan?.goes_through)
    return `The cluster would refuse the promotion: ${plan?.refused ?? 'the cluster gives no reason'}`
  const isLossy = announceFor({ own, readiness, force, now })?.isLossy ?? true
  if (force && promotion?.goes_through && !announceFor({ own, readiness, force: false, now })?.isLossy)
    return 'Force is not needed, because a planned switch would succeed.'
  const step =
    isLossy &&
    peer &&
    decideNextStep(
      { from: peer, to: own },
      { kind: 'takeOver', allowedActions: ['force'], waits: WAIT_LIMITS_MS },
    )
  if (step && step.do === 'stop') return `${step.why}.`
  if (isLossy && !acceptsLoss) return 'Accept the possible loss first.'
  if (!isNameConfirmed(cluster, typed)) return `Type the name of this cluster, ${cluster}, to confirm.`
  return ''
}

/** Reports whether the cluster's name was typed exactly. */
export const isNameConfirmed = (name: string, typed: string): boolean => name !== '' && typed === name
