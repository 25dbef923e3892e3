import { writeReplicationEvent } from '../../journal/events.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { RevokedCluster, Secondary } from '../../model/link.ts'
import type { Ports } from '../../ports.ts'
import { type Change, replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'

/**
 * Reports whether a secondary was admitted in the present epoch of this cluster. When a cluster becomes primary
 * again, earlier secondaries need a new token. Until the cluster joins another primary, statements by the keys of
 * these secondaries still count for fences.
 * @param record the record of this cluster; its epoch is the one that the cluster writes, or wrote last
 */
export const isSecondaryOfCurrentEpoch = (
  { epoch }: Pick<Secondary, 'epoch'>,
  record: Pick<ClusterRecord, 'epoch'>,
) => epoch === record.epoch

/**
 * Returns the secondaries whose tokens are not revoked (used or not, expired or not), in the order in which the
 * tokens were made.
 */
export const listSecondaries = (
  items: readonly Item<'secondary'>[],
  record: Pick<ClusterRecord, 'epoch'>,
): Secondary[] =>
  items
    .map(({ data }) => data)
    .filter(one => one.revokedAt === undefined && isSecondaryOfCurrentEpoch(one, record))
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))

/** The target of a revocation: an admission, a cluster with every key that it has on this cluster, or both. */
export interface ClusterRevocation {
  /** the stored item of an admission */
  admission?: Item<'secondary'> | undefined
  /** UUID */
  cluster?: string | undefined
  /** name of the cluster; empty: unknown */
  name: string
}

/** The items that a revocation changes. */
export interface RevocationItems {
  secondaries: readonly Item<'secondary'>[]
  holders: readonly Item<'holder'>[]
}

/**
 * Returns the changes that revoke an admission, and the cluster with every key that it has on this cluster under
 * any name. The holder item replicates, so the whole set learns of the revocation.
 * @param at epoch milliseconds
 * @param as this cluster; the revocation stores its epoch
 */
export function makeRevocationChanges(
  { admission, cluster, name }: ClusterRevocation,
  { secondaries, holders }: RevocationItems,
  { at, as }: { at: number; as: Pick<ClusterRecord, 'epoch'> },
): Change[] {
  const fallen = secondaries.filter(
    one => one.sk === admission?.sk || (cluster !== undefined && one.data.cluster === cluster),
  )
  const held = holders.find(({ sk }) => sk === cluster)
  return [
    ...fallen
      .filter(({ data }) => data.revokedAt === undefined)
      .map(one => replaceItem(one, one, { ...one.data, revokedAt: at })),
    ...(cluster === undefined
      ? []
      : [revokedHolder(cluster, held, name || (fallen[0]?.data.id ?? ''), { at, epoch: as.epoch ?? '' })]),
  ]
}

/**
 * The terms of a revoked cluster are unknown until the next rotation records them. Until the next rotation the
 * revoked cluster may have been given any term.
 */
const revokedHolder = (
  cluster: string,
  before: Item<'holder'> | undefined,
  name: string,
  revoked: RevokedCluster,
): Change => replaceItem(key('holder', cluster), before, { name, at: revoked.at, ...before?.data, revoked })

/**
 * Writes a revocation to the audit log.
 * @param request id of the request that revokes
 */
export const auditRevocation = (
  { cluster, name }: ClusterRevocation,
  request: string,
  record: Pick<ClusterRecord, 'id' | 'set' | 'epoch'>,
  ports: Pick<Ports, 'audit' | 'clock'>,
): Promise<void> =>
  writeReplicationEvent(
    'revocation',
    request,
    record,
    defined({ id: name || cluster, secondary: cluster }),
    ports,
  )

/**
 * Returns the admission under a name that a new activation token replaces; undefined: the name has no admission, or
 * the admission was revoked.
 */
export function findReplacedAdmission(
  admission: Item<'secondary'> | undefined,
): ClusterRevocation | undefined {
  if (!admission || admission.data.revokedAt !== undefined) return undefined
  const { cluster, id } = admission.data
  return { admission, cluster, name: id }
}
