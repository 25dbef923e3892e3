/** What a program waits for, and the usual longest wait in seconds. */
interface Wait {
  what: string
  seconds: number
  say: (text: string) => void
}

const PROGRESS_PERIOD_MS = 5000

/**
 * Prints the remaining seconds at once and every five seconds. @returns a function that stops the countdown
 */
function telling({ what, seconds, say }: Wait): () => void {
  const end = Date.now() + seconds * 1000
  say(`Waiting (usually at most ${seconds} s): ${what} …`)
  const telling = setInterval(() => {
    const left = Math.round((end - Date.now()) / 1000)
    say(left > 0 ? `  ${left} s left` : `  ${-left} s longer than usual`)
  }, PROGRESS_PERIOD_MS)
  return () => clearInterval(telling)
}

/**
 * Creates a countdown for one wait at a time. Another `what` replaces the running countdown; an absent `what`
 * ends it.
 */
export function createCountdown(say: Wait['say']): (what?: string, seconds?: number) => void {
  let present = ''
  let end = (): void => undefined
  return (what = '', seconds = 0) => {
    if (what === present) return
    end()
    present = what
    end = what === '' ? () => undefined : telling({ what, seconds, say })
  }
}

/** Prints the remaining time while some work runs. */
export async function withCountdown<T>(wait: Wait, work: () => Promise<T>): Promise<T> {
  const told = telling(wait)
  try {
    return await work()
  } finally {
    told()
  }
}
