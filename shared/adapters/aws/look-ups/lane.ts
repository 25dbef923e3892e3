import { afterSending, currentPace, type Pace, unlimited } from './pace.ts'

/** What waits for one access in one region, in the order in which it came, and what is under way for it. */
export interface Lane<Q> {
  /** what goes in one call with others */
  together: readonly Q[]
  /** what goes in a call of its own */
  alone: readonly Q[]
  /** calls for what goes together, without those that take long */
  underWay: number
  /** whether the next call, where there may be only one, is one for what goes alone */
  aloneNext: boolean
  pace: Pace
}

/** Most questions of one call: half of what EC2 takes as values of a filter. */
export const MOST_TOGETHER = 100

export const emptyLane: Lane<never> = {
  together: [],
  alone: [],
  underWay: 0,
  aloneNext: false,
  pace: unlimited,
}

export interface LookUpCall<Q> {
  questions: readonly Q[]
  alone: boolean
}

interface Due<Q> {
  /** to be sent now */
  calls: readonly LookUpCall<Q>[]
  /** what is left */
  lane: Lane<Q>
  /** when to look again, where nothing may be sent before */
  again?: number
}

/**
 * What is to be sent now. The first question goes at once; those that come while its call is under way go together in
 * the next one. A call that is sent takes all that wait, so whatever it answers was asked before it was sent.
 * @param chance from 0 to 1, for the gap behind a call
 */
export function takeDueCalls<Q>(lane: Lane<Q>, now: number, chance: number): Due<Q> {
  const pace = currentPace(lane.pace, now)
  const shared: LookUpCall<Q>[] =
    lane.together.length > 0 && lane.underWay === 0
      ? [{ questions: lane.together.slice(0, MOST_TOGETHER), alone: false }]
      : []
  const single = lane.alone.map((question): LookUpCall<Q> => ({ questions: [question], alone: true }))
  const inTurn = lane.aloneNext ? [...single, ...shared] : [...shared, ...single]
  if (inTurn.length === 0) return { calls: [], lane: { ...lane, pace } }
  if (now < pace.notBefore) return { calls: [], lane: { ...lane, pace }, again: pace.notBefore }
  const calls = pace.gapMs === 0 ? inTurn : inTurn.slice(0, 1)
  const left = markSent({ ...lane, pace: afterSending(pace, now, chance) }, calls)
  return calls.length < inTurn.length
    ? { calls, lane: left, again: left.pace.notBefore }
    : { calls, lane: left }
}

function markSent<Q>(lane: Lane<Q>, calls: readonly LookUpCall<Q>[]): Lane<Q> {
  const count = (alone: boolean) =>
    calls.filter(call => call.alone === alone).flatMap(call => call.questions).length
  const shared = calls.filter(call => !call.alone).length
  return {
    ...lane,
    together: lane.together.slice(count(false)),
    alone: lane.alone.slice(count(true)),
    underWay: lane.underWay + shared,
    aloneNext: shared > 0,
  }
}
