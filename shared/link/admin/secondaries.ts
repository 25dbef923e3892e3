import type { ClusterRecord } from '../../model/cluster.ts'
import type { Revoked, Secondary } from '../../model/link.ts'
import { type Change, replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'

/**
 * Whether a secondary was admitted in the present epoch of this cluster. When a cluster becomes primary again, earlier
 * secondaries need another token; until it joins another primary, statements by their keys still count for fences.
 * @param record of this cluster; its epoch is the one that it writes, or wrote last
 */
export const isOfThisEpoch = ({ epoch }: Pick<Secondary, 'epoch'>, record: Pick<ClusterRecord, 'epoch'>) =>
  epoch === undefined || epoch === record.epoch

/** Secondaries whose tokens are not revoked, used or not, expired or not, in the order in which they were made. */
export const secondariesOf = (
  items: readonly Item<'secondary'>[],
  record: Pick<ClusterRecord, 'epoch'>,
): Secondary[] =>
  items
    .map(({ data }) => data)
    .filter(one => one.revokedAt === undefined && isOfThisEpoch(one, record))
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))

/**
 * Revokes a secondary: the cluster that activated with the token of this name, with every key that it has here under any
 * name. A cluster that is known by its UUID only is revoked by that. Nothing changes for a cluster that is revoked already
 * or unknown. The set learns of it, because the item of the holder replicates.
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

/** The next rotation notes which terms it has; until that has begun, it may have been given any. */
const revokedHolder = (
  cluster: string,
  before: Item<'holder'> | undefined,
  name: string,
  revoked: Revoked,
): Change => replace(key('holder', cluster), before, { name, at: revoked.at, ...before?.data, revoked })

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
