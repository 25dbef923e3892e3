import { hasTime, type JobRun } from '../../jobs/job.ts'
import type { ScanPlace } from '../../jobs/scan.ts'
import type { StoredItem } from '../../storage/requests.ts'

/** How far a pass through the table has come. */
export interface Pass {
  seen: number
  /** items that needed something */
  found: number
  /** items that the pass before saw; 0 in the first */
  before: number
}

const SEGMENTS = 4

/** Waits, while there is time. @returns whether the moment has come */
export async function pauseUntil(run: JobRun, moment: number): Promise<boolean> {
  const { clock } = run.ports
  const end = Math.min(moment, run.deadline)
  if (clock.now() < end) await clock.sleep(end - clock.now())
  return clock.now() >= moment
}

/**
 * Goes through all items of the table `data` as they stand, page by page, while there is time.
 * @param work `false`: nothing is to be done any more
 * @returns where to go on; undefined at the end; `ended` when work said so
 */
export async function walkTable(
  run: JobRun,
  start: ScanPlace = { segment: 0 },
  pass: Pass,
  work: (items: StoredItem[]) => Promise<boolean>,
): Promise<ScanPlace | 'ended' | undefined> {
  let from = start.from
  for (let segment = start.segment; segment < SEGMENTS; segment++) {
    do {
      const page = await run.ports.journal.scan({ index: segment, of: SEGMENTS, from })
      pass.seen += page.items.length
      if (!(await work(page.items))) return 'ended'
      from = page.next
      if (!hasTime(run)) return from ? { segment, from } : { segment: segment + 1 }
    } while (from)
  }
  return undefined
}
