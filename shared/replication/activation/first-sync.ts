import { wakePuller } from '../../journal/wake.ts'
import { isPermanentRefusal } from '../../link/source.ts'
import { remove, replace } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { admissionLostError, setChangedError } from '../operation/faults.ts'
import {
  AGAIN,
  commitStep,
  DONE,
  moveToStep,
  type OperationEnd,
  type OperationRun,
  readEndingOperation,
  readOperation,
  type StepResult,
  withFailedOperation,
  withoutOperation,
} from '../operation/run.ts'
import { followOrPause } from '../secondary/follow.ts'
import { newFollower } from '../secondary/follower.ts'
import { writeActivationEvent } from './wipe.ts'

const FIRST_SYNC_PAUSE_MS = 1000

/**
 * Fetches all items from the primary for the first time. If the Lambda runs out of time, the step is repeated and
 * continues.
 * @throws OperationFailed if the primary no longer admits this cluster
 */
export async function runFirstSync(run: OperationRun, id: string): Promise<StepResult> {
  const { ports, connect, deadline } = run
  const { record, operation } = await readOperation(run, id)
  if (operation.data.status !== 'running') return DONE
  if (record.data.treeId !== id) throw setChangedError()
  const follower = await newFollower(ports, connect, { hasTime: () => ports.clock.now() < deadline })
  if (!follower) return AGAIN
  while (follower.hasTime()) {
    if ((await ports.journal.head())?.mode === 'applying') return DONE
    await followOrPause(follower, {
      pause: FIRST_SYNC_PAUSE_MS,
      warning: 'the first sync was interrupted',
      failureOf: error => (isPermanentRefusal(error) ? admissionLostError(error) : undefined),
    })
  }
  return AGAIN
}

/** Ends the activation. From now on the puller follows the primary. */
export async function endActivation(run: OperationRun, id: string): Promise<StepResult> {
  const snapshot = await readOperation(run, id)
  const { operation, record } = snapshot
  if (operation.data.status !== 'running') return DONE
  const [pending] = await run.ports.store.read([key('pending-link')])
  await writeActivationEvent(run, 'following', id, record.data)
  const ended = await commitStep(
    run,
    [
      moveToStep(snapshot, run.ports.clock.now(), { status: 'done', step: '' }),
      replace(record, record, withoutOperation(record.data)),
      ...(pending?.data.operation === id ? [remove(pending)] : []),
    ],
    snapshot,
  )
  // if this fails, the puller starts within a minute
  if (ended === DONE) await wakePuller(run.ports, snapshot.cluster).catch(() => undefined)
  return ended
}

/**
 * Gives up an activation. Before the wipe, the cluster gets its earlier role back. During the wipe this is impossible, so
 * the operation is not ended and another execution continues it.
 */
export const giveUpActivation: OperationEnd = async (run, id, fault) => {
  const snapshot = await readEndingOperation(run, id)
  const { operation, record } = snapshot
  const holds = record.data.operation === id
  if (operation.data.status !== 'running' && !holds) return DONE
  const { token: _, ...activation } = operation.data.activation ?? { primaryApiAddr: '' }
  const wiped = record.data.treeId === id
  const midway = wiped && record.data.mode === 'bootstrapping'
  const status = midway ? 'running' : 'failed'
  const failed = moveToStep(snapshot, run.ports.clock.now(), { status, activation, fault })
  // before the wipe nothing has changed; after it the puller continues the sync
  const mode = record.data.mode === 'bootstrapping' ? 'disabled' : record.data.mode
  const back =
    holds && !midway ? [replace(record, record, { ...withFailedOperation(record.data, id), mode })] : []
  const [pending] = await run.ports.store.read([key('pending-link')])
  const forget = pending?.data.operation === id && !wiped ? [remove(pending)] : []
  return commitStep(run, [failed, ...back, ...forget], snapshot)
}
