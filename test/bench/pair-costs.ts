import { workerDefinitions } from '../../shared/workers/workers.ts'
import { listPrices } from '../support/prices/price-list.ts'
import { computeWatchingCost } from '../support/prices/prices.ts'
import type { HashCalls, RecordedPair } from '../support/set/recorded-calls.ts'

const MINUTES = 43_800
const CLUSTERS = 2
/**
 * Assumed running time of an answering function in milliseconds, and the bytes that it logs
 * (docs/look-up/costs.md).
 */
const RUNS_MS = 60
const LOGS = { invocation: 1350, gateway: 300, login: 5600 }
const MEMORY_MB = 1024
/**
 * Number of new environments of both clusters in a minute. Each new environment calls KMS to unwrap the
 * keyring.
 */
const STARTS = 0.5
/** Metrics of a deployment's alarms. `test/infra/alarms.test.ts` counts them. */
export const ALARM_METRICS = 31
/** Assumed running time of a refresh of all pages, in seconds. */
const REFRESH_SECONDS = 3
/** Buckets of a page in a set that has served for days. */
const BUCKETS = 256
const READ_UNIT_BYTES = 4096

/** The costs of each part in a month, in USD. */
export type Costs = Record<string, number>

const monthly = (perMinute: number, price: number): number => perMinute * MINUTES * price

export const sumOf = (costs: Costs): number => Object.values(costs).reduce((sum, one) => sum + one, 0)

/** Returns the costs of one cluster without replication, which has no puller. */
export function clusterCosts(recorded: RecordedPair): Costs {
  const { 'puller, running': _puller, ...costs } = pairCosts(recorded)
  return costs
}

/** Returns the costs of one cluster that do not depend on calls. The metrics are those of a month with logins. */
export function standingCostsOfCluster(): Costs {
  const { metrics, alarms } = computeWatchingCost(ALARM_METRICS)
  return { keys: listPrices.kmsKey, alarms, metrics: metrics.usual }
}

/**
 * Returns the monthly costs of the hashes of both clusters. Their pages count as full, however few items the
 * recorded set has.
 */
export function hashCosts({ refreshes, pages, bytes, buckets, reads, writes }: HashCalls): Costs {
  const unitsOfPage = Math.ceil((BUCKETS * (bytes / Math.max(1, buckets))) / READ_UNIT_BYTES)
  const seconds =
    refreshes * Math.min(REFRESH_SECONDS, (REFRESH_SECONDS * pages) / Math.max(1, refreshes) / 512)
  return {
    'read units': monthly(reads + pages * unitsOfPage, listPrices.readUnit),
    'write units': monthly(writes, listPrices.writeUnit),
    'functions, running': monthly((seconds * MEMORY_MB) / 1024, listPrices.gigabyteSecond),
  }
}

/**
 * Returns the costs of a pair without storage and backups, from the recorded calls. The function `on-pull`
 * runs all the time.
 */
export function pairCosts({ link, functions, hashes }: RecordedPair): Costs {
  const linkCalls = Object.values(link).reduce((sum, count) => sum + count, 0)
  const all = Object.entries(functions)
  const total = (of: 'invocations' | 'reads' | 'writes') => all.reduce((sum, [, one]) => sum + one[of], 0)
  const others = all.filter(([name]) => name !== 'west on-pull')
  const answering = others.reduce((sum, [, { invocations }]) => sum + invocations, 0)
  const requests = functions['east api']?.invocations ?? 0
  const logged = total('invocations') * LOGS.invocation + (linkCalls + requests) * LOGS.gateway
  const audited = requests * (LOGS.login - LOGS.invocation - LOGS.gateway)
  return {
    'puller, running': monthly((60 * workerDefinitions['on-pull'].memory) / 1024, listPrices.gigabyteSecond),
    'other functions, running': monthly(
      (answering * RUNS_MS * MEMORY_MB) / 1024 / 1000,
      listPrices.gigabyteSecond,
    ),
    invocations: monthly(total('invocations'), listPrices.invocation),
    gateway: monthly(linkCalls + requests, listPrices.gatewayRequest),
    'read units': monthly(total('reads') - hashes.reads, listPrices.readUnit),
    'write units': monthly(total('writes') - hashes.writes, listPrices.writeUnit),
    logs: monthly(logged + audited, listPrices.logGigabyte / 1e9),
    'KMS calls': monthly(STARTS, listPrices.kmsCall),
    'hashes of the tree': sumOf(hashCosts(hashes)),
  }
}

/**
 * Returns the costs of a pair that do not depend on calls.
 * @param when `idle`: no clients, so their metrics have no series
 */
export function standingCosts(when: 'idle' | 'usual'): Costs {
  const { metrics, alarms } = computeWatchingCost(ALARM_METRICS)
  return {
    keys: CLUSTERS * listPrices.kmsKey,
    alarms: CLUSTERS * alarms,
    metrics: when === 'usual' ? CLUSTERS * metrics.usual : metrics.idlePrimary + metrics.idleSecondary,
  }
}
