import type { OperationName, OperationState } from '../../model/operation.ts'
import type { Ports } from '../../ports.ts'
import { type Change, remove, replace } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { operationReplaced } from './faults.ts'

interface WaitingStep {
  readonly step: string
  /** operations that may replace it */
  readonly replaceableBy: readonly OperationName[]
}

/**
 * Steps in which operations wait for another cluster, perhaps for long, and nothing here is half changed: there another
 * operation may replace them. Runs of the replaced one that are still under way commit nothing.
 */
const waitingSteps: Partial<Record<OperationName, WaitingStep>> = {
  promotion: { step: 'drain', replaceableBy: ['promotion', 'update-primary', 'disable'] },
  'update-primary': { step: 'find', replaceableBy: ['promotion', 'update-primary', 'disable'] },
  activation: { step: 'sync', replaceableBy: ['update-primary', 'disable'] },
}

/** Whether an operation waits for another cluster, so that an administrator may have another one take its place. */
export const isWaiting = ({ name, step }: Pick<OperationState, 'name' | 'step'>): boolean =>
  waitingSteps[name]?.step === step

/**
 * The changes that end the running operation, for the commit that begins another one.
 * @returns undefined if it cannot be replaced: it is changing something, and comes to its end
 */
export async function replaceWaiting(
  running: string,
  name: OperationName,
  { store, clock, log }: Pick<Ports, 'store' | 'clock' | 'log'>,
): Promise<Change[] | undefined> {
  const [operation] = await store.read([key('operation', running)])
  if (operation?.data.status !== 'running') return undefined
  const { data } = operation
  if (!isWaiting(data) || !waitingSteps[data.name]?.replaceableBy.includes(name)) return undefined
  log.info('an operation makes way', { operation: running, name: data.name, step: data.step, to: name })
  const { code, message: text } = operationReplaced(name)
  const ended: OperationState = { ...data, status: 'failed', fault: { code, text }, changedAt: clock.now() }
  const given = data.name === 'activation' ? [remove(key('pending-link'))] : []
  return [replace(operation, operation, ended), ...given]
}
