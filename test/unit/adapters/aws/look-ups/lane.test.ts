import { describe, expect, test } from 'vitest'
import {
  emptyLookUpLane,
  type LookUpLane,
  MAX_LOOK_UPS_PER_CALL,
  takeDueLookUpCalls,
} from '../../../../../shared/adapters/aws/look-ups/lane.ts'

const lane = (parts: Partial<LookUpLane<string>>): LookUpLane<string> => ({ ...emptyLookUpLane, ...parts })
const paced = { gapMs: 100, notBefore: 50 }
const sent = (of: LookUpLane<string>, now = 0) =>
  takeDueLookUpCalls(of, now, 0.5).calls.map(({ questions }) => questions)

describe('takeDueLookUpCalls', () => {
  test('an empty lane returns no calls', () => {
    expect(takeDueLookUpCalls(lane({}), 0, 0.5)).toEqual({ calls: [], lane: lane({}) })
  })

  test('all shared look-ups are taken in one call, and each single look-up in its own call', () => {
    expect(takeDueLookUpCalls(lane({ together: ['a', 'b'], alone: ['c', 'd'] }), 0, 0.5)).toEqual({
      calls: [
        { questions: ['a', 'b'], alone: false },
        { questions: ['c'], alone: true },
        { questions: ['d'], alone: true },
      ],
      lane: lane({ underWay: 1, aloneNext: true }),
    })
  })

  test('while a shared call runs, only single look-ups are taken', () => {
    expect(sent(lane({ together: ['a'], alone: ['b'], underWay: 1 }))).toEqual([['b']])
  })

  test('one call takes at most a hundred look-ups', () => {
    const together = Array.from({ length: 130 }, (_, index) => `${index}`)
    const { calls, lane: left } = takeDueLookUpCalls(lane({ together }), 0, 0.5)
    expect(calls.map(({ questions }) => questions)).toEqual([together.slice(0, MAX_LOOK_UPS_PER_CALL)])
    expect(sent({ ...left, underWay: 0 })).toEqual([together.slice(100)])
  })

  test('no call is taken before the pace allows one, and the result says when to check again', () => {
    const waiting = lane({ together: ['a'], alone: ['b'], pace: paced })
    expect(takeDueLookUpCalls(waiting, 49, 0.5)).toEqual({ calls: [], lane: waiting, again: 50 })
  })

  test('with gaps between calls, one call is taken at a time, shared and single in turn', () => {
    const first = takeDueLookUpCalls(lane({ together: ['a', 'b'], alone: ['c', 'd'], pace: paced }), 50, 0.5)
    expect(first).toMatchObject({ calls: [{ questions: ['a', 'b'] }], again: 150 })
    const second = takeDueLookUpCalls({ ...first.lane, underWay: 0, together: ['e'] }, 150, 0.5)
    expect(second).toMatchObject({ calls: [{ questions: ['c'] }], again: 250 })
    expect(sent(second.lane, 250)).toEqual([['e']])
  })
})
