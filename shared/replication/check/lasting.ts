import type { Clock } from '../../ports.ts'
import { inParallel } from '../../values/in-parallel.ts'

/**
 * Milliseconds before each look at what seems wrong. A transaction of the engine may be seen half for some seconds,
 * and its index lags behind: what is wrong stays so.
 */
const PAUSES = [0, 3000, 6000]

/**
 * Those that are judged wrong, and in the same way, again and again.
 * @param judge what is wrong with one, as a text that is the same for the same fault; empty: nothing; undefined: it
 * cannot be told now, because it changes
 * @param begin before each look
 */
export async function findLasting<T>(
  clock: Clock,
  suspects: readonly T[],
  judge: (suspect: T) => Promise<string | undefined>,
  begin: () => Promise<void> = async () => undefined,
): Promise<T[]> {
  let left = suspects.map(one => ({ one, said: undefined as string | undefined, lasts: false }))
  for (const pause of PAUSES) {
    if (left.length === 0) return []
    if (pause > 0) await clock.sleep(pause)
    await begin()
    const looked = await inParallel(left, async ({ one, said: before }) => {
      const said = await judge(one)
      return { one, said, lasts: said !== undefined && said === before }
    })
    left = looked.filter(({ said }) => said !== '')
  }
  return left.filter(({ lasts }) => lasts).map(({ one }) => one)
}
