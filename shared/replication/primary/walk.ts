import { hasTimeLeft, type JobRun } from '../../jobs/job.ts'
import type { ScanPlace } from '../../jobs/scan.ts'
import type { StoredItem } from '../../storage/requests.ts'

/** The progress of a pass through the table. */
export interface TablePass {
  seen: number
  /** number of items that had to be changed */
  found: number
  /** `before` is the number of items that the previous pass saw; 0 in the first pass */
  before: number
}

const SEGMENTS = 4

/** Waits until a moment, or until time runs out. @returns whether the moment has come */
export async function pauseUntilTime(run: JobRun, moment: number): Promise<boolean> {
  const { clock } = run.ports
  const end = Math.min(moment, run.deadline)
  if (clock.now() < end) await clock.sleep(end - clock.now())
  return clock.now() >= moment
}

/**
 * Reads all items of the table `data` page by page, until time runs out.
 * @param work handles a page; if it returns false, the pass stops
 * @returns the place to continue from; undefined at the end; `ended` if `work` returned false
 */
export async function scanDataTable(
  run: JobRun,
  start: ScanPlace = { segment: 0 },
  pass: TablePass,
  work: (items: StoredItem[]) => Promise<boolean>,
): Promise<ScanPlace | 'ended' | undefined> {
  let from = start.from
  for (let segment = start.segment; segment < SEGMENTS; segment++) {
    do {
      const page = await run.ports.journal.scan({ index: segment, of: SEGMENTS, from })
      pass.seen += page.items.length
      if (!(await work(page.items))) return 'ended'
      from = page.next
      if (!hasTimeLeft(run)) return from ? { segment, from } : { segment: segment + 1 }
    } while (from)
  }
  return undefined
}
