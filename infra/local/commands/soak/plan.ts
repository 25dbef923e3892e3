/** What a soak does, and for how long. */
export interface SoakPlan {
  minutes: number
  /** minutes between two planned switches, and between two forced promotions */
  planned: number
  forced: number
  /** logins a second */
  rate: number
  seed: number
}

interface TimedChange {
  kind: 'planned' | 'forced'
  /** minutes from the beginning */
  at: number
}

/** Changes of role in their order. Where both kinds meet, it is the forced one. */
export function changesOf({ minutes, planned, forced }: Omit<SoakPlan, 'rate' | 'seed'>): TimedChange[] {
  const times = (every: number): number[] =>
    Array.from({ length: Math.max(0, Math.ceil(minutes / every) - 1) }, (_, index) => every * (index + 1))
  const byForce = times(forced)
  const meets = (at: number) => byForce.some(one => Math.abs(one - at) < planned / 2)
  return [
    ...byForce.map(at => ({ kind: 'forced', at }) as const),
    ...times(planned).flatMap(at => (meets(at) ? [] : [{ kind: 'planned', at } as const])),
  ].sort((a, b) => a.at - b.at)
}

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
export function chanceFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
