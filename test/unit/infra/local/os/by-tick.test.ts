import { expect, test } from 'vitest'
import { batchItemsByTick } from '../../../../../infra/local/os/by-tick.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))

test('values of one turn of the event loop are passed on together, in order', async () => {
  const taken: number[][] = []
  const take = batchItemsByTick<number>(all => void taken.push(all))
  take(1)
  take(2)
  await undefined
  take(3)
  expect(taken).toEqual([])
  await turn()
  expect(taken).toEqual([[1, 2, 3]])
  take(4)
  await turn()
  expect(taken).toEqual([[1, 2, 3], [4]])
})
