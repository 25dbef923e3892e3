import { ApiError } from '../../api/errors.ts'
import { isAuthMethodMount } from '../../model/mount.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { type Change, replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { instanceKey } from '../../tokens/instance-mark.ts'
import { CONFLICT_RESULT, ok } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import { chooseEventFate, type EndedInstance, readInstanceEvent } from './event.ts'

/**
 * Seconds for which the record of an ended instance lasts at least: longer than any token of AWS can log in, because
 * such a login does not ask EC2.
 */
const ENDED_SECONDS = 3600 + 2 * 300 + 60

/** Returns the change that ends an instance. Its tokens are dead from the commit on. */
export const endInstance = (record: Item<'instance'>, now: number): Change =>
  replaceItem(
    record,
    record,
    { ...record.data, endedAt: now },
    { expires: Math.max(record.expires ?? 0, Math.ceil(now / 1000) + ENDED_SECONDS) },
  )

/**
 * Returns the handler of `on-instance-event`. The handler stores the end of an instance in each mount that has a record of
 * the instance. Lambda repeats a failed run.
 */
export const createInstanceEventHandler =
  (ports: Ports) =>
  async (event: unknown): Promise<void> => {
    const ended = readInstanceEvent(event)
    if (!ended.ok) {
      const text =
        ended.fault === 'other-account'
          ? 'an event names an instance of another account than its sender'
          : 'an event is not about the end of an instance'
      ports.log.error(text, { event })
      return
    }
    const readAt = ports.clock.now()
    const [cluster, table] = await ports.store.read([key('cluster'), key('mounts')])
    const fate = chooseEventFate(cluster?.data, ports.deployment)
    if (fate === 'repeat') throw new ApiError('busy', 'this cluster is changing its role', { retryAfter: 60 })
    if (fate === 'drop' || !cluster) return
    const mounts = (table?.data.mounts ?? []).filter(isAuthMethodMount).map(({ accessor }) => accessor)
    const mountCount = await endInMounts(ports, { record: cluster.data, readAt }, mounts, ended.value)
    ports.log.info('an instance has ended', { ...ended.value, mounts: mountCount })
  }

const TRIES = 5

/** @returns the number of mounts in which the instance has logged in */
async function endInMounts(
  ports: Pick<Ports, 'store' | 'clock'>,
  cluster: ClusterRead,
  mounts: readonly string[],
  ended: EndedInstance,
): Promise<number> {
  const read = await ports.store.read(mounts.map(mount => instanceKey({ mount, ...ended })))
  const records = read.filter(record => record !== undefined)
  for (const record of records) await endRecord(ports, cluster, record)
  return records.length
}

async function endRecord(
  { store, clock }: Pick<Ports, 'store' | 'clock'>,
  cluster: ClusterRead,
  first: Item<'instance'>,
): Promise<void> {
  let record: Item<'instance'> | undefined = first
  const pause = async () => {
    ;[record] = await store.read([first])
  }
  const written = await retryOnConflict({ tries: TRIES, pause }, async () => {
    if (!record || record.data.endedAt !== undefined) return ok()
    const outcome = await store.commit([endInstance(record, clock.now())], cluster)
    return outcome === 'done' ? ok() : CONFLICT_RESULT
  })
  if (!written.ok) throw new ApiError('busy', 'the record of an instance changes too often')
}
