import { isThrottlingCode } from '../../../values/throttling.ts'
import { AwsServiceError } from './service-error.ts'

/*
 * Decides when a failed call is retried, and after which pause: as in the SDK (its standard mode of 2026), so that
 * a throttled or broken service gets the retries for which its limits are made.
 */

/**
 * Error codes that the SDK treats as throttling, in addition to the codes that this service reports to clients as
 * throttling.
 */
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

/** Error codes of services, and names of our own errors, for faults that may pass. */
const PASSING = new Set([
  'RequestTimeout',
  'RequestTimeoutException',
  'TimeoutError',
  'ReplicatedWriteConflictException',
])
/** An answer with status 200 that failed was incomplete, or was changed in transit. */
const PASSING_STATUS = new Set([200, 500, 502, 503, 504])
/** Codes of broken or failed connections. */
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

/** Returns why a failed call may succeed when it is retried; undefined: a retry is useless. */
export function retryReason(error: unknown): 'throttled' | 'passing' | undefined {
  const { name, code = '', $metadata } = error as Partial<AwsServiceError> & { code?: string }
  const status = $metadata?.httpStatusCode ?? 0
  if (status === 429 || isThrottlingCode(name) || THROTTLED_TOO.has(name ?? '')) return 'throttled'
  return PASSING.has(name ?? '') || BROKEN.has(code) || PASSING_STATUS.has(status) ? 'passing' : undefined
}

const LONGEST_RETRY_PAUSE_MS = 20_000
const THROTTLED_PAUSE_MS = 1000
/** Milliseconds by which a pause may grow because a service requests it. */
const LONGEST_RETRY_AFTER_MS = 5000

/** A retry that would have less time is not started, because timers of attempts may fire a moment early. */
const SHORTEST_RETRY_MS = 2

/**
 * The budget for retries of a client. Retries use it up and successes refill it, so that a service that is down
 * gets few retries.
 */
const BUDGET = 500
const COST = { throttled: 5, passing: 14 }

export interface RetryLimits {
  /** maximum number of attempts */
  most: number
  /** milliseconds: the longest pause before the first retry */
  pauseMs: number
  /** `retriesThrottled`: whether throttled calls are retried; absent: true */
  retriesThrottled?: boolean
  /** `onRetry` is called after each failed attempt that is retried */
  onRetry?: OnRetry | undefined
}

/**
 * Called after a failed attempt of a call.
 * @param why the attempt failed
 */
export type OnRetry = (why: 'throttled' | 'passing') => void

/** Retries work as long as it fails with faults that may pass. */
export type RetryCall = <T>(attempt: (leftMs: number) => Promise<T>, ms?: number) => Promise<T>

/**
 * Creates a retry function.
 * @returns a function whose `ms` limits all attempts together, including their pauses
 */
export function createRetryCall({ most, pauseMs, retriesThrottled = true, onRetry }: RetryLimits): RetryCall {
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
        const pause = pauseBefore(tries, why === 'throttled' ? THROTTLED_PAUSE_MS : pauseMs, error)
        if (performance.now() + pause + SHORTEST_RETRY_MS >= until) throw error
        onRetry?.(why)
        spent = COST[why]
        budget -= spent
        await new Promise(resolve => setTimeout(resolve, pause))
      }
    }
  }
}

function pauseBefore(tries: number, base: number, error: unknown): number {
  const pause = Math.floor(Math.random() * Math.min(base * 2 ** (tries - 1), LONGEST_RETRY_PAUSE_MS))
  const asked = error instanceof AwsServiceError ? (error.retryAfterMs ?? 0) : 0
  return Math.max(pause, Math.min(asked, pause + LONGEST_RETRY_AFTER_MS))
}
