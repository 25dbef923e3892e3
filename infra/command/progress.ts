/** A stream of standard error. `columns`: width of the terminal */
export interface ProgressStream {
  isTTY?: boolean
  columns?: number
  write(text: string): unknown
}

/** The line on a terminal that shows how long the command has been waiting. */
export interface ProgressLine {
  /** starts counting; until then, and after `stop`, no line is shown */
  start(label: string): void
  stop(): void
  /** erases the line, so that other output may follow, and counts again from 0 */
  clear(): void
  /** shows no line while the work runs, for example while the user types an answer */
  hideDuring<T>(work: () => Promise<T>): Promise<T>
}

/** Milliseconds without output after which the line is shown. */
const SILENT_MS = 2000
const REWRITE_MS = 1000
/** Moves to the begin of a terminal's line, and erases the line. */
const ERASE = '\r\x1b[K'
const DEFAULT_COLUMNS = 80

/**
 * Creates the progress line. It is shown only if the stream is a terminal that can erase a line. The line has no
 * colour.
 */
export function createProgressLine(
  stream: ProgressStream,
  environment: Readonly<Record<string, string | undefined>>,
): ProgressLine {
  const canErase = stream.isTTY === true && environment['TERM'] !== 'dumb'
  let since = 0
  let isShown = false
  let hidden = 0
  let timer: NodeJS.Timeout | undefined
  const clear = (): void => {
    if (isShown) stream.write(ERASE)
    isShown = false
    since = performance.now()
  }
  const show = (label: string): void => {
    const waited = performance.now() - since
    if (hidden > 0 || waited < SILENT_MS) return
    // a line that wraps cannot be erased
    const columns = stream.columns || DEFAULT_COLUMNS
    const text = `${label}: waiting for ${Math.floor(waited / 1000)} s`.slice(0, columns - 1)
    stream.write(`${ERASE}${text}`)
    isShown = true
  }
  const stop = (): void => {
    clear()
    clearInterval(timer)
  }
  return {
    start: label => {
      if (!canErase) return
      stop()
      // a command ends although its line is still counted
      timer = setInterval(show, REWRITE_MS, label).unref()
    },
    stop,
    clear,
    hideDuring: async work => {
      clear()
      hidden++
      try {
        return await work()
      } finally {
        hidden--
        clear()
      }
    },
  }
}
