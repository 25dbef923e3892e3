/** Milliseconds between two looks at the clock, and by how many of them it may be late before this process has slept. */
const CLOCK_PERIOD_MS = 1000
const SLEEP_LATENESS_MS = 5000
/** Longer than whoever asks waits for answers: it may have to be loaded first. */
const LAST_ANSWER_TIMEOUT_MS = 5000

const patience = (): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, LAST_ANSWER_TIMEOUT_MS).unref())

/** Notices that a cluster was not there for a while: others may have gone on without it. */
export interface Absence {
  /** what a request has to wait for before it is served; undefined: nothing */
  over(): Promise<void> | undefined
  close(): void
}

/**
 * @param ask has the cluster ask the others of its set; what comes of it is of no matter here
 * @param was whether it begins with an absence: there was a cluster before this process
 */
export function startAbsence(ask: () => Promise<unknown>, was: boolean): Absence {
  let seen = Date.now()
  let asking: Promise<void> | undefined
  const back = (): void => {
    asking ??= Promise.race([ask(), patience()])
      .catch(() => undefined)
      .then(() => {
        asking = undefined
      })
  }
  const look = (): void => {
    const now = Date.now()
    if (now > seen + SLEEP_LATENESS_MS) back()
    seen = now
  }
  if (was) back()
  const timer = setInterval(look, CLOCK_PERIOD_MS)
  timer.unref()
  return {
    over: () => {
      // a request may come before the timer
      look()
      return asking
    },
    close: () => clearInterval(timer),
  }
}
