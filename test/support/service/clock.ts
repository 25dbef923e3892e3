import { systemClock } from '../../../shared/adapters/aws/system.ts'
import type { Clock } from '../../../shared/ports.ts'

let aheadMs = 0
let stoppedAt: number | undefined
let skips = false

/**
 * The clock of the service in a test's process. The test files of a worker share this clock, so a test that
 * changes it must reset it. The imitated AWS has a clock of its own.
 */
export const clock: Clock & { advance(seconds: number): void; stop(): void; skip(): void; reset(): void } = {
  ...systemClock,
  sleep: async ms => {
    if (skips) aheadMs += ms
    else await systemClock.sleep(ms)
  },
  now: () => (stoppedAt ?? systemClock.now()) + aheadMs,
  /** advances the clock */
  advance: (seconds: number) => {
    aheadMs += seconds * 1000
  },
  /** stops the clock, so that times can be compared exactly */
  stop: () => {
    stoppedAt ??= systemClock.now()
  },
  /** lets the clock jump over every sleep */
  skip: () => {
    skips = true
  },
  /** starts the clock again */
  reset: () => {
    aheadMs = 0
    stoppedAt = undefined
    skips = false
  },
}
