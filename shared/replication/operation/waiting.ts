import type { OperationName, WaitingExecution } from '../../model/operation.ts'
import type { Ports } from '../../ports.ts'
import { put } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'

/** Milliseconds that an execution waits for an authorised request. */
export const WAITING_TTL_MS = 3_600_000

/**
 * Notes that an execution waits. The newest one of a workflow is adopted; what waited before lapses by its own time.
 * @param token by which Step Functions lets the execution go on
 */
export async function noteWaiting(
  workflow: OperationName,
  { token, options }: { token: string; options: WaitingExecution['options'] },
  { store, cipher, clock }: Pick<Ports, 'store' | 'cipher' | 'clock'>,
): Promise<void> {
  const readAt = clock.now()
  const [record] = await store.read([key('cluster')])
  if (!record) throw new Error('this cluster is not initialised')
  cipher.expect(record.data)
  const place = key('waiting', workflow)
  const sealed = await cipher.encrypt(place, 'token', token)
  const waiting: WaitingExecution = { until: readAt + WAITING_TTL_MS, token: sealed, options }
  await store.commit([put(place, waiting)], { record: record.data, readAt })
}

/** The execution that a request may adopt. */
export async function readWaitingExecution(
  workflow: OperationName,
  { store, clock }: Pick<Ports, 'store' | 'clock'>,
): Promise<Item<'waiting'> | undefined> {
  const [waiting] = await store.read([key('waiting', workflow)])
  return waiting && waiting.data.until > clock.now() ? waiting : undefined
}

/**
 * Starts the workflow of an operation, or makes a waiting execution go on.
 * @param waiting an execution that is adopted; one that has ended meanwhile is replaced by a new one
 */
export async function runWorkflow(
  workflow: OperationName,
  operation: string,
  waiting: Item<'waiting'> | undefined,
  { workflows, cipher }: Pick<Ports, 'workflows' | 'cipher'>,
): Promise<void> {
  if (waiting) {
    const signalled = async () => {
      const token = await cipher.decrypt(key('waiting', workflow), 'token', waiting.data.token)
      return workflows.signal(token.reveal(), { operation })
    }
    // one that another keyring encrypted cannot be used
    if (await signalled().catch(() => false)) return
  }
  await workflows.start(workflow, operation)
}
