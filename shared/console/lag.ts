import { hasAnswered, type ObservedCluster } from '../set/status.ts'
import { formatCount, formatLag } from '../values/words.ts'

/** How far the secondary's stored data lags behind, in milliseconds. An absent lag is unknown. */
export interface ReplicationLags {
  /** age of the newest entry stored on the secondary */
  stored?: number
  /** `lost`: age limit of the commits that a promotion now could lose; 0: none, according to both answers */
  lost?: number
  /**
   * commits of the primary that the secondary has not stored; absent: unknown, because the primary does not answer
   */
  positions?: number
}

/**
 * Computes both lags from the answers of a primary and its secondary. If the primary does not answer, everything
 * after the newest stored entry may be lost.
 * @param now epoch milliseconds, by the clock of the page
 */
export function computeReplicationLags(both: readonly ObservedCluster[], now: number): ReplicationLags {
  const secondary = both.find(({ answer }) => answer?.status.mode === 'secondary' && answer.status.primary)
  if (!secondary?.answer) return {}
  const { status, at } = secondary.answer
  const age = status.primary?.canaryAge_ms
  // an answer ages: the entries that the secondary has stored since are unknown
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

/** Describes both lags in sentences. */
export function describeReplicationLags({ stored, lost, positions }: ReplicationLags): string {
  if (stored === undefined)
    return 'The lag is unknown: no secondary of this set has reported the age of its newest entry.'
  const is = `The newest entry on the secondary is ${formatLag(stored)} old.`
  if (lost === 0) return `${is} A promotion now would lose nothing.`
  const much =
    positions === undefined
      ? 'The number of commits is unknown, because the primary does not answer this page.'
      : `It lacks ${formatCount(positions, 'position')}.`
  return `${is} A promotion now would lose at most the commits of the last ${formatLag(lost ?? stored)}. ${much}`
}

/** The lags at one moment. */
export interface LagSample extends ReplicationLags {
  at: number
}

/** Milliseconds that the chart covers. */
export const LAG_CHART_SPAN_MS = 600_000

/** Adds a sample, and drops samples that are older than the chart. */
export const addLagSample = (samples: readonly LagSample[], sample: LagSample): LagSample[] => [
  ...samples.filter(one => sample.at - one.at <= LAG_CHART_SPAN_MS),
  sample,
]

export interface ChartSize {
  width: number
  height: number
}

/** Least height of the scale in milliseconds, so that noise does not look like lag. */
const LEAST_TOP_MS = 10_000

/** Returns the top of the scale in milliseconds: the next 1, 2 or 5 times a power of ten above all samples. */
export function chooseLagScaleTop(samples: readonly LagSample[]): number {
  const most = Math.max(LEAST_TOP_MS, ...samples.flatMap(({ stored = 0, lost = 0 }) => [stored, lost]))
  const power = 10 ** Math.floor(Math.log10(most))
  return [1, 2, 5, 10].map(factor => factor * power).find(top => top >= most) ?? most
}

/**
 * Returns the points `x,y` of a line, newest at the right. The line is broken where the lag is unknown.
 * @returns the points of each unbroken part
 */
export function plotLagLines(
  samples: readonly LagSample[],
  which: 'stored' | 'lost',
  { width, height }: ChartSize,
  now: number,
): string[] {
  const top = chooseLagScaleTop(samples)
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
    const x = width * (1 - (now - sample.at) / LAG_CHART_SPAN_MS)
    const y = height * (1 - value / top)
    lines.at(-1)?.push(`${x.toFixed(1)},${y.toFixed(1)}`)
  }
  return lines.map(points => points.join(' '))
}

/** Puts the history that a readiness answer reports before the samples of the page. */
export function withLagHistory(
  samples: readonly LagSample[],
  history: readonly { time: string; age_ms: number }[],
  now: number,
): LagSample[] {
  const first = samples[0]?.at ?? now
  const older = history
    .map(({ time, age_ms }) => ({ at: Date.parse(time), stored: Math.max(0, age_ms) }))
    .filter(({ at }) => at < first && now - at <= LAG_CHART_SPAN_MS)
  return [...older, ...samples]
}
