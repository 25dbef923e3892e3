import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  generationOfExpiry,
  generationOfTtl,
  hasGenerationEnded,
  isGenerationForgotten,
  listGenerationsToDrop,
  ttlOfGeneration,
} from '../../../shared/journal/generation.ts'

const DAY = 86_400
const now = 1_800_000_000
const times = fc.integer({ min: 1_700_000_000, max: 2_000_000_000 })

describe('generations of expiring items', () => {
  test('a generation lasts four days; an item that never expires, or expires after 36 days, has no generation', () => {
    expect(generationOfExpiry(undefined, now)).toBeNull()
    expect(generationOfExpiry(now + 36 * DAY + 1, now)).toBeNull()
    expect(generationOfExpiry(now + 10 * 365 * DAY, now)).toBeNull()
    expect(generationOfExpiry(4 * DAY * 5000, 4 * DAY * 5000 - 1)).toBe(5000)
    expect(generationOfExpiry(4 * DAY * 5000 + 1, 4 * DAY * 5000 - 1)).toBe(5001)
  })

  test('an item has expired when its generation ends, and is deleted at least an hour later', () => {
    fc.assert(
      fc.property(times, fc.integer({ min: 1, max: 36 * DAY }), (at, lifetime) => {
        const generation = generationOfExpiry(at + lifetime, at)
        if (generation === null) throw new Error('it has none')
        expect(hasGenerationEnded(generation, at + lifetime - 1)).toBe(false)
        expect(hasGenerationEnded(generation, at + lifetime + 4 * DAY)).toBe(true)
        expect(ttlOfGeneration(generation) - (at + lifetime)).toBeGreaterThanOrEqual(3600)
        expect(hasGenerationEnded(generation, ttlOfGeneration(generation) - 3600)).toBe(true)
        expect(generationOfTtl(ttlOfGeneration(generation))).toBe(generation)
      }),
    )
  })

  test('items that expire within 36 days are in at most ten generations', () => {
    fc.assert(
      fc.property(times, at => {
        const last = generationOfExpiry(at + 36 * DAY, at) ?? 0
        const first = generationOfExpiry(at + 1, at) ?? 0
        expect(last - first).toBeLessThanOrEqual(9)
      }),
    )
  })

  test('the nine newest generations that ended over four days ago are dropped, in three turns', () => {
    fc.assert(
      fc.property(times, at => {
        const turns = [0, 1, 2].map(turn => listGenerationsToDrop(at, turn))
        for (const generation of turns.flat()) {
          expect(isGenerationForgotten(generation, at)).toBe(true)
          expect(hasGenerationEnded(generation, at - 4 * DAY + 1)).toBe(true)
        }
        const newest = Math.max(...turns.flat())
        expect(isGenerationForgotten(newest + 1, at)).toBe(false)
        expect(turns.map(some => some.length)).toEqual([3, 3, 3])
        expect(new Set(turns.flat()).size).toBe(9)
      }),
    )
  })
})
