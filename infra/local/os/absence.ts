/** Milliseconds between two checks of the clock, and the lateness that means that this process was suspended. */
const CLOCK_PERIOD_MS = 1000
const SLEEP_LATENESS_MS = 5000
/**
 * Timeout for the check of the set. The timeout is longer than a caller waits, because the function may have
 * to be loaded first.
 */
const LAST_ANSWER_TIMEOUT_MS = 5000

const patience = (): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, LAST_ANSWER_TIMEOUT_MS).unref())

/**
 * Detects that a cluster was down or suspended, because another cluster may have taken over in the meantime.
 */
export interface AbsenceDetector {
  /**
   * returns the promise that a request must wait for before it is served; undefined: the request is served at
   * once
   */
  over(): Promise<void> | undefined
  close(): void
}

/**
 * Starts the detection.
 * @param ask makes the cluster contact the other clusters of its set; its result is ignored
 * @param was true: the cluster was restarted, so the detection begins with a check
 */
export function startAbsence(ask: () => Promise<unknown>, was: boolean): AbsenceDetector {
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
      // a request may arrive before the timer runs
      look()
      return asking
    },
    close: () => clearInterval(timer),
  }
}
