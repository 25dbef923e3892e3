import fc from 'fast-check'
import { expect, test } from 'vitest'
import { splitIntoBatches } from '../../../shared/values/batches.ts'

const bytesOf = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Buffer.byteLength(JSON.stringify(text)), 0)

test('batches keep the order, and only a single large element exceeds the limit', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 60 })), fc.integer({ min: 1, max: 5 }), (texts, elements) => {
      const batches = splitIntoBatches(texts, { elements, bytes: 50 })
      expect(batches.flat()).toEqual(texts)
      for (const batch of batches) {
        expect(batch.length).toBeLessThanOrEqual(elements)
        expect(batch.length === 1 || bytesOf(batch) <= 50).toBe(true)
      }
      // no batch has room for the first element of the next batch
      for (const [index, batch] of batches.entries()) {
        const [next] = batches[index + 1] ?? []
        if (next !== undefined) expect(batch.length === elements || bytesOf([...batch, next]) > 50).toBe(true)
      }
    }),
  )
})
