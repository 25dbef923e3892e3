import type { JobResult, JobRun } from '../../jobs/job.ts'
import type { Ports, ProviderSettings } from '../../ports.ts'
import { awaitAllAcknowledged } from '../../replication/status/acknowledged.ts'
import { type Change, replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { ok, PENDING_RESULT } from '../../values/result.ts'
import { pollWhilePending } from '../../values/retrying.ts'
import { buildProviderSettings } from '../config/accounts.ts'

/** The state of a rotation's old key. */
export type RotationResult =
  | { state: 'finished'; change: Change }
  /** AWS does not accept the new key yet, so the old key stays as a fallback */
  | { state: 'unverified' }
  /** the old key could not be deleted, or a secondary does not have the new key yet */
  | { state: 'left'; accessKey: string }

const NEW_KEY_PAUSE_MS = 1000

/**
 * Ends a rotation whose new key is stored: waits until AWS accepts the new key and all connected secondaries have it, then deletes
 * the old key. At any time, the configuration of every cluster holds a working key.
 *
 * @param patience milliseconds to wait for the new key
 */
export async function finishRotation(
  config: Item<'client-config'>,
  userName: string,
  ports: Ports,
  patience: number,
): Promise<RotationResult> {
  const settings = await buildProviderSettings(config, ports.cipher)
  if (!(await becomesValid(settings, ports, patience))) return { state: 'unverified' }
  const { previousAccessKey: old = '', previousSecretKey: _, ...clean } = config.data
  if (!(await awaitAllAcknowledged(ports, Math.min(patience, bounds.HEARTBEAT_MS))))
    return { state: 'left', accessKey: old }
  try {
    const known = await ports.accessKeys
      .list(settings, userName, deadlineIn(ports, DELETE_KEY_TIMEOUT_MS))
      .catch(() => undefined)
    const there = known?.some(one => one.accessKey === old) ?? true
    if (there)
      await ports.accessKeys.delete(settings, userName, old, deadlineIn(ports, DELETE_KEY_TIMEOUT_MS))
  } catch {
    return { state: 'left', accessKey: old }
  }
  return { state: 'finished', change: replaceItem(config, config, clean) }
}

const DELETE_KEY_TIMEOUT_MS = 5000
const deadlineIn = ({ clock }: Ports, ms: number): number => clock.now() + ms

async function becomesValid(settings: ProviderSettings, ports: Ports, patience: number): Promise<boolean> {
  const until = ports.clock.now() + patience
  const seen = await pollWhilePending(
    ports.clock,
    { everyMs: NEW_KEY_PAUSE_MS, until: until - NEW_KEY_PAUSE_MS },
    async () => ((await ports.accessKeys.works(settings, until)) ? ok() : PENDING_RESULT),
  )
  return seen.ok
}

const DROP_KEY_TIMEOUT_MS = 15_000

/** Ends a rotation that could not delete its old key. The hourly run starts this job for each mount with an old key. */
export async function deleteOldAccessKey(run: JobRun, { mount }: { mount: string }): Promise<JobResult> {
  const { store, cipher, accessKeys, clock } = run.ports
  const [config] = await store.read([key('client-config', mount)])
  const cluster = await run.cluster()
  if (!config?.data.previousSecretKey || !cluster) return 'done'
  const { userName } = await accessKeys.owner(
    await buildProviderSettings(config, cipher),
    clock.now() + DROP_KEY_TIMEOUT_MS,
  )
  const finish =
    userName === undefined
      ? undefined
      : await finishRotation(config, userName, run.ports, DROP_KEY_TIMEOUT_MS)
  if (finish?.state === 'finished') await store.commit([finish.change], cluster)
  return 'done'
}
