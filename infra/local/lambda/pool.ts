import type { LambdaProcess } from './environment.ts'

/** Maximum number of environments of a function, and of concurrent requests in each environment. */
export interface PoolCapacity {
  environments: number
  requests: number
}

/** The environments of one function. */
export interface LambdaProcessPool {
  invoke(event: unknown): Promise<unknown>
  /** ends the environments that were idle since the last call */
  trim(): void
  close(): Promise<void>
}

/**
 * Assigns requests to environments in order of arrival: to an idle environment, else to a new environment if
 * the capacity allows, else to the least busy environment with room. If no environment has room, requests
 * wait.
 */
export function createLambdaProcessPool(
  start: (onChange: () => void) => LambdaProcess,
  capacity: PoolCapacity,
): LambdaProcessPool {
  const all = new Set<LambdaProcess>()
  const resting = new Set<LambdaProcess>()
  const waiting: ((environment: LambdaProcess) => void)[] = []

  function next(): LambdaProcess | undefined {
    for (const one of all) if (one.retired && one.busy === 0) all.delete(one)
    const open = [...all].filter(one => !one.retired)
    const [least] = open.sort((one, other) => one.busy - other.busy)
    if (least && (least.busy === 0 || open.length >= capacity.environments))
      return least.busy < capacity.requests ? least : undefined
    const started = start(admit)
    all.add(started)
    return started
  }

  function admit(): void {
    while (waiting.length > 0) {
      const environment = next()
      if (!environment) return
      waiting.shift()?.(environment)
    }
  }

  return {
    invoke: event =>
      new Promise((resolve, reject) => {
        waiting.push(environment => {
          resting.delete(environment)
          environment.invoke(event).then(resolve, reject)
        })
        admit()
      }),
    trim: () => {
      for (const one of all) {
        if (one.busy > 0) continue
        if (!resting.has(one)) {
          resting.add(one)
          continue
        }
        resting.delete(one)
        all.delete(one)
        void one.close()
      }
    },
    close: async () => {
      await Promise.all([...all].map(one => one.close()))
    },
  }
}
