import { stepDown } from '../../journal/step-down.ts'
import { noJournalToClose } from '../operation/faults.ts'
import { commitStep, DONE, moveToStep, type OperationStep, readOperation } from '../operation/run.ts'

/** Ends the epoch of this cluster permanently, and makes it a secondary that follows nobody. */
export const closeEpoch: OperationStep = async (run, id) => {
  const snapshot = await readOperation(run, id)
  const { operation, record } = snapshot
  if (operation.data.status !== 'running' || record.data.operation !== id) return DONE
  const end = await stepDown(run.ports, { reason: 'demote', epoch: record.data.epoch ?? '' }, id)
  if (!end) throw noJournalToClose()
  // read again, since the record has changed
  const now = await readOperation(run, id)
  return commitStep(run, [moveToStep(now, run.ports.clock.now(), { step: 'finish' })], now)
}
