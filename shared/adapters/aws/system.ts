import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { Logger } from '@aws-lambda-powertools/logger'
import type { CallMeter, Clock, Entropy, Log, WriteLogLine } from '../../ports.ts'
import { toEmbeddedMetrics } from '../../watching/metrics.ts'

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async ms => {
    await setTimeout(ms)
  },
}

/**
 * Random bytes are drawn at request time and never at start, because all copies of one snapshot of an environment
 * would share bytes drawn at start.
 */
export const systemEntropy: Entropy = { bytes: randomBytes, uuid: randomUUID }

/** Counts calls for the request that makes them. Calls outside a request are not counted. */
export function createCallMeter(): CallMeter {
  const current = new AsyncLocalStorage<Record<string, number>>()
  return {
    count: service => {
      const calls = current.getStore()
      if (calls) calls[service] = (calls[service] ?? 0) + 1
    },
    measure: async work => {
      const calls: Record<string, number> = {}
      return { value: await current.run(calls, work), calls }
    },
  }
}

/**
 * Writes log lines as JSON.
 * @param metrics namespace of the metrics in the lines; empty: the lines contain no metrics
 */
export function createStructuredLog(service: string, metrics: string, clock: Pick<Clock, 'now'>): Log {
  const logger = new Logger({ serviceName: service })
  const write =
    (level: 'info' | 'warn' | 'error'): WriteLogLine =>
    (message, fields, measures = {}) =>
      logger[level](message, { ...fields, ...toEmbeddedMetrics(measures, metrics, clock.now()) })
  return { info: write('info'), warn: write('warn'), error: write('error') }
}
