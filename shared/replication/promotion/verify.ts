import { lastPosition } from '../../journal/head.ts'
import { posText } from '../../journal/position.ts'
import { wakePuller } from '../../journal/wake.ts'
import { ok, PENDING } from '../../values/result.ts'
import { polling } from '../../values/retrying.ts'
import { promotionRefused } from '../operation/faults.ts'
import { AGAIN, commitStep, DONE, type OperationRun, type OperationStep } from '../operation/run.ts'
import { asksPrimary, decidePromotion, isBehind, type PromotionFacts } from './decide.ts'
import { promotionFacts } from './facts.ts'
import { type PromotionStand, promotionAt, promotionTo } from './stand.ts'

/** Milliseconds to wait for the primary; with force less, since its storage may hang. */
const VERIFY_TIMEOUT_MS = { graceful: 12_000, forced: 4000 }

/**
 * Whether the clock was set while the primary was asked, or this process was frozen: then the silence was shorter than it
 * seems. Without force the step asks again.
 * @param took milliseconds by the clock
 */
const isMoved = (took: number, patience: number): boolean => took < 0 || took > patience + CLOCK_MOVED_MS
const CLOCK_MOVED_MS = 2000

/** How long to wait for a puller that was at rest, milliseconds, and how often to look. */
const CATCH_UP_TIMEOUT_MS = 4000
const CATCH_UP_PAUSE_MS = 200

/**
 * Gathers the facts again once the puller has looked: without a notice it may rest for longer than a secondary may be
 * behind.
 */
async function caughtUpFacts(
  run: OperationRun,
  { record, cluster }: PromotionStand,
): Promise<PromotionFacts> {
  const { ports, deadline } = run
  const { clock, journal, log } = ports
  await wakePuller(ports, cluster).catch((error: unknown) =>
    log.warn('the puller was not woken to fetch what the primary has', { error: String(error) }),
  )
  const facts = await promotionFacts(run, record.data)
  const { primary } = facts
  if (primary.state !== 'answers' || !primary.reported || !isBehind(primary)) return facts
  const until = Math.min(deadline - CATCH_UP_TIMEOUT_MS, clock.now() + CATCH_UP_TIMEOUT_MS)
  const { frontier } = primary.reported
  if (clock.now() >= until) return facts
  await clock.sleep(CATCH_UP_PAUSE_MS)
  const seen = await polling(clock, { everyMs: CATCH_UP_PAUSE_MS, until }, async () => {
    const head = await journal.head()
    if (head?.mode !== 'applying') return ok(false)
    return head.applied >= frontier ? ok(true) : PENDING
  })
  return seen.ok && seen.value ? promotionFacts(run, record.data) : facts
}

/**
 * Checks for all obstacles, before anything is changed on either cluster.
 * @throws OperationFailed with all obstacles
 */
export const verify: OperationStep = async (run, id) => {
  const before = await promotionAt(run, id, 'verify')
  if (!before) return DONE
  const { force } = before.promotion
  const { clock } = run.ports
  const began = clock.now()
  const patience = force ? VERIFY_TIMEOUT_MS.forced : VERIFY_TIMEOUT_MS.graceful
  const end = began + patience
  const facts = await caughtUpFacts({ ...run, deadline: Math.min(run.deadline, end) }, before)
  const { refused, warnings } = decidePromotion(facts, { force })
  if (refused) throw promotionRefused(refused)
  if (!force && facts.primary.state === 'silent' && isMoved(clock.now() - began, patience)) return AGAIN
  const { head, now } = facts
  const asks = asksPrimary(facts)
  const position = head ? posText(lastPosition(head)) : ''
  // asking takes seconds, and commits need a fresh cluster record
  const stand = await promotionAt(run, id, 'verify')
  if (!stand) return DONE
  return commitStep(
    run,
    [promotionTo(stand, now, 'handover', { requestsHandover: asks, warnings }, { position })],
    stand,
  )
}
