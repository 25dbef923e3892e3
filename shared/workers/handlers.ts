import type { Context } from 'aws-lambda'
import { everyHour } from '../auth-method/tidy/schedule.ts'
import { jobRun } from '../jobs/job.ts'
import type { CarryTo } from '../link/carry.ts'
import type { Ports } from '../ports.ts'
import { closeCopy } from '../replication/close-copy.ts'
import { tendOperation } from '../replication/operation/tend.ts'
import { tellsNews } from '../replication/primary/news.ts'
import { closeHoles, pacedRefresh, tendJournal } from '../replication/primary/tend.ts'
import { connectBy } from '../replication/secondary/connect.ts'
import { pull } from '../replication/secondary/pull.ts'
import { finishStepDown } from '../replication/step-down.ts'
import { tellRoleEvents } from '../replication/tell-events.ts'
import { runJob } from './jobs.ts'
import { STREAM_BATCH } from './workers.ts'

/** Time to finish the step in hand and to start the next run, milliseconds. */
const REST_MS = 2000

const endOf = ({ clock }: Ports, context: Context): number => clock.now() + context.getRemainingTimeInMillis()

/** Runs the background job that an event names. */
export const jobHandler =
  (ports: Ports) =>
  (event: unknown, context: Context): Promise<void> =>
    runJob(event, ports, Math.max(ports.clock.now(), endOf(ports, context) - REST_MS))

/**
 * Cells that were written, or a minute that has passed: the latter leaves no position open, no operation behind, and
 * no change of role untold.
 * @param others `notify` tells secondaries that there is something to fetch; `chase` has other primaries end their epochs
 */
export function journalHandler(
  ports: Ports,
  { notify, chase }: { notify: () => Promise<void>; chase: () => Promise<void> },
): (event: unknown) => Promise<void> {
  const refresh = pacedRefresh(ports)
  // neither an operation that nobody could start nor a bus that takes no events must hold up the journal
  const otherwise = (what: string) => (error: unknown) => ports.log.warn(what, { error: String(error) })
  return async event => {
    const cells = cellsIn(event)
    if (cells) {
      await closeHoles(ports)
      if (!(await tellsNews(ports, cells))) return
      await notify().catch(otherwise('secondaries are not told'))
      return refresh(cells.length >= STREAM_BATCH)
    }
    await closeCopy(ports)
    await tendOperation(ports).catch(otherwise('an operation waits'))
    await finishStepDown(ports).catch(otherwise('the end of an epoch is not noted yet'))
    await tendJournal(ports, 'all')
    await tellRoleEvents(ports).catch(otherwise('a change of role is not told yet'))
    await chase().catch(otherwise('other primaries were not asked'))
  }
}

interface CellRecord {
  dynamodb?: { Keys?: { sk?: { S?: unknown } } }
}

/** Sort keys of the items that an event tells of; undefined: it is none of a stream. */
function cellsIn(event: unknown): unknown[] | undefined {
  const { Records } = (event ?? {}) as { Records?: unknown }
  return Array.isArray(Records) ? Records.map(({ dynamodb }: CellRecord) => dynamodb?.Keys?.sk?.S) : undefined
}

/** The hourly round. */
export const roundHandler =
  (ports: Ports) =>
  (_event: unknown, context: Context): Promise<void> =>
    everyHour(jobRun(ports, endOf(ports, context)))

/** Milliseconds that a run follows the primary: the schedule starts the next one by then, which takes over. */
const PULL_MS = 60_000
/** What a run may need to end what it has in hand. */
const PULL_REST_MS = 8000

/** Follows the primary, if this cluster has one. */
export const pullHandler =
  (ports: Ports, carryTo: CarryTo) =>
  (event: unknown, context: Context): Promise<void> => {
    const deadline = Math.min(ports.clock.now() + PULL_MS, endOf(ports, context) - PULL_REST_MS)
    return pull(ports, connectBy(carryTo, ports), { deadline, standsBy: isSchedule(event) })
  }

const isSchedule = (event: unknown): boolean =>
  (event as { source?: unknown } | null)?.source === 'aws.events'
