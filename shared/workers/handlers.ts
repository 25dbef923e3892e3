import type { Context } from 'aws-lambda'
import * as v from 'valibot'
import { watchCertificates } from '../auth-method/config/watch-certificates.ts'
import { checkInstances } from '../auth-method/ends/check-instances.ts'
import { startOrganizationRounds } from '../auth-method/organization/schedule.ts'
import { runHourlyTidy } from '../auth-method/tidy/schedule.ts'
import { createJobRun } from '../jobs/job.ts'
import { handleRestoredCopy } from '../journal/close-copy.ts'
import { sendRoleEvents } from '../journal/send-role-events.ts'
import { finishStepDown } from '../journal/step-down.ts'
import { fenceBeforeServing, fenceOtherClusters } from '../link/outgoing/fence-others.ts'
import type { Ports } from '../ports.ts'
import { maintainOperation } from '../replication/operation/operate.ts'
import {
  closeJournalHoles,
  containsTreeChanges,
  maintainJournal,
  refreshDueTreeHashes,
} from '../replication/primary/maintain.ts'
import { testReadinessRegularly } from '../replication/readiness/watch-readiness.ts'
import { maintainReencryption } from '../replication/reencryption/decide.ts'
import { createPeerConnector } from '../replication/secondary/connect.ts'
import { pullFromPrimary } from '../replication/secondary/pull.ts'
import { watchPeers } from '../replication/status/watch-peers.ts'
import { logLicenceExpiry } from '../system/license-status.ts'
import { bounds } from '../values/bounds.ts'
import type { CreateLinkCarrier } from '../wire/carry.ts'
import { runBackgroundJob } from './jobs.ts'
import { HOST_REFRESHES, HOST_RETURNS } from './workers.ts'

/** Milliseconds reserved to finish the current step and to start the next run. */
const JOB_REST_MS = 2000

const lambdaDeadline = ({ clock }: Ports, context: Context): number =>
  clock.now() + context.getRemainingTimeInMillis()

/** Returns the handler of `on-job`: it runs the background job that the event names. */
export const createJobHandler =
  (ports: Ports) =>
  (event: unknown, context: Context): Promise<void> =>
    runBackgroundJob(event, ports, Math.max(ports.clock.now(), lambdaDeadline(ports, context) - JOB_REST_MS))

/**
 * Returns the handler of `on-journal`. The handler of `on-journal` gets the journal entries of a table stream, or
 * an event every minute. The minute run closes open positions, restarts operations, and sends the events of role
 * changes that are still unsent.
 * @param notify wakes the secondaries, because there are new entries
 */
export function createJournalHandler(
  ports: Ports,
  notify: () => Promise<void>,
): (event: unknown) => Promise<void> {
  // a failed start of a workflow, or a failed event, must not stop the maintenance of the journal
  const otherwise = (what: string) => (error: unknown) => ports.log.warn(what, { error: String(error) })
  return async event => {
    const entries = streamKeysIn(event)
    if (entries) {
      await closeJournalHoles(ports)
      if (await containsTreeChanges(ports, entries))
        await notify().catch(otherwise('secondaries could not be notified'))
      return
    }
    if (isFrom(event, HOST_REFRESHES.source)) return refreshDueTreeHashes(ports, 'now')
    logWorkflowEnd(event, ports)
    await handleRestoredCopy(ports)
    await maintainOperation(ports).catch(otherwise('an operation could not be restarted'))
    await finishStepDown(ports).catch(otherwise('the end of an epoch could not be stored'))
    await maintainReencryption(ports).catch(otherwise('re-encryption could not be started'))
    await maintainJournal(ports)
    await refreshDueTreeHashes(ports, 'paced')
    await sendRoleEvents(ports).catch(otherwise('the event of a role change could not be sent'))
    await startOrganizationRounds(ports).catch(otherwise('rounds of organizations could not be started'))
    await watchPeers(ports).catch(otherwise('other clusters could not be checked'))
  }
}

const ended = v.object({
  source: v.literal('aws.states'),
  detail: v.object({ status: v.string(), stateMachineArn: v.string(), name: v.string() }),
})

/** Logs an execution that failed, timed out or was aborted. The alarm only shows that there was one. */
function logWorkflowEnd(event: unknown, { log }: Pick<Ports, 'log'>): void {
  const execution = v.safeParse(ended, event)
  if (!execution.success) return
  const { status, stateMachineArn, name } = execution.output.detail
  log.error('a workflow did not succeed', { status, workflow: stateMachineArn.split(':').at(-1), name })
}

interface EntryRecord {
  dynamodb?: { Keys?: { sk?: { S?: unknown } } }
}

/** Returns the sort keys of the items in a stream event; undefined for any other event. */
function streamKeysIn(event: unknown): unknown[] | undefined {
  const { Records } = (event ?? {}) as { Records?: unknown }
  return Array.isArray(Records)
    ? Records.map(({ dynamodb }: EntryRecord) => dynamodb?.Keys?.sk?.S)
    : undefined
}

/** Returns the handler of `on-tidy-schedule`, which runs every hour. */
export const createHourlyHandler =
  (ports: Ports) =>
  async (_event: unknown, context: Context): Promise<void> => {
    logLicenceExpiry(ports)
    await watchCertificates(ports).catch((error: unknown) =>
      ports.log.warn('certificates could not be checked', { error: String(error) }),
    )
    return runHourlyTidy(createJobRun(ports, lambdaDeadline(ports, context)))
  }

/** Milliseconds reserved to store the end of a part of a round. */
const ROUND_REST_MS = 30_000

/** Returns the handler of `on-account-facts`, which runs every five minutes. */
export const createAccountFactsHandler =
  (ports: Ports) =>
  (_event: unknown, context: Context): Promise<void> =>
    checkInstances(createJobRun(ports, lambdaDeadline(ports, context) - ROUND_REST_MS))

/** Milliseconds reserved for a pull run to finish its current work. */
const RUN_REST_MS = 8000

/**
 * Returns the handler of `on-pull`. On a secondary it follows the primary. On a primary it makes other primaries end their
 * epochs; if the host was away, it asks them before the primary serves again.
 * @param freshPorts the same ports with a keyring of their own. The readiness trial unwraps it with KMS again. If KMS fails,
 * the puller continues with the keyring that it unwrapped earlier.
 */
export const createPullHandler =
  (ports: Ports, carryTo: CreateLinkCarrier, freshPorts: Ports) =>
  async (event: unknown, context: Context): Promise<void> => {
    if (isHostReturn(event)) return fenceBeforeServing(ports, carryTo)
    const deadline = Math.min(ports.clock.now() + bounds.RUN_MS, lambdaDeadline(ports, context) - RUN_REST_MS)
    await fenceOtherClusters(ports, carryTo, deadline).catch((error: unknown) =>
      ports.log.warn('other primaries could not be asked to end their epochs', { error: String(error) }),
    )
    const connect = createPeerConnector(carryTo, ports)
    const isScheduled = isSchedule(event)
    const afterHeartbeat = isScheduled ? () => testReadinessRegularly(freshPorts, connect) : undefined
    return pullFromPrimary(ports, connect, { deadline, waitsForLease: isScheduled, afterHeartbeat })
  }

const isSchedule = (event: unknown): boolean => isFrom(event, 'aws.events')

/** Reports whether an embedded host has just started, or was suspended. */
const isHostReturn = (event: unknown): boolean => isFrom(event, HOST_RETURNS.source)

const isFrom = (event: unknown, source: string): boolean =>
  (event as { source?: unknown } | null)?.source === source
