import { isThrottling } from '../../../values/throttling.ts'
import { ServiceError } from './service-error.ts'

/*
 * When a call is repeated, and after how long: as the SDK does it (its standard mode of 2026), so that what a throttled
 * or broken service sees of us is what its limits are made for.
 */

/** Codes that the SDK takes for throttling besides those that we tell callers of. */
const THROTTLED_TOO = new Set([
  'BandwidthLimitExceeded',
  'EC2ThrottledException',
  'LimitExceededException',
  'PriorRequestNotComplete',
  'ProvisionedThroughputExceededException',
  'RequestThrottled',
  'RequestThrottledException',
  'ThrottledException',
  'TransactionInProgressException',
])

/** Codes of services, and names of our own, for what may pass by itself. */
const PASSING = new Set([
  'RequestTimeout',
  'RequestTimeoutException',
  'TimeoutError',
  'ReplicatedWriteConflictException',
])
/** What failed with 200 came in part, or was changed on its way. */
const PASSING_STATUS = new Set([200, 500, 502, 503, 504])
/** Codes of connections that broke, or did not come about. */
const BROKEN = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Why a call that failed may succeed when it is repeated; undefined: it will not. */
export function retryReason(error: unknown): 'throttled' | 'passing' | undefined {
  const { name, code = '', $metadata } = error as Partial<ServiceError> & { code?: string }
  const status = $metadata?.httpStatusCode ?? 0
  if (status === 429 || isThrottling(name) || THROTTLED_TOO.has(name ?? '')) return 'throttled'
  return PASSING.has(name ?? '') || BROKEN.has(code) || PASSING_STATUS.has(status) ? 'passing' : undefined
}

const LONGEST_PAUSE_MS = 20_000
const THROTTLED_MS = 1000
/** What a service asks for may make a pause longer by so much. */
const MOST_ASKED_MS = 5000

/** A repetition that would have less time is not begun: timers of attempts may fire a moment early. */
const LEAST_MS = 2

/** A budget for repetitions, which they use up and successes fill again: a service that is down is left alone. */
const BUDGET = 500
const COST = { throttled: 5, passing: 14 }

export interface RetryOptions {
  /** attempts in all */
  most: number
  /** milliseconds: the longest pause before the first repetition */
  pauseMs: number
  /** absent: true; whether work is repeated that was refused because there is too much of it */
  retriesThrottled?: boolean
  /** told of each attempt that failed and is followed by another one */
  onRetry?: OnRetry | undefined
}

/** @param why an attempt failed */
export type OnRetry = (why: 'throttled' | 'passing') => void

/** Work that is repeated while it fails with what may pass. */
export type Retry = <T>(attempt: (leftMs: number) => Promise<T>, ms?: number) => Promise<T>

/** @returns a function whose `ms` is what all attempts together may take, pauses among them */
export function createRetry({ most, pauseMs, retriesThrottled = true, onRetry }: RetryOptions): Retry {
  let budget = BUDGET
  return async (attempt, ms = Number.POSITIVE_INFINITY) => {
    const until = performance.now() + ms
    let spent = 0
    for (let tries = 1; ; tries++) {
      try {
        const result = await attempt(until - performance.now())
        budget = Math.min(BUDGET, budget + (spent || 1))
        return result
      } catch (error) {
        const why = retryReason(error)
        if (!why || tries >= most || budget < COST[why]) throw error
        if (why === 'throttled' && !retriesThrottled) throw error
        const pause = pauseBefore(tries, why === 'throttled' ? THROTTLED_MS : pauseMs, error)
        if (performance.now() + pause + LEAST_MS >= until) throw error
        onRetry?.(why)
        spent = COST[why]
        budget -= spent
        await new Promise(resolve => setTimeout(resolve, pause))
      }
    }
  }
}

function pauseBefore(tries: number, base: number, error: unknown): number {
  const pause = Math.floor(Math.random() * Math.min(base * 2 ** (tries - 1), LONGEST_PAUSE_MS))
  const asked = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0
  return Math.max(pause, Math.min(asked, pause + MOST_ASKED_MS))
}
