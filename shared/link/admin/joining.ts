import type { SetMembership } from '../../model/link.ts'
import type { ItemStore } from '../../ports.ts'
import { type Change, putItem, removeItem, replaceItem } from '../../storage/changes.ts'
import { type Item, itemPartitions, key } from '../../storage/kinds.ts'
import { addAdmissionToMembership, mergeMemberAddresses, type NewAdmission } from '../membership.ts'

/** The maximum number of secondaries that one commit removes in addition to its other changes. */
const MOST = 60

/**
 * Returns the changes that remove all clusters that this cluster has admitted and met. A cluster uses these changes
 * when its set ends, or when it leaves the set.
 */
export async function removeOtherMembers(store: Pick<ItemStore, 'list'>): Promise<Change[]> {
  const [secondaries, members] = await Promise.all([
    store.list(itemPartitions('secondary')),
    store.list(itemPartitions('member')),
  ])
  return [...secondaries, ...members].map(one => removeItem(one))
}

/**
 * Returns the changes that store a newly admitted cluster's knowledge of its set, to be committed together with the
 * link. The cluster's own earlier admissions no longer count, even if their items remain, because their epochs are
 * before the epoch of the admission.
 * @param self UUID of this cluster
 * @param before membership of this cluster; absent: the cluster comes from another set, or from no set
 */
export async function makeAdmissionChanges(
  store: Pick<ItemStore, 'list' | 'read'>,
  self: string,
  before: Item<'member'> | undefined,
  admission: NewAdmission,
): Promise<Change[]> {
  const { primaryKey, statement, addresses } = admission
  const primary = key('member', statement.issuer)
  const [[known], secondaries] = await Promise.all([
    store.read([primary]),
    store.list(itemPartitions('secondary')),
  ])
  const met: SetMembership = {
    statements: [],
    ...known?.data,
    addresses: mergeMemberAddresses(known?.data.addresses ?? [], addresses.slice(0, 1)),
    key: primaryKey,
  }
  const place = key('member', self)
  const mine = addAdmissionToMembership(before?.data, admission)
  return [
    before ? replaceItem(place, before, mine) : putItem(place, mine),
    putItem(primary, met),
    ...secondaries.slice(0, MOST).map(one => removeItem(one)),
  ]
}
