import type { CeremonyAttemptEvent } from '../model/ceremony.ts'
import { toSeconds } from '../model/token.ts'
import type { Ports } from '../ports.ts'
import { replaceItem } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { bounds } from '../values/bounds.ts'

/** The workflow that watches attempts to create a DR operation token, one execution per attempt. */
export const ATTEMPT_WORKFLOW = 'operation-token-attempt'

/** The event that an execution waits for: the start of an attempt, or its progress. */
type Waits = 'begin' | 'watch'

/** Seconds for which a waiting execution is recorded: its waiting time plus a margin. */
const KNOWN_SECONDS = bounds.ATTEMPT_WAIT_SECONDS + 600

type Dependencies = Pick<Ports, 'store' | 'cipher' | 'clock' | 'workflows'>

/**
 * Records which execution waits. An earlier waiting execution gets no more notifications.
 * @param nonce nonce of the watched attempt; empty: the execution waits for one to start
 * @param token task token that lets Step Functions continue the execution
 */
export async function recordAttemptWatcher(nonce: string, token: string, ports: Dependencies): Promise<void> {
  const { store, cipher, clock } = ports
  const waits: Waits = nonce === '' ? 'begin' : 'watch'
  const place = key('watcher', waits)
  const readAt = clock.now()
  const [record, before] = await store.read([key('cluster'), place])
  if (!record) throw new Error('this cluster is not initialised')
  cipher.expectKeyring(record.data)
  const data = { nonce, token: await cipher.encrypt(place, 'token', token) }
  const change = replaceItem(place, before, data, { expires: toSeconds(readAt) + KNOWN_SECONDS })
  if ((await store.commit([change], { record: record.data, readAt })) === 'conflict')
    throw new Error('another execution of this workflow began to wait at the same time')
  // the attempt may have ended before this execution was recorded
  const over = nonce === '' ? undefined : await endOf(nonce, ports)
  if (over) await notifyAttemptWatcher(nonce, over, ports)
}

/** Returns how an attempt ended; undefined while it is running. */
async function endOf(nonce: string, { store }: Dependencies): Promise<CeremonyAttemptEvent | undefined> {
  const [slot] = await store.read([key('ceremony')])
  const { attempt, last } = slot?.data ?? {}
  if (attempt?.nonce === nonce) return undefined
  return { outcome: last?.nonce === nonce ? last.outcome : 'lapsed' }
}

/** Notifies the execution that watches an attempt. A new attempt continues the execution that waits for one, or starts a new execution. */
export async function notifyAttemptWatcher(
  nonce: string,
  what: CeremonyAttemptEvent | 'begun',
  ports: Dependencies,
): Promise<void> {
  if (what !== 'begun') {
    const [watcher] = await ports.store.read([key('watcher', 'watch')])
    if (watcher?.data.nonce === nonce) await answered(watcher, what, ports)
    return
  }
  const [waiting] = await ports.store.read([key('watcher', 'begin')])
  if (waiting && (await answered(waiting, { operation: nonce }, ports))) return
  await ports.workflows.start(ATTEMPT_WORKFLOW, nonce)
}

/** Continues an execution. @returns whether it was still waiting */
async function answered(
  watcher: Item<'watcher'>,
  what: Readonly<Record<string, unknown>>,
  { cipher, workflows }: Dependencies,
): Promise<boolean> {
  const token = (await cipher.decrypt(watcher, 'token', watcher.data.token)).reveal()
  return workflows.signal(token, what).catch(() => false)
}
