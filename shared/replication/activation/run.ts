import type { OperationState } from '../../model/operation.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { type Change, replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import type { Connect } from '../secondary/connect.ts'

/** What a step of an activation may reach. */
export interface ActivationRun {
  ports: Pick<
    Ports,
    | 'store'
    | 'journal'
    | 'cipher'
    | 'genesis'
    | 'clock'
    | 'entropy'
    | 'log'
    | 'audit'
    | 'deployment'
    | 'puller'
  >
  connect: Connect
  /** epoch milliseconds at which this Lambda has to stop */
  deadline: number
}

/** Whether the next step follows, or the same one is done again. */
export interface ActivationResult {
  next: 'done' | 'again'
}

export const DONE: ActivationResult = { next: 'done' }
export const AGAIN: ActivationResult = { next: 'again' }

/** Trying again would come to the same. */
export class OperationFailed extends Error {
  override readonly name = 'OperationFailed'
  readonly code: 'invalid_request' | 'internal'
  constructor(code: OperationFailed['code'], text: string, options?: ErrorOptions) {
    super(text, options)
    this.code = code
  }
}

/** An operation and the cluster record as they are now. */
export interface ActivationStand {
  operation: Item<'operation'>
  record: Item<'cluster'>
  cluster: ClusterRead
}

/** @throws OperationFailed where there is no such operation, or another one is under way */
export async function standing({ ports }: ActivationRun, id: string): Promise<ActivationStand> {
  const readAt = ports.clock.now()
  const [operation, record] = await ports.store.read([key('operation', id), key('cluster')])
  if (!operation || !record) throw new OperationFailed('internal', 'there is no such operation')
  return { operation, record, cluster: { record: record.data, readAt } }
}

/** The operation, gone on to a step. */
export const toStep = (
  { operation }: Pick<ActivationStand, 'operation'>,
  now: number,
  change: Partial<OperationState>,
): Change => replace(operation, operation, { ...operation.data, ...change, changedAt: now })

/** Commits, or says that something was changed meanwhile: then the step is done again. */
export async function commitStep(
  { ports }: ActivationRun,
  changes: readonly Change[],
  { cluster }: ActivationStand,
): Promise<ActivationResult> {
  return (await ports.store.commit(changes, cluster)) === 'done' ? DONE : AGAIN
}
