import { wakePuller } from '../../journal/wake.ts'
import { isLasting } from '../../link/source.ts'
import { remove, replace } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { admissionLost, setLeft } from '../operation/faults.ts'
import {
  AGAIN,
  commitStep,
  DONE,
  type OperationEnd,
  type OperationRun,
  readStand,
  readStandToEnd,
  type StepResult,
  toStep,
  withFailed,
  withoutOperation,
} from '../operation/run.ts'
import { followCarefully } from '../secondary/follow.ts'
import { newFollower } from '../secondary/follower.ts'
import { auditEvent } from './wipe.ts'

const FIRST_SYNC_PAUSE_MS = 1000

/**
 * Fetches all items for the first time. If the time ends first, the step is repeated and goes on.
 * @throws OperationFailed when the primary no longer admits this cluster
 */
export async function firstSync(run: OperationRun, id: string): Promise<StepResult> {
  const { ports, connect, deadline } = run
  const { record, operation } = await readStand(run, id)
  if (operation.data.status !== 'running') return DONE
  if (record.data.treeId !== id) throw setLeft()
  const follower = await newFollower(ports, connect, { hasTime: () => ports.clock.now() < deadline })
  if (!follower) return AGAIN
  while (follower.hasTime()) {
    if ((await ports.journal.head())?.mode === 'applying') return DONE
    await followCarefully(follower, {
      pause: FIRST_SYNC_PAUSE_MS,
      warning: 'the first sync was interrupted',
      failureOf: error => (isLasting(error) ? admissionLost(error) : undefined),
    })
  }
  return AGAIN
}

/** The operation is over: the puller goes on by itself. */
export async function endActivation(run: OperationRun, id: string): Promise<StepResult> {
  const stand = await readStand(run, id)
  const { operation, record } = stand
  if (operation.data.status !== 'running') return DONE
  const [pending] = await run.ports.store.read([key('pending-link')])
  await auditEvent(run, 'following', id, record.data)
  const ended = await commitStep(
    run,
    [
      toStep(stand, run.ports.clock.now(), { status: 'done', step: '' }),
      replace(record, record, withoutOperation(record.data)),
      ...(pending?.data.operation === id ? [remove(pending)] : []),
    ],
    stand,
  )
  // else it begins within a minute
  if (ended === DONE) await wakePuller(run.ports, stand.cluster).catch(() => undefined)
  return ended
}

/**
 * Gives up an activation. Before the wipe the cluster becomes what it was. Within the wipe there is no way back: the
 * operation is not ended, and another execution goes on with it.
 */
export const abandon: OperationEnd = async (run, id, fault) => {
  const stand = await readStandToEnd(run, id)
  const { operation, record } = stand
  const holds = record.data.operation === id
  if (operation.data.status !== 'running' && !holds) return DONE
  const { token: _, ...activation } = operation.data.activation ?? { primaryApiAddr: '' }
  const wiped = record.data.treeId === id
  const midway = wiped && record.data.mode === 'bootstrapping'
  const status = midway ? 'running' : 'failed'
  const failed = toStep(stand, run.ports.clock.now(), { status, activation, fault })
  // nothing was touched yet; later the puller goes on with the sync
  const mode = record.data.mode === 'bootstrapping' ? 'disabled' : record.data.mode
  const back = holds && !midway ? [replace(record, record, { ...withFailed(record.data, id), mode })] : []
  const [pending] = await run.ports.store.read([key('pending-link')])
  const forget = pending?.data.operation === id && !wiped ? [remove(pending)] : []
  return commitStep(run, [failed, ...back, ...forget], stand)
}
