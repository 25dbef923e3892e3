type Say = (text: string) => void

const PROGRESS_PERIOD_MS = 5000

/**
 * Creates a countdown for one wait at a time. The countdown prints the remaining seconds at once and every five
 * seconds. Another `what` replaces the running countdown; an absent `what` ends it.
 * @param say receives the messages
 */
export function createCountdown(say: Say): (what?: string, seconds?: number) => void {
  let present = ''
  let timer: NodeJS.Timeout | undefined
  return (what = '', seconds = 0) => {
    if (what === present) return
    clearInterval(timer)
    present = what
    if (what === '') return
    const end = Date.now() + seconds * 1000
    say(`Waiting (usually at most ${seconds} s): ${what} …`)
    timer = setInterval(() => {
      const left = Math.round((end - Date.now()) / 1000)
      say(left > 0 ? `  ${left} s left` : `  ${-left} s longer than usual`)
    }, PROGRESS_PERIOD_MS)
  }
}

/** Prints the remaining time while some work runs. */
export async function withCountdown<T>(
  say: Say,
  what: string,
  seconds: number,
  work: () => Promise<T>,
): Promise<T> {
  const countdown = createCountdown(say)
  countdown(what, seconds)
  try {
    return await work()
  } finally {
    countdown()
  }
}
