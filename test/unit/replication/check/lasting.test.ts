import { describe, expect, test } from 'vitest'
import { findLasting } from '../../../../shared/replication/check/lasting.ts'
import { inParallel } from '../../../../shared/values/in-parallel.ts'

let ms = 0
const clock = {
  now: () => ms,
  sleep: async (by: number) => {
    ms += by
  },
}

/** What is said of suspects at each look. */
const found = (says: Record<string, (string | undefined)[]>) => {
  let look = -1
  return findLasting(
    clock,
    Object.keys(says),
    async name => says[name]?.[look],
    async () => {
      look += 1
    },
  )
}

describe('what lasts', () => {
  test('is wrong in the same way for seconds; what is right once is right', async () => {
    const kept = await found({
      same: ['x', 'x', 'x'],
      changed: ['x', 'y', 'y'],
      right: ['x', 'x', ''],
      'right at once': ['', 'x', 'x'],
      other: ['x', 'x', 'y'],
      unclear: ['x', undefined, 'x'],
      moving: [undefined, undefined, undefined],
      'clear at last': [undefined, 'x', 'x'],
    })
    expect(kept).toEqual(['same', 'changed', 'clear at last'])
  })

  test('costs no time where nothing is wrong', async () => {
    ms = 0
    expect(await found({ a: [''], b: [''] })).toEqual([])
    expect(ms).toBe(0)
    expect(await found({ a: ['x', 'x', 'x'] })).toEqual(['a'])
    expect(ms).toBeGreaterThan(5000)
  })
})

test('works side by side are sixteen at most, and their results are in order', async () => {
  let [now, most] = [0, 0]
  const results = await inParallel(
    Array.from({ length: 50 }, (_, index) => index),
    async index => {
      now += 1
      most = Math.max(most, now)
      await new Promise(resolve => setTimeout(resolve, 50 - index > 40 ? 5 : 0))
      now -= 1
      return index
    },
  )
  expect(results).toEqual(Array.from({ length: 50 }, (_, index) => index))
  expect(most).toBe(16)
})
