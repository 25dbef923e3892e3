import { epochAt } from '../../journal/position.ts'
import { type HandedOverEpoch, LinkRefused, LinkSilent, LinkUnbelieved } from '../../link/source.ts'
import { failed, ok, type Result } from '../../values/result.ts'
import { handoverRefusedError, handoverUnansweredError, primaryReplacedError } from '../operation/faults.ts'
import { type OperationRun, type OperationStep, STEP_AGAIN, STEP_DONE } from '../operation/run.ts'
import { createFollower, type Follower, sendHeartbeat } from '../secondary/follower.ts'
import { movePromotionToStep, type PromotionSnapshot, readPromotionAtStep } from './step.ts'

/**
 * Milliseconds of the handover: for `ask` the step repeats calls to a silent primary; after `wait` the step stops
 * waiting.
 */
const HANDOVER_TIMEOUT_MS = { graceful: { ask: 15_000, wait: 25_000 }, forced: { ask: 4000, wait: 4000 } }
const HANDOVER_PAUSE_MS = 500
/** Milliseconds for one last call, when a run continues the step after its time limit. */
const HANDOVER_LAST_TRY_MS = 1000

/**
 * The result of asking the primary for a handover: the end of the primary's epoch, or the reason why there is no
 * end.
 */
type HandoverResult = Result<{ end: HandedOverEpoch; epoch: string }, NoHandover>

/** `another`: a key other than the primary's signed the answer */
type NoHandover =
  | { readonly kind: 'silent' }
  | { readonly kind: 'refused'; readonly text: string; readonly another?: true }

/**
 * Asks the primary to end its epoch for this cluster, and stores the epoch's end. The step stores the request
 * before the call, because the primary's epoch may end even if this process dies. Without an answer from the
 * primary the promotion fails; with force it continues without a handover.
 */
export const requestPlannedHandover: OperationStep = async (run, id) => {
  const before = await readPromotionAtStep(run, id, 'handover')
  if (!before) return STEP_DONE
  const { clock } = run.ports
  const { requestsHandover, handoverRequestedAt, force } = before.promotion
  if (!requestsHandover) return movePromotionToStep(run, before, 'drain', {})
  if (handoverRequestedAt === undefined) {
    await movePromotionToStep(run, before, 'handover', { handoverRequestedAt: clock.now() })
    return STEP_AGAIN
  }
  const { ask, wait } = force ? HANDOVER_TIMEOUT_MS.forced : HANDOVER_TIMEOUT_MS.graceful
  const asked = await tryHandover(
    run,
    Math.max(handoverRequestedAt + wait, clock.now() + HANDOVER_LAST_TRY_MS),
  )
  if (
    !asked.ok &&
    asked.fault.kind === 'silent' &&
    clock.now() + HANDOVER_PAUSE_MS < handoverRequestedAt + ask
  ) {
    await clock.sleep(HANDOVER_PAUSE_MS)
    return STEP_AGAIN
  }
  // the call to the primary takes seconds, and commits need a fresh cluster record
  const snapshot = await readPromotionAtStep(run, id, 'handover')
  if (!snapshot) return STEP_DONE
  if (!asked.ok)
    return force ? skipHandover(run, snapshot, asked.fault) : failHandover(run, snapshot, asked.fault)
  const { epoch, end: closed } = asked.value
  const end = { epoch, seq: closed.seq, closedEpoch: closed.epoch }
  return movePromotionToStep(run, snapshot, 'drain', { end })
}

/** @param until epoch milliseconds: deadline of the call */
async function tryHandover(
  { ports, connect, deadline }: OperationRun,
  until: number,
): Promise<HandoverResult> {
  const follower = await createFollower(ports, connect, {
    hasTime: () => ports.clock.now() < deadline,
    until,
  })
  if (!follower) return failed({ kind: 'refused', text: 'this cluster is no longer a secondary' })
  try {
    return await requestHandover(follower)
  } catch (error) {
    if (error instanceof LinkUnbelieved)
      return failed({ kind: 'refused', text: error.message, another: true })
    if (error instanceof LinkSilent) return failed({ kind: 'silent' })
    if (!(error instanceof LinkRefused)) throw error
    return failed(
      error.code === 'unavailable' ? { kind: 'silent' } : { kind: 'refused', text: error.message },
    )
  }
}

async function requestHandover(follower: Follower): Promise<HandoverResult> {
  const { epoch, lineage } = await sendHeartbeat(follower)
  const end = await follower.link?.handover({ epoch })
  if (end && end.keyring !== '') await follower.takeKeyring(end.keyring)
  // an epoch without commits ends at the same position as the previous epoch
  return end
    ? ok({ end, epoch: epochAt(lineage, end.seq) || end.epoch })
    : failed({ kind: 'refused', text: 'this cluster knows no primary' })
}

/**
 * Continues a forced promotion without a handover. When the primary returns, the primary reports commits that only
 * it has.
 */
function skipHandover(run: OperationRun, snapshot: PromotionSnapshot, fault: NoHandover) {
  const why = fault.kind === 'silent' ? 'fell silent' : `refused: ${fault.text}`
  const warnings = [...snapshot.promotion.warnings, `nothing was handed over: the primary ${why}`]
  return movePromotionToStep(run, snapshot, 'drain', { warnings })
}

async function failHandover(run: OperationRun, snapshot: PromotionSnapshot, fault: NoHandover) {
  if (fault.kind === 'silent') throw handoverUnansweredError()
  // an earlier attempt may have ended the epoch of the primary at that time
  if (fault.another) throw primaryReplacedError(fault.text)
  // the primary refused, so it has ended no epoch for this cluster
  const { handoverRequestedAt: _, ...promotion } = snapshot.promotion
  const noted = await movePromotionToStep(run, { ...snapshot, promotion }, 'handover', {})
  if (noted === STEP_AGAIN) return STEP_AGAIN
  throw handoverRefusedError(fault.text)
}
