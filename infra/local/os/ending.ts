/**
 * A part that must be closed at the end of this process. `kill` ends at once all child processes that would
 * survive this process.
 */
interface Running {
  close(): Promise<void>
  kill?(): void
}

/** Registers the parts that a signal to this process must close. */
interface Ending {
  /** registers a part that must be closed */
  runs(running: Running): void
}

/** Ends this process after some work, with code 1 if the work fails. */
export const exitAfter = (work: Promise<unknown>): unknown =>
  work.then(
    () => process.exit(0),
    error => {
      process.stderr.write(`${error}\n`)
      process.exit(1)
    },
  )

/**
 * On a signal, closes the registered parts and then ends this process, with code 1 if closing fails. A second
 * signal ends the process and its child processes at once, and so does a signal before any part runs.
 * @param also another trigger, for example the end of the parent process
 */
export function endProcessOnSignals(also?: (end: () => void) => void): Ending {
  let running: Running | undefined
  let told = false
  const end = () => {
    if (told || !running) {
      running?.kill?.()
      process.exit(1)
    }
    told = true
    exitAfter(running.close())
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end)
  also?.(end)
  return {
    runs: now => {
      running = now
    },
  }
}
