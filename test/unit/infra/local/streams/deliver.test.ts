import { describe, expect, test } from 'vitest'
import { deliverStreamRecords } from '../../../../../infra/local/streams/deliver.ts'

/**
 * Delivers numbers to a function that fails for some of them. @returns the delivered batches and the dropped numbers
 */
async function delivered(numbers: number[], bad: readonly number[], { retries = 1, bisect = true } = {}) {
  const told: (readonly number[])[] = []
  const refused: number[] = []
  await deliverStreamRecords(numbers, {
    retries,
    bisect,
    tell: async records => {
      told.push(records)
      if (records.some(one => bad.includes(one))) throw new Error('cannot')
    },
    refused: records => refused.push(...records),
  })
  return { told, refused }
}

describe('delivering stream records to a function', () => {
  test('records are delivered in one batch if the function succeeds', async () => {
    expect(await delivered([1, 2, 3], [])).toEqual({ told: [[1, 2, 3]], refused: [] })
  })

  test('after a failure, records are delivered in halves until only the failing record is dropped', async () => {
    const { told, refused } = await delivered([1, 2, 3, 4], [3])
    expect(refused).toEqual([3])
    expect(told).toEqual([[1, 2, 3, 4], [1, 2], [3, 4], [3], [3], [4]])
  })

  test('records are delivered as often as the retries allow', async () => {
    expect((await delivered([1], [1], { retries: 3 })).told).toHaveLength(4)
  })

  test('without bisecting, a failing batch is dropped as a whole', async () => {
    const { told, refused } = await delivered([1, 2], [1], { bisect: false })
    expect({ tries: told.length, refused }).toEqual({ tries: 2, refused: [1, 2] })
  })
})
