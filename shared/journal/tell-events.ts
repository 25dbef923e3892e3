import type { Ports } from '../ports.ts'
import { removeIfUnchanged } from '../storage/changes.ts'
import { key, partitions } from '../storage/kinds.ts'
import { printTime } from '../values/time.ts'

/** The detail type of role changes on the event bus. */
const DETAIL_TYPE = 'DR role changed'

/**
 * Tells the event bus of role changes that it does not know yet. If the process dies before it notes that, the bus is told
 * again.
 */
export async function tellRoleEvents({
  store,
  events,
  clock,
}: Pick<Ports, 'store' | 'events' | 'clock'>): Promise<void> {
  const waiting = await store.list(partitions('role-event'))
  if (waiting.length === 0) return
  await events.put(
    waiting.map(({ data: { at, detail } }) => ({
      type: DETAIL_TYPE,
      time: printTime(at),
      detail: { ...detail },
    })),
  )
  const readAt = clock.now()
  const [record] = await store.read([key('cluster')])
  if (record) await store.commit(waiting.map(removeIfUnchanged), { record: record.data, readAt })
}
