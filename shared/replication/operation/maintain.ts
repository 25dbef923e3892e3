import type { Ports } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'

const MINUTE_MS = 60_000

/**
 * How many executions an operation may have had by now. One that ended without ending its operation is followed by
 * another, at 1, 2, 4, 8 … minutes from the beginning.
 * @param age milliseconds since the operation began
 */
export function executionsBy(age: number): number {
  const minutes = Math.floor(age / MINUTE_MS)
  return minutes < 1 ? 1 : 2 + Math.floor(Math.log2(minutes))
}

/**
 * Restarts the operation that the cluster record names: its process may have died before it started the workflow, or its
 * workflow may have ended without ending the operation. Does nothing while one of its executions runs.
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
  const most = executionsBy(clock.now() - startedAt)
  for (let before = 0; before < most; before++)
    if ((await workflows.start(name, id, before)) === 'runs') return
}
