import type { ClusterRecord } from '../../model/cluster.ts'
import type { Revoked, Secondary } from '../../model/link.ts'
import { type Change, replace } from '../../storage/changes.ts'
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
 * before, or is not known, is left as it is. The set learns of it: the cluster's holder replicates.
 * @param all secondaries, as they stand
 * @param holders as they stand
 * @param id name of a token, or UUID of a cluster
 * @param as epoch of this cluster's own
 */
export function revocation(
  all: readonly Item<'secondary'>[],
  holders: readonly Item<'holder'>[],
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
      : [
          revokedHolder(
            cluster,
            holders.find(({ sk }) => sk === cluster),
            fallen[0]?.data.id ?? '',
            defined({ at: now, epoch: as.epoch }),
          ),
        ]),
  ]
}

/** Which terms it has is noted by the next rotation: until that has begun, it may have been given any. */
const revokedHolder = (
  cluster: string,
  before: Item<'holder'> | undefined,
  name: string,
  revoked: Revoked,
): Change => replace(key('holder', cluster), before, { name, at: revoked.at, ...before?.data, revoked })

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
