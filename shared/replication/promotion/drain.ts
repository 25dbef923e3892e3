import { lastPosition } from '../../journal/head.ts'
import { positionText } from '../../journal/position.ts'
import { LinkRefused, LinkUnbelieved } from '../../link/source.ts'
import { key } from '../../storage/kinds.ts'
import {
  handoverIncompleteError,
  noLongerSecondaryError,
  OperationFailed,
  primaryReplacedError,
} from '../operation/faults.ts'
import { type OperationRun, type OperationStep, STEP_AGAIN, STEP_DONE } from '../operation/run.ts'
import { followJournalOrPause } from '../secondary/follow.ts'
import { createFollower, type Follower } from '../secondary/follower.ts'
import { prepareHeadForTakeOver } from './ready-head.ts'
import { movePromotionToStep, type PromotionSnapshot, readPromotionAtStep } from './step.ts'

/** Milliseconds to wait for the rest of a journal that was handed over. */
const DRAIN_TIMEOUT_MS = { graceful: 5 * 60_000, forced: 5000 }
const DRAIN_PAUSE_MS = 200

/**
 * Waits until this cluster has received everything up to the end of the primary's journal, then applies all staged
 * entries. On a demoted cluster, the step closes the cluster's own journal at its exact end instead.
 */
export const drainJournal: OperationStep = async (run, id) => {
  const before = await readPromotionAtStep(run, id, 'drain')
  if (!before) return STEP_DONE
  const { ports } = run
  const { force } = before.promotion
  const until =
    before.operation.data.changedAt + (force ? DRAIN_TIMEOUT_MS.forced : DRAIN_TIMEOUT_MS.graceful)
  const hasTime = () => ports.clock.now() < run.deadline
  const follower = await createFollower(ports, run.connect, { hasTime, until })
  if (!follower) throw noLongerSecondaryError()
  follower.session.roleChangePending = true
  if ((await awaitRest(run, before, { follower, until })) === 'time') return STEP_AGAIN
  const ready = await prepareHeadForTakeOver(ports, follower, before)
  if (!ready) return STEP_AGAIN
  const position = positionText(lastPosition(ready.head))
  // waiting may have taken minutes, and commits need a fresh cluster record
  const snapshot = await readPromotionAtStep(run, id, 'drain')
  if (!snapshot) return STEP_DONE
  const warnings = [...snapshot.promotion.warnings, ...ready.warnings]
  return movePromotionToStep(run, snapshot, 'claim', { warnings }, { position })
}

/** @throws OperationFailed if the rest does not arrive */
async function awaitRest(
  run: OperationRun,
  { promotion: { end, force }, operation }: PromotionSnapshot,
  { follower, until }: { follower: Follower; until: number },
): Promise<'received' | 'time'> {
  const { clock, journal, store } = run.ports
  while (end) {
    const head = await journal.head()
    if (!head || (head.mode !== 'applying' && head.mode !== 'draining') || head.last >= end.seq) break
    if (clock.now() >= until) {
      if (force) break
      throw handoverIncompleteError(end.seq, head.last)
    }
    if (clock.now() >= run.deadline) return 'time'
    // an operator may have cancelled the promotion during the wait
    const [now] = await store.read([key('operation', operation.sk)])
    if (now?.data.status !== 'running') return 'time'
    const passed = await followJournalOrPause(follower, {
      pause: DRAIN_PAUSE_MS,
      warning: 'the rest of the journal could not be fetched',
      failureOf: isPassedOver,
    }).catch((error: unknown) => {
      // with force, the promotion continues without the rest of the journal
      if (force && error instanceof OperationFailed) return 'passed' as const
      throw error
    })
    if (passed) break
  }
  return 'received'
}

/**
 * Returns the failure if the rest of the journal will never arrive, because the primary has begun another epoch or
 * another cluster answers.
 */
const isPassedOver = (error: unknown): OperationFailed | undefined =>
  error instanceof LinkUnbelieved || (error instanceof LinkRefused && error.code !== 'unavailable')
    ? primaryReplacedError(error.message)
    : undefined
