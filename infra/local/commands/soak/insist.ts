import { setTimeout } from 'node:timers/promises'

const INSIST_TIMEOUT_MS = 180_000
const PAUSE_MS = 1000

/** Repeats what bad weather hinders, as operators do. @throws what it came to in the end */
export async function insist<T>(work: () => Promise<T>): Promise<T> {
  const end = Date.now() + INSIST_TIMEOUT_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (Date.now() > end) throw error
      await setTimeout(PAUSE_MS)
    }
  }
}
