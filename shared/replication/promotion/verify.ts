import { promotionRefused } from '../operation/faults.ts'
import { commitStep, DONE, type OperationStep } from '../operation/run.ts'
import { posText } from '../position.ts'
import { asksPrimary, decidePromotion } from './decide.ts'
import { promotionFacts } from './facts.ts'
import { promotionAt, promotionTo } from './stand.ts'

/**
 * Looks at everything that could be in the way, before anything is changed on either cluster.
 * @throws OperationFailed with all that is in the way
 */
export const verify: OperationStep = async (run, id) => {
  const stand = await promotionAt(run, id, 'verify')
  if (!stand) return DONE
  const { force } = stand.promotion
  const facts = await promotionFacts(run, stand.record.data)
  const { refused, warnings } = decidePromotion(facts, { force })
  if (refused) throw promotionRefused(refused)
  const { head, now } = facts
  const asks = asksPrimary(facts)
  const position = head ? posText(head) : ''
  return commitStep(run, [promotionTo(stand, now, 'handover', { asks, warnings }, { position })], stand)
}
