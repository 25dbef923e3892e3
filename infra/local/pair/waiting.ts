import { setTimeout } from 'node:timers/promises'

/** What is waited for, and how many seconds it takes at most, as a rule. */
interface Wait {
  what: string
  seconds: number
  say: (text: string) => void
}

const LOOK_MS = 250
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

/** Looks until something is so. @returns whether it came to that in time */
export async function waiting(wait: Wait, isSo: () => Promise<boolean>): Promise<boolean> {
  if (await isSo()) return true
  const end = Date.now() + wait.seconds * 1000
  const told = telling(wait)
  try {
    while (Date.now() < end) {
      await setTimeout(LOOK_MS)
      if (await isSo()) return true
    }
    return false
  } finally {
    told()
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
