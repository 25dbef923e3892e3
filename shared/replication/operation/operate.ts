import type { Call } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { OperationState } from '../../model/operation.ts'
import type { Ports } from '../../ports.ts'
import { create, remove, replace } from '../../storage/changes.ts'
import { type Item, type Key, key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { isWaiting, makingWay } from './giving-way.ts'
import { operationRuns, roleChanging } from './refusals.ts'
import { runWorkflow, waitingExecution } from './waiting.ts'

const OPERATION_LOOK_MS = 250

/** An operation that is about to begin: fields of it are encrypted for its place. */
export interface Operating {
  id: string
  place: Key<'operation'>
}

/** A new operation. Nothing is stored yet. */
export function newOperation({ entropy }: Pick<Ports, 'entropy'>): Operating {
  const id = entropy.uuid()
  return { id, place: key('operation', id) }
}

/**
 * Begins an operation: stores it in one commit with the record, which names it until it has ended, and then starts its
 * workflow: an execution that was started by hand and waits, or a new one. If that fails now, it is started within a
 * minute. It replaces an operation that waits for another cluster.
 * @param record as it was read; other changes of it may go along
 * @param waiting the execution that is adopted
 * @throws ApiError `busy` when another change of the role is under way
 */
export async function beginOperation(
  { id, place }: Operating,
  record: Item<'cluster'>,
  { name, step, ...input }: Pick<OperationState, 'name' | 'step'> & Partial<OperationState>,
  call: Pick<Call, 'ports' | 'now' | 'cluster'>,
  waiting?: Item<'waiting'>,
): Promise<void> {
  const { ports, now } = call
  const running = record.data.operation
  const ends = running === undefined ? [] : await makingWay(running, name, ports)
  if (!ends) throw roleChanging()
  const state: OperationState = { name, status: 'running', step, startedAt: now, changedAt: now, ...input }
  const data: ClusterRecord = { ...record.data, operation: id }
  const adopted = waiting ?? (await waitingExecution(name, ports))
  const changes = [
    create(place, state),
    replace(record, record, data),
    ...ends,
    ...(adopted ? [remove(adopted)] : []),
  ]
  const begun = await ports.store.commit(changes, call.cluster)
  if (begun !== 'done') throw roleChanging()
  await runWorkflow(name, id, adopted, ports)
}

/**
 * Waits until an operation has come far enough.
 * @param enough what the caller waits for; default: its end
 * @returns the operation, which may have failed
 * @throws ApiError `busy` when that takes too long: the operation goes on by itself
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
      throw operationRuns(name, id, step, { position, waits: isWaiting({ name, step }) })
    await clock.sleep(OPERATION_LOOK_MS)
  }
}
