import type { ClusterRecord } from '../model/cluster.ts'
import type { RoleEvent } from '../model/operation.ts'
import { type Change, createItem } from '../storage/changes.ts'
import { type Key, key } from '../storage/kinds.ts'

/** A change of a cluster's role. */
interface RoleChanged {
  /** the cluster record before and after the change */
  from: ClusterRecord
  to: ClusterRecord
  /** `position` is the last position before the change, as text; empty if the journal had no position */
  position: string
  /** id of the role change, or of the request */
  operation: string
  /** how many positions the change is known to lose; null: unknown */
  lost: number | null
}

/**
 * Returns the item that makes a worker send a role change to the event bus. The item is stored in the transaction
 * that changes the role, so the event is sent at least once.
 * @param now epoch milliseconds
 */
export function makeRoleEvent(
  { from, to, position, operation, lost }: RoleChanged,
  now: number,
): { place: Key<'role-event'>; data: RoleEvent } {
  const detail = {
    cluster: to.id,
    set: to.set ?? from.set ?? '',
    from: from.mode,
    to: to.mode,
    epoch: to.epoch ?? from.epoch ?? '',
    position,
    operation,
    lost,
  }
  return { place: key('role-event', `${operation} ${to.mode}`), data: { at: now, detail } }
}

/** Returns that item as a change of a commit. */
export const makeRoleEventChange = (changed: RoleChanged, now: number): Change => {
  const { place, data } = makeRoleEvent(changed, now)
  return createItem(place, data)
}
