/** What keeps the primary away where it is done without: its network, its storage, or a power cut. */
export const reasons = ['cut', 'hanging', 'killed'] as const
export type Reason = (typeof reasons)[number]

/** A change of role, as it came about. */
export interface ChangeSeen {
  kind: 'planned' | 'forced'
  /** of one that was to be by force */
  why?: Reason
  /** by force: seconds that the promotion took, and for which the former primary served after it could be reached again */
  promotion?: number
  servedOn?: number
  /** name of the new primary */
  to: string
  /** seconds from the first request to a primary that another cluster follows */
  seconds: number
  /** logins that were looked up on the new primary */
  looked: number
  /** accessors of those that it does not know */
  lost: readonly string[]
  /** accessors of `lost` that the report of the former primary does not name */
  unnamed: readonly string[]
}

/** What a soak has seen. */
export interface SoakSeen {
  changes: readonly ChangeSeen[]
  /** clusters that served at one moment, at most; moments in which a primary was cut off do not count */
  mostAtOnce: number
  logins: number
  failed: number
  /** position and root of both clusters, once all was quiet; a text: why they never came to one */
  end: { position: number; root: string } | string
  /** changes of role that were due, and were left out: the time was over, or somebody ended it */
  leftOut: number
  /** MiB that the process of both clusters had, in the order of time */
  memory: readonly number[]
  /** what came to nothing, in words */
  faults: readonly string[]
  /** how many faults of each kind were arranged */
  weather: Readonly<Record<string, number>>
}

/** Memory may be so many times what it was in the second quarter of the time. */
const GROWTH = 1.25
/**
 * Seconds that a promotion by force may take, and for which a former primary may serve on. Both goals, 15 s and 5 s, are those
 * of fair weather: every call that is lost costs two or three seconds more.
 */
const LONGEST_SECONDS = { promotion: 30, servedOn: 12 }
/** Samples below which memory says nothing. */
const FEW = 40

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

/** Medians of memory in the quarters of the time; undefined where it was too short to tell. */
export function quartersOf(memory: readonly number[]): number[] | undefined {
  if (memory.length < FEW) return undefined
  return [0, 1, 2, 3].map(index =>
    median(memory.slice((index * memory.length) / 4, ((index + 1) * memory.length) / 4)),
  )
}

/** Memory of the second quarter of the time, when all is loaded, and of the last. */
export function growthOf(memory: readonly number[]): { before: number; after: number } | undefined {
  const [, before = 0, , after = 0] = quartersOf(memory) ?? []
  return before === 0 ? undefined : { before, after }
}

/** What must never be, and was: nothing in a good soak. */
export function brokenIn({ changes, mostAtOnce, logins, end, memory, faults }: SoakSeen): string[] {
  const growth = growthOf(memory)
  return [
    ...faults,
    ...(mostAtOnce > 1 ? [`${mostAtOnce} clusters served at once`] : []),
    ...(logins === 0 ? ['nobody could log in'] : []),
    ...changes.flatMap(({ kind, to, lost, unnamed, promotion = 0, servedOn = 0 }, index) => [
      ...(promotion > LONGEST_SECONDS.promotion
        ? [`change ${index + 1}: the promotion of ${to} by force took ${promotion} s`]
        : []),
      ...(servedOn > LONGEST_SECONDS.servedOn
        ? [`change ${index + 1}: the former primary served for ${servedOn} s after it could be reached again`]
        : []),
      ...(kind === 'planned' && lost.length > 0
        ? [`change ${index + 1}: the planned switch to ${to} lost ${lost.length} logins: ${some(lost)}`]
        : []),
      ...(unnamed.length > 0
        ? [`change ${index + 1}: ${unnamed.length} lost logins are in no report: ${some(unnamed)}`]
        : []),
    ]),
    ...(typeof end === 'string' ? [end] : []),
    ...(growth && growth.after > GROWTH * growth.before
      ? [`memory grew from ${growth.before} to ${growth.after} MiB`]
      : []),
  ]
}

const some = (names: readonly string[]): string =>
  names.slice(0, 3).join(', ') + (names.length > 3 ? ' …' : '')
