import { alarmingTexts } from '../api/alarming.ts'
import type { Ports } from '../ports.ts'
import { removeItemUnlessChanged } from '../storage/changes.ts'
import { itemPartitions, key } from '../storage/kinds.ts'
import { formatTime } from '../values/time.ts'

/** The detail type of role changes on the event bus. */
const DETAIL_TYPE = 'DR role changed'

/**
 * Sends unsent role changes to the event bus, and logs them for operators. If the process dies before it deletes
 * the items of the role changes, the next run sends these role changes again.
 */
export async function sendRoleEvents({
  store,
  events,
  clock,
  log,
}: Pick<Ports, 'store' | 'events' | 'clock' | 'log'>): Promise<void> {
  const waiting = await store.list(itemPartitions('role-event'))
  if (waiting.length === 0) return
  for (const { data } of waiting) log.warn(alarmingTexts.role, { ...data.detail })
  await events.put(
    waiting.map(({ data: { at, detail } }) => ({
      type: DETAIL_TYPE,
      time: formatTime(at),
      detail: { ...detail },
    })),
  )
  const readAt = clock.now()
  const [record] = await store.read([key('cluster')])
  if (record) await store.commit(waiting.map(removeItemUnlessChanged), { record: record.data, readAt })
}
