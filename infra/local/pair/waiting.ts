/** What is waited for, and how many seconds it takes at most, as a rule. */
interface Wait {
  what: string
  seconds: number
  say: (text: string) => void
}

const TELL_MS = 5000

/** Tells at once, and every five seconds, how many are left. @returns ends that */
function telling({ what, seconds, say }: Wait): () => void {
  const end = Date.now() + seconds * 1000
  say(`Waiting: ${what}; as a rule it takes ${seconds} s at most …`)
  const telling = setInterval(() => {
    const left = Math.round((end - Date.now()) / 1000)
    say(left > 0 ? `  ${left} s left` : `  longer than usual, by ${-left} s`)
  }, TELL_MS)
  return () => clearInterval(telling)
}

/** Returns what tells of one wait at a time: another `what` ends the one before, and none ends the last. */
export function oneCountdown(say: Wait['say']): (what?: string, seconds?: number) => void {
  let present = ''
  let end = (): void => undefined
  return (what = '', seconds = 0) => {
    if (what === present) return
    end()
    present = what
    end = what === '' ? () => undefined : telling({ what, seconds, say })
  }
}

/** Tells how long some work takes still. */
export async function counted<T>(wait: Wait, work: () => Promise<T>): Promise<T> {
  const told = telling(wait)
  try {
    return await work()
  } finally {
    told()
  }
}
