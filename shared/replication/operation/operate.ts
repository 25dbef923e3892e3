import type { Call } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { OperationState } from '../../model/operation.ts'
import type { Ports } from '../../ports.ts'
import { createItem, removeItem, replaceItem } from '../../storage/changes.ts'
import { type Item, type Key, key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { isOperationWaiting, replaceWaitingOperation } from './giving-way.ts'
import { operationRunningError, roleChangingError } from './refusals.ts'
import { readWaitingExecution, startAndAwaitWorkflow } from './waiting.ts'

const OPERATION_LOOK_MS = 250

/** An operation that is about to begin. The operation's fields are encrypted for the item's place. */
export interface OperationStart {
  id: string
  place: Key<'operation'>
}

/** Returns the id and the place of a new operation. The function stores nothing. */
export function createOperationStart({ entropy }: Pick<Ports, 'entropy'>): OperationStart {
  const id = entropy.uuid()
  return { id, place: key('operation', id) }
}

/**
 * Begins an operation. One commit stores the operation, and its id in the cluster record. After the commit the
 * operation's workflow starts: a waiting execution that an operator started by hand, or a new execution. If the
 * workflow does not start, a worker starts it within a minute. The new operation replaces an operation that waits
 * for another cluster.
 * @param record the cluster record as read, with further changes
 * @param waiting the execution that the operation adopts
 * @throws ApiError `busy` if another role change is running
 */
export async function beginOperation(
  { id, place }: OperationStart,
  record: Item<'cluster'>,
  { name, step, ...input }: Pick<OperationState, 'name' | 'step'> & Partial<OperationState>,
  call: Pick<Call, 'ports' | 'now' | 'cluster'>,
  waiting?: Item<'waiting'>,
): Promise<void> {
  const { ports, now } = call
  const running = record.data.operation
  const ends = running === undefined ? [] : await replaceWaitingOperation(running, name, ports)
  if (!ends) throw roleChangingError()
  const state: OperationState = { name, status: 'running', step, startedAt: now, changedAt: now, ...input }
  const data: ClusterRecord = { ...record.data, operation: id }
  const adopted = waiting ?? (await readWaitingExecution(name, ports))
  const changes = [
    createItem(place, state),
    replaceItem(record, record, data),
    ...ends,
    ...(adopted ? [removeItem(adopted)] : []),
  ]
  const begun = await ports.store.commit(changes, call.cluster)
  if (begun !== 'done') throw roleChangingError()
  await startAndAwaitWorkflow(name, id, adopted, ports)
}

/**
 * Waits until an operation has ended, or has come far enough.
 * @param enough reports whether the caller may stop waiting; default: at the end
 * @returns the operation, possibly failed
 */
export async function awaitOperation(
  id: string,
  { store, clock }: Pick<Ports, 'store' | 'clock'>,
  enough: (state: OperationState) => boolean = () => false,
): Promise<OperationState> {
  const end = clock.now() + bounds.OPERATION_ANSWER_MS
  for (;;) {
    const [item] = await store.read([key('operation', id)])
    if (!item) throw new ApiError('internal', `there is no operation ${id}`)
    if (item.data.status !== 'running' || enough(item.data)) return item.data
    const { name, step, position } = item.data
    if (clock.now() >= end)
      throw operationRunningError(name, id, step, { position, waits: isOperationWaiting({ name, step }) })
    await clock.sleep(OPERATION_LOOK_MS)
  }
}

const MINUTE_MS = 60_000

/**
 * Returns how many executions an operation may have had by now. If an execution ends without ending its operation,
 * another execution follows, at 1, 2, 4, 8 … minutes after the beginning.
 * @param age milliseconds since the operation began
 */
export function maxExecutionsAtAge(age: number): number {
  const minutes = Math.floor(age / MINUTE_MS)
  return minutes < 1 ? 1 : 2 + Math.floor(Math.log2(minutes))
}

/**
 * Restarts the operation that the cluster record names. The process that began the operation may have died before
 * the workflow started, or the workflow may have ended without ending the operation. While an execution runs, the
 * function does nothing.
 */
export async function maintainOperation({
  store,
  clock,
  workflows,
}: Pick<Ports, 'store' | 'clock' | 'workflows'>): Promise<void> {
  const [record] = await store.read([key('cluster')])
  const id = record?.data.operation
  if (id === undefined) return
  const [operation] = await store.read([key('operation', id)])
  if (!operation) return
  const { name, startedAt } = operation.data
  const most = maxExecutionsAtAge(clock.now() - startedAt)
  for (let before = 0; before < most; before++)
    if ((await workflows.start(name, id, before)) === 'runs') return
}
