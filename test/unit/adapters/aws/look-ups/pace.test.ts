import { describe, expect, test } from 'vitest'
import {
  afterAnswer,
  afterRefusal,
  afterSending,
  currentPace,
  type Pace,
  unlimited,
} from '../../../../../shared/adapters/aws/look-ups/pace.ts'

const times = (count: number, step: (pace: Pace) => Pace, from: Pace): Pace =>
  Array.from({ length: count }).reduce<Pace>(step, from)

describe('the pace of calls to a rate-limited API', () => {
  test('is unlimited before the first throttling', () => {
    expect(afterSending(unlimited, 500, 1)).toEqual({ gapMs: 0, notBefore: 500 })
    expect(afterAnswer(unlimited)).toEqual(unlimited)
  })

  test('halves with every throttling, down to one call in two seconds', () => {
    const refused = (count: number) => times(count, pace => afterRefusal(pace, 0, 0.5), unlimited).gapMs
    expect([1, 2, 3, 9].map(refused)).toEqual([100, 200, 400, 2000])
  })

  test('rises with every answer until there is no limit', () => {
    const slow = { gapMs: 400, notBefore: 0 }
    expect(afterAnswer(slow).gapMs).toBe(360)
    expect(times(30, afterAnswer, slow)).toEqual(unlimited)
  })

  test.each([
    [0, 150],
    [0.5, 200],
    [1, 250],
  ])('is jittered: with chance %d the next call is at %d', (chance, at) => {
    expect(afterRefusal(unlimited, 100, chance).notBefore).toBe(at)
    expect(afterSending({ gapMs: 100, notBefore: 0 }, 100, chance).notBefore).toBe(at)
  })

  test('a throttling brings no call forward', () => {
    expect(afterRefusal({ gapMs: 100, notBefore: 5000 }, 0, 0).notBefore).toBe(5000)
  })

  test('is forgotten ten seconds after the last call', () => {
    const slow = { gapMs: 400, notBefore: 1000 }
    expect(currentPace(slow, 11_000)).toEqual(slow)
    expect(currentPace(slow, 11_001)).toEqual(unlimited)
  })
})
