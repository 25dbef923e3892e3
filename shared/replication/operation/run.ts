import type { ClusterRecord } from '../../model/cluster.ts'
import type { OperationFault, OperationState } from '../../model/operation.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { type Change, replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import type { ConnectToPeer } from '../secondary/connect.ts'
import { operationEndedError, unknownOperationError } from './faults.ts'

/** The dependencies of an operation's steps. */
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
  connect: ConnectToPeer
  /** epoch milliseconds at which this Lambda must stop */
  deadline: number
}

/** `done`: the operation's next step follows. `again`: the state machine repeats the step. */
export interface OperationStepResult {
  next: 'done' | 'again'
}

export const STEP_DONE: OperationStepResult = { next: 'done' }
export const STEP_AGAIN: OperationStepResult = { next: 'again' }

/**
 * A step of an operation. A step may be repeated, may run several times concurrently, and may be interrupted at any
 * point.
 */
export type OperationStep = (run: OperationRun, operation: string) => Promise<OperationStepResult>

/** Handles the failure of a step: marks the operation as failed, and allows another operation to begin. */
export type OperationEnd = (
  run: OperationRun,
  operation: string,
  fault: OperationFault,
) => Promise<OperationStepResult>

/** An operation and the cluster record, both just read. */
export interface OperationSnapshot {
  operation: Item<'operation'>
  record: Item<'cluster'>
  cluster: ClusterRead
}

/**
 * Reads an operation and the cluster record. @throws OperationFailed if the operation does not exist, or has ended
 * although the record still contains its id
 */
export async function readOperation(run: OperationRun, id: string): Promise<OperationSnapshot> {
  const snapshot = await readEndingOperation(run, id)
  const { operation, record } = snapshot
  if (operation.data.status !== 'running' && record.data.operation === id) throw operationEndedError()
  return snapshot
}

/** Reads an operation in order to end it. @throws OperationFailed if the operation does not exist */
export async function readEndingOperation({ ports }: OperationRun, id: string): Promise<OperationSnapshot> {
  const readAt = ports.clock.now()
  const [operation, record] = await ports.store.read([key('operation', id), key('cluster')])
  if (!operation || !record) throw unknownOperationError()
  return { operation, record, cluster: { record: record.data, readAt } }
}

/** Returns the change that moves the operation to another step. */
export const moveOperationToStep = (
  { operation }: Pick<OperationSnapshot, 'operation'>,
  now: number,
  change: Partial<OperationState>,
): Change => {
  const { waitsUntil: _, ...state } = operation.data
  return replaceItem(operation, operation, { ...state, ...change, changedAt: now })
}

/**
 * Commits a change of the operation's state together with other changes. Returns `STEP_AGAIN` if an item has changed meanwhile, so
 * that the step is repeated.
 */
export async function commitOperationStep(
  { ports }: OperationRun,
  snapshot: OperationSnapshot,
  change: Partial<OperationState>,
  others: readonly Change[] = [],
): Promise<OperationStepResult> {
  const changes = [moveOperationToStep(snapshot, ports.clock.now(), change), ...others]
  return (await ports.store.commit(changes, snapshot.cluster)) === 'done' ? STEP_DONE : STEP_AGAIN
}

/** Returns the record after an operation has succeeded. */
export function withoutOperation({
  operation: _,
  failedOperation: __,
  ...record
}: ClusterRecord): ClusterRecord {
  return record
}

/**
 * Returns the record after an operation has failed. Status shows the failure of an operation until another
 * operation succeeds.
 */
export const withFailedOperation = (record: ClusterRecord, id: string): ClusterRecord => ({
  ...withoutOperation(record),
  failedOperation: id,
})

/** Ends an operation that has succeeded, and allows another operation to begin. */
export const endOperation: OperationStep = (run, id) => endWith(run, id, { status: 'done', step: '' })

/**
 * Ends an operation that has failed, and allows another operation to begin. The steps of the failed operation leave
 * the cluster consistent.
 */
export const failOperation: OperationEnd = (run, id, fault) => endWith(run, id, { status: 'failed', fault })

async function endWith(
  run: OperationRun,
  id: string,
  change: Partial<OperationState>,
): Promise<OperationStepResult> {
  const snapshot = await readEndingOperation(run, id)
  const { operation, record } = snapshot
  const holds = record.data.operation === id
  if (operation.data.status !== 'running' && !holds) return STEP_DONE
  const after =
    change.status === 'failed' ? withFailedOperation(record.data, id) : withoutOperation(record.data)
  const free = holds ? [replaceItem(record, record, after)] : []
  // an activation token that was not used is deleted
  const { token: _, ...activation } = operation.data.activation ?? { primaryApiAddr: '' }
  const input = operation.data.activation ? { activation } : {}
  return commitOperationStep(run, snapshot, { ...input, ...change }, free)
}
