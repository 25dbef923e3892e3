import { hasAnswered, type ObservedCluster } from '../set/status.ts'
import { countOf, lagInWords } from '../values/words.ts'

/**
 * How far what is stored on the secondary is behind, in milliseconds. Absent: nothing is known of it.
 */
export interface Lags {
  /** age of the newest entry that is stored there */
  stored?: number
  /** of what could be lost, were it promoted now: nothing before that moment; 0: nothing at all, as far as both words go */
  lost?: number
  /** commits of the primary that are not stored there; absent: unknown, for the primary cannot be heard */
  positions?: number
}

/**
 * Both lags by the words of a primary and of its secondary. Where the primary cannot be heard, everything behind the
 * newest stored entry may be lost.
 * @param now epoch milliseconds, by the clock of the page
 */
export function lagsOf(both: readonly ObservedCluster[], now: number): Lags {
  const secondary = both.find(({ answer }) => answer?.status.mode === 'secondary' && answer.status.primary)
  if (!secondary?.answer) return {}
  const { status, at } = secondary.answer
  const age = status.primary?.canaryAge_ms
  // a word grows old: what has come since is not known
  const stored = age === undefined ? undefined : age + Math.max(0, now - at)
  const primary = both
    .filter(hasAnswered)
    .map(({ answer }) => answer.status)
    .find(one => one.mode === 'primary' && one.set === status.set)
  const positions = primary && Math.max(0, primary.last - (status.position ?? 0))
  const isComplete = positions === 0 && hasAnswered(secondary)
  return {
    ...(stored === undefined ? {} : { stored, lost: isComplete ? 0 : stored }),
    ...(positions === undefined ? {} : { positions }),
  }
}

/** Both lags in sentences. */
export function lagSentence({ stored, lost, positions }: Lags): string {
  if (stored === undefined)
    return 'No lag is known: no secondary of this set has said how old what it has is.'
  const is = `What is stored on the secondary is ${lagInWords(stored)} old.`
  if (lost === 0) return `${is} Nothing would be lost if it were promoted now.`
  const much =
    positions === undefined
      ? 'How much that is is unknown: the primary does not answer this page.'
      : `${countOf(positions, 'position is', 'positions are')} not stored there.`
  return `${is} Promoted now, it would lack what was committed in the last ${lagInWords(lost ?? stored)}, at most. ${much}`
}

/** What was seen at a moment. */
export interface Sample extends Lags {
  at: number
}

/** Milliseconds of time that is drawn. */
export const DRAWN_MS = 600_000

/** Adds a sample, and leaves out those that are no longer drawn. */
export const withSample = (samples: readonly Sample[], sample: Sample): Sample[] => [
  ...samples.filter(one => sample.at - one.at <= DRAWN_MS),
  sample,
]

export interface Box {
  width: number
  height: number
}

/** Least height of the scale, milliseconds: otherwise noise would look like lag. */
const LEAST_TOP_MS = 10_000

/** The top of the scale, milliseconds: one of 1, 2 or 5 times a power of ten above all samples. */
export function topOf(samples: readonly Sample[]): number {
  const most = Math.max(LEAST_TOP_MS, ...samples.flatMap(({ stored = 0, lost = 0 }) => [stored, lost]))
  const power = 10 ** Math.floor(Math.log10(most))
  return [1, 2, 5, 10].map(factor => factor * power).find(top => top >= most) ?? most
}

/**
 * Points of a line, `x,y` each, newest at the right. Where nothing is known the line is broken.
 * @returns a list of points for each unbroken part
 */
export function linesOf(
  samples: readonly Sample[],
  which: 'stored' | 'lost',
  { width, height }: Box,
  now: number,
): string[] {
  const top = topOf(samples)
  const lines: string[][] = []
  let isBroken = true
  for (const sample of samples) {
    const value = sample[which]
    if (value === undefined) {
      isBroken = true
      continue
    }
    if (isBroken) lines.push([])
    isBroken = false
    const x = width * (1 - (now - sample.at) / DRAWN_MS)
    const y = height * (1 - value / top)
    lines.at(-1)?.push(`${x.toFixed(1)},${y.toFixed(1)}`)
  }
  return lines.map(points => points.join(' '))
}
