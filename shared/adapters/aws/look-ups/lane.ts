import { type CallPace, paceAfterSending, relaxedPace, unlimitedPace } from './pace.ts'

/** The waiting look-ups of one target, in the order of arrival, and the number of running calls. */
export interface LookUpLane<Q> {
  /** `together`: look-ups that share calls */
  together: readonly Q[]
  /** `alone`: look-ups that get a call of their own */
  alone: readonly Q[]
  /** `underWay`: number of running shared calls, without slow ones */
  underWay: number
  /** `aloneNext`: whether the next single call serves `alone`, when only one call may be sent */
  aloneNext: boolean
  pace: CallPace
}

/** The maximum number of look-ups in one call: half of the values that EC2 allows in a filter. */
export const MAX_LOOK_UPS_PER_CALL = 100

export const emptyLookUpLane: LookUpLane<never> = {
  together: [],
  alone: [],
  underWay: 0,
  aloneNext: false,
  pace: unlimitedPace,
}

export interface LookUpCall<Q> {
  questions: readonly Q[]
  alone: boolean
}

interface Due<Q> {
  /** `calls` to send now */
  calls: readonly LookUpCall<Q>[]
  /** the remaining lane */
  lane: LookUpLane<Q>
  /** time of the next check on the clock of `now`, if nothing may be sent before */
  again?: number
}

/**
 * Returns the look-up calls to send now. The first look-up of a target is sent at once. Look-ups that arrive while
 * a call runs share the next call. A shared call takes all waiting look-ups, so a call answers only look-ups that
 * arrived before it was sent.
 * @param chance from 0 to 1, for the gap after a call
 */
export function takeDueLookUpCalls<Q>(lane: LookUpLane<Q>, now: number, chance: number): Due<Q> {
  const pace = relaxedPace(lane.pace, now)
  const shared: LookUpCall<Q>[] =
    lane.together.length > 0 && lane.underWay === 0
      ? [{ questions: lane.together.slice(0, MAX_LOOK_UPS_PER_CALL), alone: false }]
      : []
  const single = lane.alone.map((question): LookUpCall<Q> => ({ questions: [question], alone: true }))
  const inTurn = lane.aloneNext ? [...single, ...shared] : [...shared, ...single]
  if (inTurn.length === 0) return { calls: [], lane: { ...lane, pace } }
  if (now < pace.notBefore) return { calls: [], lane: { ...lane, pace }, again: pace.notBefore }
  const calls = pace.gapMs === 0 ? inTurn : inTurn.slice(0, 1)
  const left = markSent({ ...lane, pace: paceAfterSending(pace, now, chance) }, calls)
  return calls.length < inTurn.length
    ? { calls, lane: left, again: left.pace.notBefore }
    : { calls, lane: left }
}

function markSent<Q>(lane: LookUpLane<Q>, calls: readonly LookUpCall<Q>[]): LookUpLane<Q> {
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
