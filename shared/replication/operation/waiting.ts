import type { OperationName, WaitingExecution } from '../../model/operation.ts'
import type { Ports } from '../../ports.ts'
import { putItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'

/** Milliseconds for which an execution waits for an authorised request. */
export const WAITING_EXECUTION_TTL_MS = 3_600_000

/**
 * Stores that an execution waits for a request. A request adopts only the newest execution of a workflow; older
 * ones time out.
 * @param token with which Step Functions continues the execution
 */
export async function noteWaitingExecution(
  workflow: OperationName,
  { token, options }: { token: string; options: WaitingExecution['options'] },
  { store, cipher, clock }: Pick<Ports, 'store' | 'cipher' | 'clock'>,
): Promise<void> {
  const readAt = clock.now()
  const [record] = await store.read([key('cluster')])
  if (!record) throw new Error('this cluster is not initialised')
  cipher.expectKeyring(record.data)
  const place = key('waiting', workflow)
  const sealed = await cipher.encrypt(place, 'token', token)
  const waiting: WaitingExecution = { until: readAt + WAITING_EXECUTION_TTL_MS, token: sealed, options }
  await store.commit([putItem(place, waiting)], { record: record.data, readAt })
}

/** Returns the execution that a request may adopt. */
export async function readWaitingExecution(
  workflow: OperationName,
  { store, clock }: Pick<Ports, 'store' | 'clock'>,
): Promise<Item<'waiting'> | undefined> {
  const [waiting] = await store.read([key('waiting', workflow)])
  return waiting && waiting.data.until > clock.now() ? waiting : undefined
}

/**
 * Starts the workflow of an operation, or continues a waiting execution.
 * @param waiting the execution to adopt; if it has ended meanwhile, a new execution is started
 */
export async function startAndAwaitWorkflow(
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
    // a task token that another keyring encrypted cannot be decrypted
    if (await signalled().catch(() => false)) return
  }
  await workflows.start(workflow, operation)
}
