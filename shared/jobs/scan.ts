import type { OneOrMore, ScanCursor } from '../ports.ts'
import type { Item, Kind } from '../storage/kinds.ts'
import { hasTimeLeft, type JobRun } from './job.ts'

const SEGMENTS = 4

/** The position of a table scan. */
export interface ScanPlace {
  segment: number
  /** last key read in the segment; absent: its beginning */
  from?: ScanCursor | undefined
}

export const scanStartPlace: ScanPlace = { segment: 0 }

/**
 * Processes all items of some kinds, page by page, while there is time.
 * @param work returns whether it has finished the page
 * @returns where to continue; undefined at the end
 */
export async function scanAllItems<K extends Kind>(
  run: JobRun,
  kinds: OneOrMore<K>,
  start: ScanPlace,
  work: (items: Item<K>[]) => Promise<boolean>,
): Promise<ScanPlace | undefined> {
  let { from } = start
  for (let segment = start.segment; segment < SEGMENTS; segment++) {
    for await (const { items, next } of run.ports.store.scan(kinds, { index: segment, of: SEGMENTS, from })) {
      if (!(await work(items))) return { segment, from }
      from = next
      if (!hasTimeLeft(run)) return next ? { segment, from: next } : { segment: segment + 1 }
    }
    from = undefined
  }
  return undefined
}
