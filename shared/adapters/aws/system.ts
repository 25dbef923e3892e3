import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { Logger } from '@aws-lambda-powertools/logger'
import type { Clock, Entropy, Log, Meter } from '../../ports.ts'

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async ms => {
    await setTimeout(ms)
  },
}

/** Asked at request time, never at start: a container may be copied (auth-behaviour T-34). */
export const systemEntropy: Entropy = { bytes: randomBytes, uuid: randomUUID }

/** Counts of calls since they were last taken. An environment serves one request at a time. */
export function callMeter(): Meter {
  let counts: Record<string, number> = {}
  return {
    count: service => {
      counts[service] = (counts[service] ?? 0) + 1
    },
    take: () => {
      const taken = counts
      counts = {}
      return taken
    },
  }
}

/** Structured log lines. */
export function structuredLog(service: string): Log {
  const logger = new Logger({ serviceName: service })
  return {
    info: (message, fields) => logger.info(message, { ...fields }),
    warn: (message, fields) => logger.warn(message, { ...fields }),
    error: (message, fields) => logger.error(message, { ...fields }),
  }
}
