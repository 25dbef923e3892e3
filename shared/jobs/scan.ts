import type { Cursor, OneOrMore } from '../ports.ts'
import type { Item, Kind } from '../storage/kinds.ts'
import { hasTime, type JobRun } from './job.ts'

const SEGMENTS = 4

/** How far a scan of a table has come. */
export interface ScanPlace {
  segment: number
  /** behind this key of the segment; absent: at its beginning */
  from?: Cursor | undefined
}

export const scanStart: ScanPlace = { segment: 0 }

/**
 * Does something with all items of some kinds, page by page, while there is time.
 * @param work tells whether it has come to the end of the page
 * @returns where to go on; undefined at the end
 */
export async function scanAll<K extends Kind>(
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
      if (!hasTime(run)) return next ? { segment, from: next } : { segment: segment + 1 }
    }
    from = undefined
  }
  return undefined
}
