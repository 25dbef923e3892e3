/*
 * The price of a run, from list prices of us-east-1 without free tier and from the time that has passed, because AWS's
 * billing lags by hours. Regions can cost more, so a run stops at a part of its limit.
 */

const HOURS_A_MONTH = 730
const monthly = (usd: number): number => usd / HOURS_A_MONTH

/** A row of the price table, in USD. */
export interface PriceRow {
  what: string
  /** price that does not depend on the time */
  once: number
  /** price of an hour */
  hourly: number
  /** true: once for the run, also in two regions */
  isShared?: true
}

/** The most API requests of a run. */
const MOST_REQUESTS = 5000
/** A login at most: gateway, function, DynamoDB, logs (the sum of docs/look-up/costs.md). */
const REQUEST_USD = 10.05e-6
const ALARM_METRICS = 60

/** The prices of all that a run makes. */
export const provePrices: readonly PriceRow[] = [
  {
    what: `at most ${MOST_REQUESTS} requests: gateway, functions, DynamoDB, logs`,
    once: MOST_REQUESTS * REQUEST_USD,
    hourly: 0,
  },
  {
    what: 'bucket with 13 MB of code: 50 uploads and the storage',
    once: 50 * 5e-6,
    hourly: monthly(0.013 * 0.023),
  },
  { what: 'KMS key', once: 0, hourly: monthly(1) },
  {
    what: `alarms and metrics, at most ${ALARM_METRICS} of each`,
    once: 0,
    hourly: monthly(ALARM_METRICS * 0.4),
  },
  {
    what: 't4g.nano instance with a disk of 8 GB and a public IPv4 address',
    once: 0,
    hourly: 0.0042 + 0.005 + monthly(8 * 0.08),
    isShared: true,
  },
]

/** The longest run, and the highest limit. */
export const proveBounds = { minutes: 60, usd: 5 } as const

/** Part of the limit at which a run stops. The rest pays the teardown. */
const STOP_AT = 0.8

/** Returns the price of a row after a time, in USD. @param regions number of regions of the run */
export const priceOfRow = ({ once, hourly, isShared }: PriceRow, ms: number, regions: number): number =>
  (once + (hourly * ms) / 3_600_000) * (isShared ? 1 : regions)

/** Returns the price of a run after a time, in USD. */
export const priceAfter = (ms: number, regions = 1): number =>
  provePrices.reduce((sum, row) => sum + priceOfRow(row, ms, regions), 0)

/** Returns why a run must stop, or undefined while it may continue. */
export function findBudgetFault(ms: number, limitUsd: number, regions = 1): string | undefined {
  if (ms >= proveBounds.minutes * 60_000) return `the run has lasted ${proveBounds.minutes} minutes`
  const usd = priceAfter(ms, regions)
  if (usd >= limitUsd * STOP_AT)
    return `the run has cost about ${formatUsd(usd)}, ${STOP_AT * 100} % of the limit of ${formatUsd(limitUsd)}`
  return undefined
}

export const formatUsd = (usd: number): string => `${usd.toFixed(2)} USD`
