/** A clock that is slept by. */
interface Sleeping {
  /** epoch milliseconds */
  now(): number
  sleep(ms: number): Promise<void>
}

/**
 * Tries something a number of times, at most, until it comes to something.
 * @param how `pause`: what is waited for before each try but the first; `tried`: how many there were by then
 * @param attempt `again`: it came to nothing. `tried`: how many there were before
 * @returns `again` when no try came to anything
 */
export async function retrying<T>(
  { tries, pause }: { tries: number; pause?: (tried: number) => Promise<unknown> },
  attempt: (tried: number) => Promise<T | 'again'>,
): Promise<T | 'again'> {
  for (let tried = 0; tried < tries; tried++) {
    if (tried > 0) await pause?.(tried)
    const outcome = await attempt(tried)
    if (outcome !== 'again') return outcome
  }
  return 'again'
}

/**
 * Looks again and again until there is something to see, the last time when time is up.
 * @param when `everyMs`: milliseconds between two looks; `until`: epoch milliseconds
 * @param look `again`: there is nothing yet
 * @returns `again` when there was nothing in time
 */
export async function polling<T>(
  clock: Sleeping,
  { everyMs, until }: { everyMs: number; until: number },
  look: () => Promise<T | 'again'>,
): Promise<T | 'again'> {
  for (;;) {
    const seen = await look()
    if (seen !== 'again') return seen
    const left = until - clock.now()
    if (left <= 0) return 'again'
    await clock.sleep(Math.min(everyMs, left))
  }
}
