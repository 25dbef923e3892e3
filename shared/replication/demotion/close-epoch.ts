import { stepDown } from '../../journal/step-down.ts'
import { nothingToClose } from '../operation/faults.ts'
import { commitStep, DONE, type OperationStep, readStand, toStep } from '../operation/run.ts'

/** Ends the epoch of this cluster permanently, and makes it a secondary that follows nobody. */
export const closeEpoch: OperationStep = async (run, id) => {
  const stand = await readStand(run, id)
  const { operation, record } = stand
  if (operation.data.status !== 'running' || record.data.operation !== id) return DONE
  const end = await stepDown(run.ports, { reason: 'demote', epoch: record.data.epoch ?? '' }, id)
  if (!end) throw nothingToClose()
  // read again, since the record has changed
  const now = await readStand(run, id)
  return commitStep(run, [toStep(now, run.ports.clock.now(), { step: 'finish' })], now)
}
