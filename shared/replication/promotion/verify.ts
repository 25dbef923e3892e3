import { lastPosition } from '../../journal/head.ts'
import { positionText } from '../../journal/position.ts'
import { wakePuller } from '../../journal/wake.ts'
import { ok, PENDING_RESULT } from '../../values/result.ts'
import { pollWhilePending } from '../../values/retrying.ts'
import { promotionRefusedError } from '../operation/faults.ts'
import { type OperationRun, type OperationStep, STEP_AGAIN, STEP_DONE } from '../operation/run.ts'
import { decidePromotion, isBehindPrimary, type PromotionFacts, shouldRequestHandover } from './decide.ts'
import { gatherPromotionFacts } from './facts.ts'
import { movePromotionToStep, type PromotionSnapshot, readPromotionAtStep } from './step.ts'

/** Milliseconds to wait for the primary's answer. Less with force, because the primary's storage may hang. */
const VERIFY_TIMEOUT_MS = { graceful: 12_000, forced: 4000 }

/**
 * Reports whether the clock was set during the call, or this process was frozen. After a frozen process or a set
 * clock the silence was shorter than the clock shows, so without force the step calls the primary again.
 * @param took duration of the call in milliseconds by the clock
 */
const isClockMoved = (took: number, patience: number): boolean => took < 0 || took > patience + CLOCK_MOVED_MS
const CLOCK_MOVED_MS = 2000

/** Milliseconds to wait for a resting puller, and between two looks at its state. */
const CATCH_UP_TIMEOUT_MS = 4000
const CATCH_UP_PAUSE_MS = 200

/**
 * Wakes the puller, and gathers the facts of a promotion again after the puller has fetched the newest entries. A
 * resting puller may be further behind than a promotion allows.
 */
async function gatherFactsAfterPull(
  run: OperationRun,
  { record, cluster }: PromotionSnapshot,
): Promise<PromotionFacts> {
  const { ports, deadline } = run
  const { clock, journal, log } = ports
  await wakePuller(ports, cluster).catch((error: unknown) =>
    log.warn('the worker on-pull could not be woken', { error: String(error) }),
  )
  const facts = await gatherPromotionFacts(run, record.data)
  const { primary } = facts
  if (primary.state !== 'answers' || !primary.reported || !isBehindPrimary(primary)) return facts
  const until = Math.min(deadline - CATCH_UP_TIMEOUT_MS, clock.now() + CATCH_UP_TIMEOUT_MS)
  const { frontier } = primary.reported
  if (clock.now() >= until) return facts
  await clock.sleep(CATCH_UP_PAUSE_MS)
  const seen = await pollWhilePending(clock, { everyMs: CATCH_UP_PAUSE_MS, until }, async () => {
    const head = await journal.head()
    if (head?.mode !== 'applying') return ok(false)
    return head.applied >= frontier ? ok(true) : PENDING_RESULT
  })
  return seen.ok && seen.value ? gatherPromotionFacts(run, record.data) : facts
}

/**
 * Checks all obstacles to a promotion before anything changes on either cluster.
 * @throws OperationFailed with all obstacles
 */
export const verifyPromotion: OperationStep = async (run, id) => {
  const before = await readPromotionAtStep(run, id, 'verify')
  if (!before) return STEP_DONE
  const { force } = before.promotion
  const { clock } = run.ports
  const began = clock.now()
  const patience = force ? VERIFY_TIMEOUT_MS.forced : VERIFY_TIMEOUT_MS.graceful
  const end = began + patience
  const facts = await gatherFactsAfterPull({ ...run, deadline: Math.min(run.deadline, end) }, before)
  const { refused, warnings } = decidePromotion(facts, { force })
  if (refused) throw promotionRefusedError(refused)
  if (!force && facts.primary.state === 'silent' && isClockMoved(clock.now() - began, patience))
    return STEP_AGAIN
  const { head } = facts
  const asks = shouldRequestHandover(facts)
  const position = head ? positionText(lastPosition(head)) : ''
  // the call to the primary takes seconds, and commits need a fresh cluster record
  const snapshot = await readPromotionAtStep(run, id, 'verify')
  if (!snapshot) return STEP_DONE
  return movePromotionToStep(run, snapshot, 'handover', { requestsHandover: asks, warnings }, { position })
}
