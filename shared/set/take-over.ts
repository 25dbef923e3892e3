import { formatCount, formatTimeSpan } from '../values/words.ts'
import type { ReadReadiness } from './readiness.ts'
import type { ClusterStatus } from './status.ts'

/** A promotion as the readiness of a secondary announces it. */
export interface AnnouncedTakeOver {
  /** false only if the primary hands over first, so that no write is lost */
  isLossy: boolean
  /** steps and checks that the promotion leaves out */
  leftOut: readonly string[]
  /** the possible loss in a sentence; empty: nothing is lost */
  loss: string
}

const SKIPPED = /^this step is skipped: /
const WITHOUT: Readonly<Record<string, string>> = {
  silent: 'the primary does not answer',
  refuses: 'the primary refuses this cluster',
  none: 'this cluster knows no primary',
}

/**
 * Describes what a promotion of the secondary would leave out and lose.
 * @param age_ms age of the readiness answer
 */
export function announceTakeOver(
  { lag, checks = [], promotion, promotion_with_force: forced }: ReadReadiness,
  status: ClusterStatus,
  { force, age_ms }: { force: boolean; age_ms: number },
): AnnouncedTakeOver {
  const primary = lag?.primary ?? 'unknown'
  const isLossy = force || primary !== 'answers'
  if (!isLossy) return { isLossy, leftOut: [], loss: '' }
  const planned = (force ? forced : promotion)?.steps ?? []
  const skipped = planned.filter(({ does }) => SKIPPED.test(does))
  const steps = skipped.map(({ step, does }) => `${step}: ${does.replace(SKIPPED, '')}`)
  const usual = `handover: ${WITHOUT[primary] ?? 'the state of the primary is unknown'}`
  const overridden = force ? checks.filter(one => !one.passes && one.overridden_by_force) : []
  return {
    isLossy,
    leftOut: [
      ...(planned.length > 0 ? steps : [usual]),
      ...overridden.map(({ name, text }) => `check ${name}: ${text}`),
    ],
    loss: describePossibleLoss(status, lag?.last_contact_age_ms, age_ms),
  }
}

/**
 * Describes in writes and time what a take-over without a handover may lose.
 * @param contactAge_ms time since the primary's last answer; undefined: unknown
 */
export function describePossibleLoss(
  { primary, position = 0 }: ClusterStatus,
  contactAge_ms: number | undefined,
  age_ms: number,
): string {
  const span = Math.max(primary?.canaryAge_ms ?? 0, contactAge_ms ?? 0)
  const since =
    span === 0 ? 'since an unknown time' : `in the last ${formatTimeSpan(span + Math.max(0, age_ms))}`
  const missing = Math.max(0, (primary?.position ?? position) - position)
  const known =
    missing === 0
      ? 'No missing write is known by number'
      : `At least ${formatCount(missing, 'position is', 'positions are')} missing`
  return `This take-over may lose every write that the primary acknowledged ${since}. ${known}; the number of later writes is unknown.`
}
