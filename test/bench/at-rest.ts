import { workers } from '../../shared/workers/workers.ts'
import type { PairAtRest } from '../support/set/at-rest.ts'

/** List prices of us-east-1, USD, as they were published in November 2025; no free tier. */
const PRICES = {
  /** an HTTP API's request */
  gateway: 1e-6,
  /** an invocation, and a GB-second on arm64 */
  invocation: 0.2e-6,
  gigabyteSecond: 0.0000133334,
  /** units on demand */
  read: 0.125e-6,
  write: 0.625e-6,
  /** a GB of logs */
  logs: 0.5,
  /** a call of KMS: a new environment unwraps the keyring */
  kms: 3e-6,
}

const MINUTES = 43_800
/** Assumed: a function that answers runs for so long, milliseconds, and logs so many bytes (docs/deploy.md, Costs). */
const RUNS_MS = 60
const LOGS = { invocation: 1350, gateway: 300 }
const MEMORY_MB = 1024
/** New environments in a minute, of both clusters, at most. */
const STARTS = 2

/** What a part costs in a month, USD. */
export type Costs = Record<string, number>

/** What a pair at rest costs in a month, beside storage, alarms and key. On-pull runs all the time, and is paid for it. */
export function monthlyCosts({ link, functions }: PairAtRest): Costs {
  const linkCalls = Object.values(link).reduce((sum, count) => sum + count, 0)
  const all = Object.entries(functions)
  const total = (of: 'invocations' | 'reads' | 'writes') => all.reduce((sum, [, one]) => sum + one[of], 0)
  const others = all.filter(([name]) => name !== 'west on-pull')
  const answering = others.reduce((sum, [, { invocations }]) => sum + invocations, 0)
  const gigabytes = (memory: number) => memory / 1024
  const monthly = (perMinute: number, price: number) => perMinute * MINUTES * price
  return {
    'puller, running': monthly(60 * gigabytes(workers['on-pull'].memory), PRICES.gigabyteSecond),
    'other functions': monthly((answering * RUNS_MS * gigabytes(MEMORY_MB)) / 1000, PRICES.gigabyteSecond),
    invocations: monthly(total('invocations'), PRICES.invocation),
    gateway: monthly(linkCalls, PRICES.gateway),
    'read units': monthly(total('reads'), PRICES.read),
    'write units': monthly(total('writes'), PRICES.write),
    logs: monthly(total('invocations') * LOGS.invocation + linkCalls * LOGS.gateway, PRICES.logs / 1e9),
    KMS: monthly(STARTS, PRICES.kms),
  }
}

export const sumOf = (costs: Costs): number => Object.values(costs).reduce((sum, one) => sum + one, 0)
