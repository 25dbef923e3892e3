/**
 * The pace at which one environment calls an API whose limit all callers share. An environment makes calls without
 * gaps until AWS throttles a call. After throttling, the gap between calls doubles with each throttled call and
 * shrinks with each answer. By these gaps environments find their shares of the limit without communicating. Times
 * are milliseconds of a clock that never goes back.
 */
export interface CallPace {
  /** `gapMs`: milliseconds between two calls; 0: no limit is known */
  gapMs: number
  notBefore: number
}

/** EC2 allows about 20 describe calls a second. After the first throttling an environment makes half as many calls. */
const FIRST_LOOK_UP_GAP_MS = 100
const LONGEST_LOOK_UP_GAP_MS = 2000
/** An environment that calls this often without being throttled has the limit to itself, or the API has no limit. */
const SHORTEST_LOOK_UP_GAP_MS = 25
const SHRINKS = 0.9
/** Milliseconds after which a pace is forgotten. */
const OUTDATED_PACE_MS = 10_000

export const unlimitedPace: CallPace = { gapMs: 0, notBefore: 0 }

/**
 * Returns a random time between half of the gap and one and a half of it, so that callers that were throttled
 * together do not repeat their calls together.
 */
const jittered = (gapMs: number, chance: number): number => gapMs * (0.5 + chance)

/** Returns the present pace of calls. */
export const relaxedPace = (pace: CallPace, now: number): CallPace =>
  now > pace.notBefore + OUTDATED_PACE_MS ? unlimitedPace : pace

/**
 * Returns the pace after a call was sent.
 * @param chance from 0 to 1
 */
export const paceAfterSending = ({ gapMs }: CallPace, now: number, chance: number): CallPace => ({
  gapMs,
  notBefore: now + jittered(gapMs, chance),
})

export function paceAfterThrottling(pace: CallPace, now: number, chance: number): CallPace {
  const gapMs = Math.min(LONGEST_LOOK_UP_GAP_MS, pace.gapMs === 0 ? FIRST_LOOK_UP_GAP_MS : 2 * pace.gapMs)
  return { gapMs, notBefore: Math.max(pace.notBefore, now + jittered(gapMs, chance)) }
}

export function paceAfterAnswer({ gapMs, notBefore }: CallPace): CallPace {
  const shrunk = gapMs * SHRINKS
  return shrunk < SHORTEST_LOOK_UP_GAP_MS ? unlimitedPace : { gapMs: shrunk, notBefore }
}
