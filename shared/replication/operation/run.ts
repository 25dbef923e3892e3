import type { ClusterRecord } from '../../model/cluster.ts'
import type { OperationFault, OperationState } from '../../model/operation.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { type Change, replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import type { Connect } from '../secondary/connect.ts'
import { operationAlreadyEnded, operationUnknown } from './faults.ts'

/** What a step of an operation may reach. */
export interface OperationRun {
  ports: Pick<
    Ports,
    | 'store'
    | 'journal'
    | 'cipher'
    | 'keyFactory'
    | 'clock'
    | 'entropy'
    | 'log'
    | 'audit'
    | 'deployment'
    | 'puller'
    | 'background'
  >
  connect: Connect
  /** epoch milliseconds at which this Lambda has to stop */
  deadline: number
}

/** Whether the next step follows, or the same one is repeated. */
export interface StepResult {
  next: 'done' | 'again'
}

export const DONE: StepResult = { next: 'done' }
export const AGAIN: StepResult = { next: 'again' }

/** A step of an operation. It may be repeated, may run several times at once, and may be interrupted at any point. */
export type OperationStep = (run: OperationRun, operation: string) => Promise<StepResult>

/** Called when a step is given up: notes the operation as failed, and frees the cluster for another one. */
export type OperationEnd = (
  run: OperationRun,
  operation: string,
  fault: OperationFault,
) => Promise<StepResult>

/** An operation and the cluster record as they are now. */
export interface OperationSnapshot {
  operation: Item<'operation'>
  record: Item<'cluster'>
  cluster: ClusterRead
}

/** @throws OperationFailed if there is no such operation, or if it has ended and the record still names it */
export async function readOperation(run: OperationRun, id: string): Promise<OperationSnapshot> {
  const snapshot = await readEndingOperation(run, id)
  const { operation, record } = snapshot
  if (operation.data.status !== 'running' && record.data.operation === id) throw operationAlreadyEnded()
  return snapshot
}

/** The same for the end of an operation. @throws OperationFailed if there is no such operation */
export async function readEndingOperation({ ports }: OperationRun, id: string): Promise<OperationSnapshot> {
  const readAt = ports.clock.now()
  const [operation, record] = await ports.store.read([key('operation', id), key('cluster')])
  if (!operation || !record) throw operationUnknown()
  return { operation, record, cluster: { record: record.data, readAt } }
}

/** The operation at another step. */
export const moveToStep = (
  { operation }: Pick<OperationSnapshot, 'operation'>,
  now: number,
  change: Partial<OperationState>,
): Change => {
  const { waitsUntil: _, ...state } = operation.data
  return replace(operation, operation, { ...state, ...change, changedAt: now })
}

/** Commits, or returns that something has changed meanwhile: then the step is repeated. */
export async function commitStep(
  { ports }: OperationRun,
  changes: readonly Change[],
  { cluster }: OperationSnapshot,
): Promise<StepResult> {
  return (await ports.store.commit(changes, cluster)) === 'done' ? DONE : AGAIN
}

/** The record after an operation has succeeded. */
export function withoutOperation({
  operation: _,
  failedOperation: __,
  ...record
}: ClusterRecord): ClusterRecord {
  return record
}

/** The record after an operation was given up: status says why, until another one succeeds. */
export const withFailedOperation = (record: ClusterRecord, id: string): ClusterRecord => ({
  ...withoutOperation(record),
  failedOperation: id,
})

/** Ends an operation that has succeeded, and frees the cluster for another one. */
export const endOperation: OperationStep = (run, id) => endWith(run, id, { status: 'done', step: '' })

/** Gives up the operation, and frees the cluster for another one. Its steps leave a consistent state. */
export const giveUp: OperationEnd = (run, id, fault) => endWith(run, id, { status: 'failed', fault })

async function endWith(run: OperationRun, id: string, change: Partial<OperationState>): Promise<StepResult> {
  const snapshot = await readEndingOperation(run, id)
  const { operation, record } = snapshot
  const holds = record.data.operation === id
  if (operation.data.status !== 'running' && !holds) return DONE
  const after =
    change.status === 'failed' ? withFailedOperation(record.data, id) : withoutOperation(record.data)
  const free = holds ? [replace(record, record, after)] : []
  // a token that was not used is not kept
  const { token: _, ...activation } = operation.data.activation ?? { primaryApiAddr: '' }
  const input = operation.data.activation ? { activation } : {}
  return commitStep(
    run,
    [moveToStep(snapshot, run.ports.clock.now(), { ...input, ...change }), ...free],
    snapshot,
  )
}
