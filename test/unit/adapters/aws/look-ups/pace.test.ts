import { describe, expect, test } from 'vitest'
import {
  type CallPace,
  paceAfterAnswer,
  paceAfterSending,
  paceAfterThrottling,
  relaxedPace,
  unlimitedPace,
} from '../../../../../shared/adapters/aws/look-ups/pace.ts'

const times = (count: number, step: (pace: CallPace) => CallPace, from: CallPace): CallPace =>
  Array.from({ length: count }).reduce<CallPace>(step, from)

describe('the pace of calls to a rate-limited API', () => {
  test('the pace is unlimited before the first throttling', () => {
    expect(paceAfterSending(unlimitedPace, 500, 1)).toEqual({ gapMs: 0, notBefore: 500 })
    expect(paceAfterAnswer(unlimitedPace)).toEqual(unlimitedPace)
  })

  test('the pace halves with every throttling, down to one call in two seconds', () => {
    const refused = (count: number) =>
      times(count, pace => paceAfterThrottling(pace, 0, 0.5), unlimitedPace).gapMs
    expect([1, 2, 3, 9].map(refused)).toEqual([100, 200, 400, 2000])
  })

  test('the pace rises with every answer until calls are unlimited', () => {
    const slow = { gapMs: 400, notBefore: 0 }
    expect(paceAfterAnswer(slow).gapMs).toBe(360)
    expect(times(30, paceAfterAnswer, slow)).toEqual(unlimitedPace)
  })

  test.each([
    [0, 150],
    [0.5, 200],
    [1, 250],
  ])('the pace is jittered: with the random number %d the next call is at %d', (chance, at) => {
    expect(paceAfterThrottling(unlimitedPace, 100, chance).notBefore).toBe(at)
    expect(paceAfterSending({ gapMs: 100, notBefore: 0 }, 100, chance).notBefore).toBe(at)
  })

  test('a throttling never moves the next call to an earlier time', () => {
    expect(paceAfterThrottling({ gapMs: 100, notBefore: 5000 }, 0, 0).notBefore).toBe(5000)
  })

  test('the pace is forgotten ten seconds after the last call', () => {
    const slow = { gapMs: 400, notBefore: 1000 }
    expect(relaxedPace(slow, 11_000)).toEqual(slow)
    expect(relaxedPace(slow, 11_001)).toEqual(unlimitedPace)
  })
})
