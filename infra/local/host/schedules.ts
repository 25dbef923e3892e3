import type { LocalLambdas } from '../lambda/lambdas.ts'
import type { AssemblyModel } from '../template/assembly.ts'

/**
 * Starts the schedules of the template. Schedules of every minute run at once, to make up for missed runs.
 */
export function startLocalSchedules({ schedules }: AssemblyModel, lambdas: LocalLambdas): { close(): void } {
  const timers = schedules.map(({ functionName, minutes }) => {
    const run = () => lambdas.start(functionName, { source: 'aws.events', 'detail-type': 'Scheduled Event' })
    if (minutes === 1) run()
    return setInterval(run, minutes * 60_000)
  })
  for (const timer of timers) timer.unref()
  return {
    close: () => {
      for (const timer of timers) clearInterval(timer)
    },
  }
}
