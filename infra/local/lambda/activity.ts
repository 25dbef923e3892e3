import { setTimeout } from 'node:timers/promises'

/** What has been going on up to a moment. */
export interface Mark {
  begun: number
  underWay: number
}

/** Tells those who look for what work leaves behind when there is nothing to look for. */
export interface Activity {
  mark(): Mark
  /** Waits until something begins, where nothing was under way at the mark and nothing has begun since; not for longer than that. */
  rest(since: Mark, ms: number, signal: AbortSignal): Promise<void>
}

export interface Worked extends Activity {
  /** notes work, from now until it ends */
  during<T>(work: Promise<T>): Promise<T>
}

export function activityOf(): Worked {
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
