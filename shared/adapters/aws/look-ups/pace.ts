/**
 * How fast one environment asks an API that limits calls for all who ask it: freely until it is refused, then with
 * gaps that double at each refusal and shrink with each answer. Environments find their shares of the limit so, and
 * tell each other nothing. Moments are milliseconds of a clock that never goes back.
 */
export interface Pace {
  /** between two calls; 0: no limit is known of */
  gapMs: number
  notBefore: number
}

/** EC2 takes about 20 describe calls a second: what is refused first leaves half of that. */
const FIRST_GAP_MS = 100
const LONGEST_GAP_MS = 2000
/** Who asks as often as this without being refused is alone with the limit, or beside none. */
const SHORTEST_GAP_MS = 25
const SHRINKS = 0.9
/** What was found out this long ago says nothing any more. */
const OUTDATED_MS = 10_000

export const unlimited: Pace = { gapMs: 0, notBefore: 0 }

/** Half of the gap to one and a half of it: those who were refused together do not come again together. */
const jittered = (gapMs: number, chance: number): number => gapMs * (0.5 + chance)

/** The pace as it is now. */
export const currentPace = (pace: Pace, now: number): Pace =>
  now > pace.notBefore + OUTDATED_MS ? unlimited : pace

/** After a call was sent. @param chance from 0 to 1 */
export const afterSending = ({ gapMs }: Pace, now: number, chance: number): Pace => ({
  gapMs,
  notBefore: now + jittered(gapMs, chance),
})

export function afterRefusal(pace: Pace, now: number, chance: number): Pace {
  const gapMs = Math.min(LONGEST_GAP_MS, pace.gapMs === 0 ? FIRST_GAP_MS : 2 * pace.gapMs)
  return { gapMs, notBefore: Math.max(pace.notBefore, now + jittered(gapMs, chance)) }
}

export function afterAnswer({ gapMs, notBefore }: Pace): Pace {
  const shrunk = gapMs * SHRINKS
  return shrunk < SHORTEST_GAP_MS ? unlimited : { gapMs: shrunk, notBefore }
}
