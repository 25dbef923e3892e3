import type { Result } from './result.ts'

/** A clock that can sleep. */
interface Sleeping {
  /** epoch milliseconds */
  now(): number
  sleep(ms: number): Promise<void>
}

/**
 * Repeats an attempt until it succeeds, at most `tries` times and at least once.
 * @param how `pause` is awaited before each attempt but the first, with the number of attempts so far
 * @param attempt gets the number of attempts before it
 * @returns the success, or the fault of the last attempt
 */
export async function retryOnConflict<T, F>(
  { tries, pause }: { tries: number; pause?: (tried: number) => Promise<unknown> },
  attempt: (tried: number) => Promise<Result<T, F>>,
): Promise<Result<T, F>> {
  for (let tried = 1; ; tried++) {
    const result = await attempt(tried - 1)
    if (result.ok || tried >= tries) return result
    await pause?.(tried)
  }
}

/**
 * Repeats an attempt at intervals until it succeeds; the last attempt is made when the time is up.
 * @param when `everyMs`: milliseconds between two attempts; `until`: epoch milliseconds
 * @returns the success, or the fault of the last attempt
 */
export async function pollWhilePending<T, F>(
  clock: Sleeping,
  { everyMs, until }: { everyMs: number; until: number },
  attempt: () => Promise<Result<T, F>>,
): Promise<Result<T, F>> {
  for (;;) {
    const result = await attempt()
    const left = until - clock.now()
    if (result.ok || left <= 0) return result
    await clock.sleep(Math.min(everyMs, left))
  }
}
