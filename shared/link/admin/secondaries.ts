import type { ClusterRecord } from '../../model/cluster.ts'
import type { Secondary } from '../../model/link.ts'
import { type Change, put, replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'

/**
 * Whether a secondary is one of this epoch of the cluster's own. When a cluster becomes primary anew, those of before
 * need another token; until it joins another primary, their keys may still vouch for who fences it.
 * @param record of this cluster; its epoch is the one that it writes, or wrote last
 */
export const isOfThisEpoch = ({ epoch }: Pick<Secondary, 'epoch'>, record: Pick<ClusterRecord, 'epoch'>) =>
  epoch === undefined || epoch === record.epoch

/** Those whose tokens are not revoked, used or not, expired or not, in the order in which they were made. */
export const secondariesOf = (
  items: readonly Item<'secondary'>[],
  record: Pick<ClusterRecord, 'epoch'>,
): Secondary[] =>
  items
    .map(({ data }) => data)
    .filter(one => one.revokedAt === undefined && isOfThisEpoch(one, record))
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))

/**
 * Revokes a secondary: the cluster that activated with the token of this name, with every key it has here, whatever
 * names they stand under. A cluster that is known by nothing but its own id is revoked by that. What was revoked
 * before, or is not known, is left as it is.
 * @param all secondaries, as they stand
 * @param id name of a token, or UUID of a cluster
 * @param as epoch of this cluster's own
 */
export function revocation(
  all: readonly Item<'secondary'>[],
  id: string,
  now: number,
  as: Pick<ClusterRecord, 'epoch'>,
): Change[] {
  const named = all.find(({ data }) => data.id === id && data.revokedAt === undefined)
  const cluster = named ? named.data.cluster : UUID.test(id) ? id : undefined
  const fallen = all.filter(one => one === named || (cluster !== undefined && one.data.cluster === cluster))
  return [
    ...fallen
      .filter(({ data }) => data.revokedAt === undefined)
      .map(one => replace(one, one, { ...one.data, revokedAt: now })),
    ...(cluster === undefined
      ? []
      : [put(key('revoked', cluster), { at: now, ...defined({ epoch: as.epoch }) })]),
  ]
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
