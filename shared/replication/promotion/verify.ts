import { promotionRefused } from '../operation/faults.ts'
import { commitStep, DONE, type OperationStep } from '../operation/run.ts'
import { posText } from '../position.ts'
import { asksPrimary, decidePromotion } from './decide.ts'
import { promotionFacts } from './facts.ts'
import { promotionAt, promotionTo } from './stand.ts'

/** Milliseconds for which the primary is waited for. By force nobody waits for one whose storage hangs. */
const PATIENCE = { graceful: 12_000, forced: 4000 }

/**
 * Looks at everything that could be in the way, before anything is changed on either cluster.
 * @throws OperationFailed with all that is in the way
 */
export const verify: OperationStep = async (run, id) => {
  const before = await promotionAt(run, id, 'verify')
  if (!before) return DONE
  const { force } = before.promotion
  const end = run.ports.clock.now() + (force ? PATIENCE.forced : PATIENCE.graceful)
  const facts = await promotionFacts({ ...run, deadline: Math.min(run.deadline, end) }, before.record.data)
  const { refused, warnings } = decidePromotion(facts, { force })
  if (refused) throw promotionRefused(refused)
  const { head, now } = facts
  const asks = asksPrimary(facts)
  const position = head ? posText(head) : ''
  // asking takes seconds, and nothing is committed by a record that is old
  const stand = await promotionAt(run, id, 'verify')
  if (!stand) return DONE
  return commitStep(run, [promotionTo(stand, now, 'handover', { asks, warnings }, { position })], stand)
}
