import { stepDownAsPrimary } from '../../journal/step-down.ts'
import { noJournalToCloseError } from '../operation/faults.ts'
import { commitOperationStep, type OperationStep, readOperation, STEP_DONE } from '../operation/run.ts'

/** Ends this cluster's epoch permanently, and makes it a secondary without a primary. */
export const closeOwnEpoch: OperationStep = async (run, id) => {
  const snapshot = await readOperation(run, id)
  const { operation, record } = snapshot
  if (operation.data.status !== 'running' || record.data.operation !== id) return STEP_DONE
  const end = await stepDownAsPrimary(run.ports, { reason: 'demote', epoch: record.data.epoch ?? '' }, id)
  if (!end) throw noJournalToCloseError()
  // the cluster record is read again because `stepDownAsPrimary` has changed it
  const now = await readOperation(run, id)
  return commitOperationStep(run, now, { step: 'finish' })
}
