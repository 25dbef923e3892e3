import { notPromotable, restMissing } from '../operation/faults.ts'
import { AGAIN, commitStep, DONE, type OperationRun, type OperationStep } from '../operation/run.ts'
import { posText } from '../position.ts'
import { followCarefully } from '../secondary/follow-carefully.ts'
import type { Follower } from '../secondary/follower.ts'
import { newFollower } from '../secondary/new-follower.ts'
import { readyHead } from './ready-head.ts'
import { type PromotionStand, promotionAt, promotionTo } from './stand.ts'

/** Milliseconds for which the rest of a journal that was handed over is waited for. */
const PATIENCE = { graceful: 5 * 60_000, forced: 30_000 }
const PAUSE_MS = 200

/**
 * Waits until everything that the primary has acknowledged is here, then applies all that is staged: nothing else
 * happens to this cluster before that. A demoted cluster gives its own journal its exact end instead.
 */
export const drainAll: OperationStep = async (run, id) => {
  const stand = await promotionAt(run, id, 'drain')
  if (!stand) return DONE
  const { ports } = run
  const follower = await newFollower(ports, run.connect, { hasTime: () => ports.clock.now() < run.deadline })
  if (!follower) throw notPromotable()
  follower.handsOff = true
  if ((await received(run, stand, follower)) === 'time') return AGAIN
  const ready = await readyHead(ports, follower, stand.promotion)
  if (!ready) return AGAIN
  const position = posText(ready.head)
  const warnings = [...stand.promotion.warnings, ...ready.warnings]
  return commitStep(run, [promotionTo(stand, ports.clock.now(), 'claim', { warnings }, { position })], stand)
}

/** @throws OperationFailed when the rest does not come */
async function received(
  run: OperationRun,
  { promotion: { end, force }, operation }: PromotionStand,
  follower: Follower,
): Promise<'received' | 'time'> {
  const { clock, journal } = run.ports
  const until = operation.data.changedAt + (force ? PATIENCE.forced : PATIENCE.graceful)
  while (end) {
    const head = await journal.head()
    if (!head || (head.mode !== 'applying' && head.mode !== 'draining') || head.seq >= end.seq) break
    if (clock.now() >= until) {
      if (force) break
      throw restMissing(end.seq, head.seq)
    }
    if (clock.now() >= run.deadline) return 'time'
    await followCarefully(follower, {
      pause: PAUSE_MS,
      warning: 'the rest of the journal was asked for in vain',
    })
  }
  return 'received'
}
