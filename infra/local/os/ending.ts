/** What runs. `kill`: ends at once what would not end with this process */
interface Running {
  close(): Promise<void>
  kill?(): void
}

/** What is ended when this process is told to end. */
interface Ending {
  /** it runs from now on */
  runs(running: Running): void
}

/**
 * Ends what runs when a signal comes, then this process: with 1 where it could not be ended as it should. A second signal
 * ends the process at once, and so does one before anything runs; what has been started ends with it all the same.
 * @param also another way in which it is told: the end of whoever started it, say
 */
export function endingOnSignals(also?: (end: () => void) => void): Ending {
  let running: Running | undefined
  let told = false
  const end = () => {
    if (told || !running) {
      running?.kill?.()
      process.exit(1)
    }
    told = true
    running.close().then(
      () => process.exit(0),
      error => {
        process.stderr.write(`${error}\n`)
        process.exit(1)
      },
    )
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end)
  also?.(end)
  return {
    runs: now => {
      running = now
    },
  }
}
