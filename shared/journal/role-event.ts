import type { ClusterRecord } from '../model/cluster.ts'
import type { RoleEvent } from '../model/operation.ts'
import { type Change, create } from '../storage/changes.ts'
import { type Key, key } from '../storage/kinds.ts'

/** A change of a cluster's role. */
interface RoleChanged {
  /** the cluster record before and after */
  from: ClusterRecord
  to: ClusterRecord
  /** the last position before the change, as text; empty: there is none */
  position: string
  /** id of the role change, or of the request */
  operation: string
  /** how many positions are known to be lost by it; null: unknown */
  lost: number | null
}

/**
 * The item of a role change that the event bus is still to be told. It is stored in the transaction that changes the role,
 * so the bus is told at least once.
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

/** The same item as a change of a commit. */
export const makeRoleEventChange = (changed: RoleChanged, now: number): Change => {
  const { place, data } = makeRoleEvent(changed, now)
  return create(place, data)
}
