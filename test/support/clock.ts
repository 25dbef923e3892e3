import type { Clock } from '../../shared/ports.ts'
import { systemClock } from '../../shared/adapters/aws/system.ts'

let aheadMs = 0

/** The clock of the service in a test's process, which tests may put forward; they put it right again. */
export const clock: Clock & { advance(seconds: number): void; reset(): void } = {
  ...systemClock,
  now: () => systemClock.now() + aheadMs,
  advance: seconds => {
    aheadMs += seconds * 1000
  },
  reset: () => {
    aheadMs = 0
  },
}
