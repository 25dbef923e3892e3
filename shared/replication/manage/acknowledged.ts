import { secondariesOf } from '../../link/admin/secondaries.ts'
import type { Secondary } from '../../model/link.ts'
import type { Ports } from '../../ports.ts'
import { key, partitions } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import type { Position } from '../position.ts'

/** Milliseconds without a heartbeat after which a secondary counts as cut off: nobody waits for it. */
const EVERY_MS = 500

/** Secondaries that are connected and have not said that they have all up to a position. */
export const behind = (all: readonly Secondary[], { epoch, seq }: Position, now: number): Secondary[] =>
  all.filter(
    ({ contact }) =>
      contact !== undefined &&
      now - contact.at < bounds.PEER_LOST_MS &&
      (contact.epoch !== epoch || contact.seq < seq),
  )

/**
 * Waits until every connected secondary has what has been committed here by now. What only this cluster has would be
 * lost if it were lost.
 * @param patience milliseconds
 * @returns whether they have; true where there are none
 */
export async function isAcknowledged(
  { store, journalView, clock }: Pick<Ports, 'store' | 'journalView' | 'clock'>,
  patience: number,
): Promise<boolean> {
  const [record] = await store.read([key('cluster')])
  if (record?.data.mode !== 'primary') return true
  const { head } = await journalView.look(undefined)
  if (!head) return true
  for (const end = clock.now() + patience; ; ) {
    const all = secondariesOf(await store.list(partitions('secondary')), record.data)
    if (behind(all, head, clock.now()).length === 0) return true
    if (clock.now() + EVERY_MS > end) return false
    await clock.sleep(EVERY_MS)
  }
}
