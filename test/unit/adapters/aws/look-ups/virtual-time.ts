import type { TimeSource } from '../../../../../shared/adapters/aws/look-ups/together.ts'

/** Makes a clock that the test advances. Timers that become due run while the clock advances. */
export function virtualTime(chance = 0.5) {
  let now = 0
  let timers: { at: number; work: () => void }[] = []
  const settled = () => new Promise(resolve => setImmediate(resolve))
  const passing: TimeSource = {
    now: () => now,
    chance: () => chance,
    after: (ms, work) => {
      const timer = { at: now + ms, work }
      timers.push(timer)
      return () => {
        timers = timers.filter(one => one !== timer)
      }
    },
  }
  const sleep = (ms: number): Promise<void> => new Promise(resolve => void passing.after(ms, resolve))
  async function advance(ms: number): Promise<void> {
    const until = now + ms
    for (;;) {
      await settled()
      const [next] = timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)
      if (!next) break
      timers = timers.filter(one => one !== next)
      now = Math.max(now, next.at)
      next.work()
    }
    now = until
  }
  return { passing, sleep, advance, now: () => now, pending: () => timers.length }
}
