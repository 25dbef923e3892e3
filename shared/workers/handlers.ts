import type { Context } from 'aws-lambda'
import * as v from 'valibot'
import { watchCertificates } from '../auth-method/config/watch-certificates.ts'
import { runHourly } from '../auth-method/tidy/schedule.ts'
import { jobRun } from '../jobs/job.ts'
import { handleRestoredCopy } from '../journal/close-copy.ts'
import { sendRoleEvents } from '../journal/send-role-events.ts'
import { finishStepDown } from '../journal/step-down.ts'
import { askBeforeServing, fenceOthers } from '../link/outgoing/fence-others.ts'
import type { Ports } from '../ports.ts'
import { maintainOperation } from '../replication/operation/operate.ts'
import {
  closeHoles,
  containsChanges,
  maintainJournal,
  refreshHashes,
} from '../replication/primary/maintain.ts'
import { watchReadiness } from '../replication/readiness/watch-readiness.ts'
import { maintainReencryption } from '../replication/reencryption/decide.ts'
import { connectVia } from '../replication/secondary/connect.ts'
import { pull } from '../replication/secondary/pull.ts'
import { watchPeers } from '../replication/status/watch-peers.ts'
import { watchLicence } from '../system/license-status.ts'
import { bounds } from '../values/bounds.ts'
import type { CarryTo } from '../wire/carry.ts'
import { runJob } from './jobs.ts'
import { HOST_REFRESHES, HOST_RETURNS } from './workers.ts'

/** Time to finish the step in hand and to start the next run, milliseconds. */
const JOB_REST_MS = 2000

const lambdaDeadline = ({ clock }: Ports, context: Context): number =>
  clock.now() + context.getRemainingTimeInMillis()

/** Runs the background job that an event names. */
export const jobHandler =
  (ports: Ports) =>
  (event: unknown, context: Context): Promise<void> =>
    runJob(event, ports, Math.max(ports.clock.now(), lambdaDeadline(ports, context) - JOB_REST_MS))

/**
 * Journal entries that were written, or a minute that has passed: the latter leaves no position open, no operation behind, and
 * no change of role untold.
 * @param notify tells secondaries that there is something to fetch
 */
export function journalHandler(ports: Ports, notify: () => Promise<void>): (event: unknown) => Promise<void> {
  // neither an operation that nobody could start nor a bus that takes no events must hold up the journal
  const otherwise = (what: string) => (error: unknown) => ports.log.warn(what, { error: String(error) })
  return async event => {
    const entries = streamKeysIn(event)
    if (entries) {
      await closeHoles(ports)
      if (await containsChanges(ports, entries)) await notify().catch(otherwise('secondaries are not told'))
      return
    }
    if (isFrom(event, HOST_REFRESHES.source)) return refreshHashes(ports, 'now')
    logWorkflowEnd(event, ports)
    await handleRestoredCopy(ports)
    await maintainOperation(ports).catch(otherwise('an operation waits'))
    await finishStepDown(ports).catch(otherwise('the end of an epoch is not noted yet'))
    await maintainReencryption(ports).catch(otherwise('nothing is encrypted anew yet'))
    await maintainJournal(ports)
    await refreshHashes(ports, 'paced')
    await sendRoleEvents(ports).catch(otherwise('a change of role is not told yet'))
    await watchPeers(ports).catch(otherwise('other clusters were not looked at'))
  }
}

const ended = v.object({
  source: v.literal('aws.states'),
  detail: v.object({ status: v.string(), stateMachineArn: v.string(), name: v.string() }),
})

/** A line for operators on an execution that came to a bad end: the alarm says only that there was one. */
function logWorkflowEnd(event: unknown, { log }: Pick<Ports, 'log'>): void {
  const given = v.safeParse(ended, event)
  if (!given.success) return
  const { status, stateMachineArn, name } = given.output.detail
  log.error('a workflow came to a bad end', { status, workflow: stateMachineArn.split(':').at(-1), name })
}

interface EntryRecord {
  dynamodb?: { Keys?: { sk?: { S?: unknown } } }
}

/** Sort keys of the items that an event tells of; undefined: it is none of a stream. */
function streamKeysIn(event: unknown): unknown[] | undefined {
  const { Records } = (event ?? {}) as { Records?: unknown }
  return Array.isArray(Records)
    ? Records.map(({ dynamodb }: EntryRecord) => dynamodb?.Keys?.sk?.S)
    : undefined
}

/** The hourly round. */
export const roundHandler =
  (ports: Ports) =>
  async (_event: unknown, context: Context): Promise<void> => {
    watchLicence(ports)
    await watchCertificates(ports).catch((error: unknown) =>
      ports.log.warn('certificates were not looked at', { error: String(error) }),
    )
    return runHourly(jobRun(ports, lambdaDeadline(ports, context)))
  }

/** What a run may need to end what it has in hand. */
const RUN_REST_MS = 8000

/**
 * What a cluster has to say to others without being asked: a secondary follows its primary, if it has one; a primary has
 * others end their epochs, or asks them before it serves again when its host has been away.
 * @param freshPorts the same ports with a keyring of their own: a trial has KMS unwrap it anew, and where KMS does not, who
 * follows goes on with the one that it has
 */
export const pullHandler =
  (ports: Ports, carryTo: CarryTo, freshPorts: Ports) =>
  async (event: unknown, context: Context): Promise<void> => {
    if (isHostReturn(event)) return askBeforeServing(ports, carryTo)
    const deadline = Math.min(ports.clock.now() + bounds.RUN_MS, lambdaDeadline(ports, context) - RUN_REST_MS)
    await fenceOthers(ports, carryTo, deadline).catch((error: unknown) =>
      ports.log.warn('other primaries were not asked', { error: String(error) }),
    )
    const connect = connectVia(carryTo, ports)
    const isScheduled = isSchedule(event)
    const afterHeartbeat = isScheduled ? () => watchReadiness(freshPorts, connect) : undefined
    return pull(ports, connect, { deadline, waitsForLease: isScheduled, afterHeartbeat })
  }

const isSchedule = (event: unknown): boolean => isFrom(event, 'aws.events')

/** An embedded host has begun, or has slept. */
const isHostReturn = (event: unknown): boolean => isFrom(event, HOST_RETURNS.source)

const isFrom = (event: unknown, source: string): boolean =>
  (event as { source?: unknown } | null)?.source === source
