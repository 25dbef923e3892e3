import { describe, expect, test } from 'vitest'
import { failed, ok } from '../../../shared/values/result.ts'
import { pollWhilePending, retryOnConflict } from '../../../shared/values/retrying.ts'

/** A clock that advances only while a caller sleeps. */
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
  test('retrying repeats until an attempt succeeds, with a pause before each attempt but the first', async () => {
    const pauses: number[] = []
    const tried: number[] = []
    const result = await retryOnConflict(
      { tries: 5, pause: async before => pauses.push(before) },
      async before => {
        tried.push(before)
        return before === 2 ? ok('done') : failed(before)
      },
    )
    expect({ result, tried, pauses }).toEqual({ result: ok('done'), tried: [0, 1, 2], pauses: [1, 2] })
  })

  test('retrying returns the last fault when no attempt succeeds, and does not pause after the last attempt', async () => {
    const pauses: number[] = []
    let tried = 0
    const result = await retryOnConflict(
      { tries: 3, pause: async before => pauses.push(before) },
      async () => {
        tried += 1
        return failed(`fault ${tried}`)
      },
    )
    expect({ result, tried, pauses }).toEqual({ result: failed('fault 3'), tried: 3, pauses: [1, 2] })
  })

  test('retrying throws the error of the first attempt', async () => {
    let tried = 0
    const failing = retryOnConflict({ tries: 3 }, async () => {
      tried += 1
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(tried).toBe(1)
  })
})

describe('polling', () => {
  test('polling tries at once, and then at intervals until an attempt succeeds', async () => {
    const { clock, slept } = sleeper()
    let tries = 0
    const result = await pollWhilePending(clock, { everyMs: 100, until: 1000 }, async () => {
      tries += 1
      return tries === 3 ? ok('there') : failed('pending')
    })
    expect({ result, tries, slept }).toEqual({ result: ok('there'), tries: 3, slept: [100, 100] })
  })

  test("polling makes the last attempt when the time is up, and returns the attempt's fault", async () => {
    const { clock, slept } = sleeper()
    let tries = 0
    const result = await pollWhilePending(clock, { everyMs: 100, until: 250 }, async () => {
      tries += 1
      return failed(`fault ${tries}`)
    })
    expect({ result, tries, slept }).toEqual({ result: failed('fault 4'), tries: 4, slept: [100, 100, 50] })
  })

  test('polling tries once when no time is left', async () => {
    const { clock, slept } = sleeper()
    let tries = 0
    await pollWhilePending(clock, { everyMs: 100, until: 0 }, async () => {
      tries += 1
      return failed('pending')
    })
    expect({ tries, slept }).toEqual({ tries: 1, slept: [] })
  })
})
