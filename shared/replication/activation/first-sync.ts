import { wakePuller } from '../../journal/wake.ts'
import { isPermanentRefusal } from '../../link/source.ts'
import { removeItem, replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { admissionLostError, setChangedError } from '../operation/faults.ts'
import {
  commitOperationStep,
  type OperationEnd,
  type OperationRun,
  type OperationStepResult,
  readEndingOperation,
  readOperation,
  STEP_AGAIN,
  STEP_DONE,
  withFailedOperation,
  withoutOperation,
} from '../operation/run.ts'
import { followJournalOrPause } from '../secondary/follow.ts'
import { createFollower } from '../secondary/follower.ts'
import { writeActivationEvent } from './wipe.ts'

const FIRST_SYNC_PAUSE_MS = 1000

/**
 * Fetches all items from the primary for the first time. If the Lambda runs out of time, the step is repeated and
 * continues.
 * @throws OperationFailed if the primary no longer admits this cluster
 */
export async function runFirstSync(run: OperationRun, id: string): Promise<OperationStepResult> {
  const { ports, connect, deadline } = run
  const { record, operation } = await readOperation(run, id)
  if (operation.data.status !== 'running') return STEP_DONE
  if (record.data.treeId !== id) throw setChangedError()
  const follower = await createFollower(ports, connect, { hasTime: () => ports.clock.now() < deadline })
  if (!follower) return STEP_AGAIN
  while (follower.hasTime()) {
    if ((await ports.journal.head())?.mode === 'applying') return STEP_DONE
    await followJournalOrPause(follower, {
      pause: FIRST_SYNC_PAUSE_MS,
      warning: 'the first sync was interrupted',
      failureOf: error => (isPermanentRefusal(error) ? admissionLostError(error) : undefined),
    })
  }
  return STEP_AGAIN
}

/** Ends the activation. After the activation the puller follows the primary. */
export async function endActivation(run: OperationRun, id: string): Promise<OperationStepResult> {
  const snapshot = await readOperation(run, id)
  const { operation, record } = snapshot
  if (operation.data.status !== 'running') return STEP_DONE
  const [pending] = await run.ports.store.read([key('pending-link')])
  await writeActivationEvent(run, 'following', id, record.data)
  const ended = await commitOperationStep(run, snapshot, { status: 'done', step: '' }, [
    replaceItem(record, record, withoutOperation(record.data)),
    ...(pending?.data.operation === id ? [removeItem(pending)] : []),
  ])
  // if this call fails, the puller starts within a minute
  if (ended === STEP_DONE) await wakePuller(run.ports, snapshot.cluster).catch(() => undefined)
  return ended
}

/**
 * Gives up an activation. Before the wipe, the cluster gets its earlier role back. During the wipe the earlier role
 * cannot return, so the operation is not ended and another execution continues it.
 */
export const giveUpActivation: OperationEnd = async (run, id, fault) => {
  const snapshot = await readEndingOperation(run, id)
  const { operation, record } = snapshot
  const holds = record.data.operation === id
  if (operation.data.status !== 'running' && !holds) return STEP_DONE
  const { token: _, ...activation } = operation.data.activation ?? { primaryApiAddr: '' }
  const wiped = record.data.treeId === id
  const midway = wiped && record.data.mode === 'bootstrapping'
  const status = midway ? 'running' : 'failed'
  // before the wipe nothing has changed; after the wipe the puller continues the sync
  const mode = record.data.mode === 'bootstrapping' ? 'disabled' : record.data.mode
  const back =
    holds && !midway ? [replaceItem(record, record, { ...withFailedOperation(record.data, id), mode })] : []
  const [pending] = await run.ports.store.read([key('pending-link')])
  const forget = pending?.data.operation === id && !wiped ? [removeItem(pending)] : []
  return commitOperationStep(run, snapshot, { status, activation, fault }, [...back, ...forget])
}
