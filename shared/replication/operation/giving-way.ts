import type { OperationName, OperationState } from '../../model/operation.ts'
import type { Ports } from '../../ports.ts'
import { type Change, removeItem, replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { operationReplacedError } from './faults.ts'

interface WaitingStep {
  readonly step: string
  /** `replaceableBy`: operations that may replace an operation in this step */
  readonly replaceableBy: readonly OperationName[]
}

/**
 * The steps in which an operation waits for another cluster, perhaps for a long time, while nothing on this cluster
 * is half changed. In these steps another operation may replace the waiting operation. Active runs of the replaced
 * operation commit nothing.
 */
const waitingSteps: Partial<Record<OperationName, WaitingStep>> = {
  promotion: { step: 'drain', replaceableBy: ['promotion', 'update-primary', 'disable'] },
  'update-primary': { step: 'find', replaceableBy: ['promotion', 'update-primary', 'disable'] },
  activation: { step: 'sync', replaceableBy: ['update-primary', 'disable'] },
}

/** Reports whether an operation waits for another cluster, so that an administrator may replace it. */
export const isOperationWaiting = ({ name, step }: Pick<OperationState, 'name' | 'step'>): boolean =>
  waitingSteps[name]?.step === step

/**
 * Returns the changes that end the running operation, for the commit that begins its replacement.
 * @returns undefined if the running operation cannot be replaced because it is changing the cluster
 */
export async function replaceWaitingOperation(
  running: string,
  name: OperationName,
  { store, clock, log }: Pick<Ports, 'store' | 'clock' | 'log'>,
): Promise<Change[] | undefined> {
  const [operation] = await store.read([key('operation', running)])
  if (operation?.data.status !== 'running') return undefined
  const { data } = operation
  if (!isOperationWaiting(data) || !waitingSteps[data.name]?.replaceableBy.includes(name)) return undefined
  log.info('an operation was replaced', { operation: running, name: data.name, step: data.step, to: name })
  const { code, message: text } = operationReplacedError(name)
  const ended: OperationState = { ...data, status: 'failed', fault: { code, text }, changedAt: clock.now() }
  const removals = data.name === 'activation' ? [removeItem(key('pending-link'))] : []
  return [replaceItem(operation, operation, ended), ...removals]
}
