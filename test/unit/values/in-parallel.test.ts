import { expect, test } from 'vitest'
import { mapInParallel } from '../../../shared/values/in-parallel.ts'

test('at most `atOnce` elements are worked on at a time, and the results keep their order', async () => {
  let [running, most] = [0, 0]
  const doubled = async (element: number) => {
    most = Math.max(most, ++running)
    // later elements end earlier
    for (let turns = 10 - element; turns > 0; turns--) await Promise.resolve()
    running -= 1
    return 2 * element
  }
  expect(await mapInParallel([1, 2, 3, 4, 5], doubled, 2)).toEqual([2, 4, 6, 8, 10])
  expect(most).toBe(2)
})

test('after an error no further element begins', async () => {
  const begun: number[] = []
  const mapped = mapInParallel(
    [1, 2, 3, 4, 5, 6],
    async element => {
      begun.push(element)
      await Promise.resolve()
      if (element === 1) throw new Error('broken')
    },
    2,
  )
  await expect(mapped).rejects.toThrow('broken')
  for (let turns = 0; turns < 50; turns++) await Promise.resolve()
  expect(begun).toEqual([1, 2])
})
