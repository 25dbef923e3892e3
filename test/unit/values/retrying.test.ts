import { describe, expect, test } from 'vitest'
import { polling, retrying } from '../../../shared/values/retrying.ts'

/** A clock on which time passes by sleeping alone. */
function sleeper() {
  const slept: number[] = []
  let now = 0
  const clock = {
    now: () => now,
    sleep: async (ms: number) => {
      slept.push(ms)
      now += ms
    },
  }
  return { clock, slept }
}

describe('retrying', () => {
  test('tries until something comes of it, with a pause before each try but the first', async () => {
    const pauses: number[] = []
    const tried: number[] = []
    const outcome = await retrying({ tries: 5, pause: async before => pauses.push(before) }, async before => {
      tried.push(before)
      return before === 2 ? 'done' : 'again'
    })
    expect({ outcome, tried, pauses }).toEqual({ outcome: 'done', tried: [0, 1, 2], pauses: [1, 2] })
  })

  test('says so when no try came to anything, and does not pause behind the last', async () => {
    const pauses: number[] = []
    let tried = 0
    const outcome = await retrying({ tries: 3, pause: async before => pauses.push(before) }, async () => {
      tried += 1
      return 'again'
    })
    expect({ outcome, tried, pauses }).toEqual({ outcome: 'again', tried: 3, pauses: [1, 2] })
  })

  test('ends with the first fault', async () => {
    let tried = 0
    const failing = retrying({ tries: 3 }, async () => {
      tried += 1
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(tried).toBe(1)
  })
})

describe('polling', () => {
  test('looks at once, and then as often as it is told until there is something', async () => {
    const { clock, slept } = sleeper()
    let looks = 0
    const seen = await polling(clock, { everyMs: 100, until: 1000 }, async () => {
      looks += 1
      return looks === 3 ? 'there' : 'again'
    })
    expect({ seen, looks, slept }).toEqual({ seen: 'there', looks: 3, slept: [100, 100] })
  })

  test('looks for the last time when time is up', async () => {
    const { clock, slept } = sleeper()
    let looks = 0
    const seen = await polling(clock, { everyMs: 100, until: 250 }, async () => {
      looks += 1
      return 'again'
    })
    expect({ seen, looks, slept }).toEqual({ seen: 'again', looks: 4, slept: [100, 100, 50] })
  })

  test('looks once where no time is left', async () => {
    const { clock, slept } = sleeper()
    let looks = 0
    await polling(clock, { everyMs: 100, until: 0 }, async () => {
      looks += 1
      return 'again'
    })
    expect({ looks, slept }).toEqual({ looks: 1, slept: [] })
  })
})
