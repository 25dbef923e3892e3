/** A part that must be closed at the end. `kill`: ends at once what would survive this process */
interface Running {
  close(): Promise<void>
  kill?(): void
}

/** The end of this process on a signal. */
interface Ending {
  /** registers what must be closed */
  runs(running: Running): void
}

/**
 * Closes what runs on a signal and then ends this process, with code 1 if closing fails. A second signal ends the
 * process at once, and so does one before anything runs; child processes end too.
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
