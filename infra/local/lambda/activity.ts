import { setTimeout } from 'node:timers/promises'

/** The state of activity at a moment. */
export interface ActivityMark {
  begun: number
  underWay: number
}

/** Lets pollers rest while no work could have produced anything for them. */
export interface WorkActivity {
  mark(): ActivityMark
  /**
   * Waits until work begins, or returns at once if work was running at the mark or has begun since. Waits at
   * most `ms`.
   */
  rest(since: ActivityMark, ms: number, signal: AbortSignal): Promise<void>
}

export interface TrackedWorkActivity extends WorkActivity {
  /** counts work from now until it ends */
  during<T>(work: Promise<T>): Promise<T>
}

export function createWorkActivity(): TrackedWorkActivity {
  let [begun, underWay] = [0, 0]
  let wakers: (() => void)[] = []
  const ends = (): void => {
    underWay -= 1
  }
  return {
    mark: () => ({ begun, underWay }),
    during: work => {
      begun += 1
      underWay += 1
      for (const wake of wakers.splice(0)) wake()
      work.then(ends, ends)
      return work
    },
    rest: async (since, ms, signal) => {
      if (since.underWay > 0 || since.begun !== begun) return
      const end = new AbortController()
      const wake = (): void => end.abort()
      wakers.push(wake)
      await setTimeout(ms, undefined, { signal: AbortSignal.any([signal, end.signal]), ref: false }).catch(
        () => undefined,
      )
      wakers = wakers.filter(one => one !== wake)
    },
  }
}
