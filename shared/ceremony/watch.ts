import type { AttemptEvent } from '../model/ceremony.ts'
import { toSeconds } from '../model/token.ts'
import type { Ports } from '../ports.ts'
import { replace } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { bounds } from '../values/bounds.ts'

/** The workflow of which one execution watches each attempt to make a DR operation token. */
export const ATTEMPT_WORKFLOW = 'operation-token-attempt'

/** What an execution waits for: an attempt to begin, or what becomes of one. */
type Waits = 'begin' | 'watch'

/** Seconds for which an execution is known: for as long as it waits, and some more. */
const KNOWN_SECONDS = bounds.ATTEMPT_WAIT_SECONDS + 600

type Dependencies = Pick<Ports, 'store' | 'cipher' | 'clock' | 'workflows'>

/**
 * Notes which execution waits from now on; one that waited before is told nothing any more.
 * @param nonce of the attempt that it watches; empty: it waits for one to begin
 * @param token by which Step Functions lets it go on
 */
export async function recordWatcher(nonce: string, token: string, ports: Dependencies): Promise<void> {
  const { store, cipher, clock } = ports
  const waits: Waits = nonce === '' ? 'begin' : 'watch'
  const place = key('watcher', waits)
  const readAt = clock.now()
  const [record, before] = await store.read([key('cluster'), place])
  if (!record) throw new Error('this cluster is not initialised')
  cipher.expectKeyring(record.data)
  const data = { nonce, token: await cipher.encrypt(place, 'token', token) }
  const change = replace(place, before, data, { expires: toSeconds(readAt) + KNOWN_SECONDS })
  if ((await store.commit([change], { record: record.data, readAt })) === 'conflict')
    throw new Error('another execution began to wait at the same time')
  // the attempt may have ended before this execution was noted
  const over = nonce === '' ? undefined : await endOf(nonce, ports)
  if (over) await notifyWatcher(nonce, over, ports)
}

/** How an attempt has ended; undefined while it goes on. */
async function endOf(nonce: string, { store }: Dependencies): Promise<AttemptEvent | undefined> {
  const [slot] = await store.read([key('ceremony')])
  const { attempt, last } = slot?.data ?? {}
  if (attempt?.nonce === nonce) return undefined
  return { outcome: last?.nonce === nonce ? last.outcome : 'lapsed' }
}

/**
 * Tells whoever watches an attempt what has become of it. One that begins is given to the execution that waits for
 * one, if there is any, else to a new one.
 */
export async function notifyWatcher(
  nonce: string,
  what: AttemptEvent | 'begun',
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

/** @returns whether that execution has waited still */
async function answered(
  watcher: Item<'watcher'>,
  what: Readonly<Record<string, unknown>>,
  { cipher, workflows }: Dependencies,
): Promise<boolean> {
  const token = (await cipher.decrypt(watcher, 'token', watcher.data.token)).reveal()
  return workflows.signal(token, what).catch(() => false)
}
