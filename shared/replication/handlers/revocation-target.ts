import { formatTermRecipient, listTermRecipients } from '../../link/admin/holders.ts'
import type { ClusterRevocation, RevocationItems } from '../../link/admin/secondaries.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { ItemStore } from '../../ports.ts'
import { type Item, itemPartitions } from '../../storage/kinds.ts'
import {
  ambiguousRevocationError,
  noClusterToRevokeError,
  selfRevocationError,
} from '../operation/refusals.ts'

/** The clusters of the set as this cluster knows them. */
export interface KnownClusters extends RevocationItems {
  record: Pick<ClusterRecord, 'id' | 'name'>
  terms: readonly Item<'term'>[]
  /** `members`: clusters of which only an address is known have no other item */
  members: readonly Item<'member'>[]
}

/** The admission or cluster that `revoke-secondary` revokes. */
export type RevocationTarget =
  | { is: 'live'; revoking: ClusterRevocation; namesakes: readonly string[] }
  /** `at`: time of the first revocation, epoch milliseconds */
  | { is: 'revoked'; cluster: string | undefined; at: number }

export async function readKnownClusters(
  record: KnownClusters['record'],
  store: Pick<ItemStore, 'list'>,
): Promise<KnownClusters> {
  const [secondaries, holders, terms, members] = await Promise.all([
    store.list(itemPartitions('secondary')),
    store.list(itemPartitions('holder')),
    store.list(itemPartitions('term')),
    store.list(itemPartitions('member')),
  ])
  return { record, secondaries, holders, terms, members }
}

/**
 * Finds the admission or the cluster that an operator wants to revoke. A name matches an admission of this cluster, a
 * cluster's own name, or the name under which the set admitted it last. An id matches regardless of case.
 * @param nameOrId name or id in the request
 * @param force allows a cluster id that this cluster does not know
 * @throws ApiError if no cluster matches, several clusters match, or this cluster itself matches
 */
export function findRevocationTarget(
  nameOrId: string,
  known: KnownClusters,
  force: boolean,
): RevocationTarget {
  const { record, secondaries } = known
  const admission = secondaries.find(({ data }) => data.id === nameOrId)
  const named = clustersNamed(nameOrId, known, force).filter(id => id !== admission?.data.cluster)
  const [living, gone] = partition(named, id => revokedAt(id, known) === undefined)
  if (admission) return targetOfAdmission(nameOrId, admission, { living, self: record.id })
  const [cluster, ...more] = living
  if (cluster !== undefined) {
    if (more.length > 0) throw ambiguousRevocationError(nameOrId, living.map(ofThatName))
    if (cluster === record.id) throw selfRevocationError(nameOrId)
    return { is: 'live', revoking: { cluster, name: namesOf(cluster, known)[0] ?? '' }, namesakes: [] }
  }
  const [past] = gone
  if (past === undefined) throw noClusterToRevokeError(nameOrId, holdersIn(known))
  return { is: 'revoked', cluster: past, at: revokedAt(past, known) ?? 0 }
}

/**
 * Returns the target of a revocation if the text is the name of an admission. An unused token belongs to no
 * cluster, so the handler revokes it alone, and the answer lists other clusters with the same name.
 * @param living other clusters that match the text and are not revoked
 */
function targetOfAdmission(
  nameOrId: string,
  admission: Item<'secondary'>,
  { living, self }: { living: readonly string[]; self: string },
): RevocationTarget {
  const { cluster, revokedAt: at } = admission.data
  const others = cluster === undefined ? living.filter(id => id !== self) : living
  const isUnused = cluster === undefined && at === undefined
  if (others.length > 0 && !isUnused)
    throw ambiguousRevocationError(nameOrId, [
      cluster === undefined
        ? 'an activation token that no cluster has used'
        : `${cluster} (admitted under that name)`,
      ...others.map(ofThatName),
    ])
  if (at !== undefined) return { is: 'revoked', cluster, at }
  return { is: 'live', revoking: { admission, cluster, name: nameOrId }, namesakes: others }
}

const ofThatName = (id: string): string => `${id} (the cluster with that name or id)`

/** Returns the ids of the clusters that match a text by id or name. */
function clustersNamed(nameOrId: string, known: KnownClusters, force: boolean): string[] {
  const id = nameOrId.toLowerCase()
  const byId = UUID.test(id) && (force || idsIn(known).includes(id)) ? [id] : []
  const byName = idsIn(known).filter(one => namesOf(one, known).includes(nameOrId))
  return [...new Set([...byId, ...byName])]
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Returns the ids of all clusters that have an item on this cluster, including this cluster's id. */
function idsIn({ record, secondaries, holders, terms, members }: KnownClusters): string[] {
  const ids = [
    record.id,
    ...[...holders, ...members].map(({ sk }) => sk),
    ...secondaries.flatMap(({ data }) => [
      data.cluster,
      ...(data.previousClusters ?? []).map(one => one.cluster),
    ]),
    ...terms.flatMap(({ data }) => data.signers.map(one => one.cluster)),
  ]
  return [...new Set(ids.filter(id => id !== undefined && id !== ''))] as string[]
}

/** Returns the names of a cluster: its own name, if it has been primary, and the name of its last admission. */
function namesOf(id: string, { record, holders, terms }: KnownClusters): string[] {
  const signers = terms.flatMap(({ data }) => data.signers)
  return [
    ...(id === record.id ? [record.name] : []),
    ...holders.filter(({ sk }) => sk === id).map(({ data }) => data.name),
    ...signers.filter(({ cluster }) => cluster === id).map(({ name = '' }) => name),
  ].filter(name => name !== '')
}

const revokedAt = (id: string, { holders }: KnownClusters): number | undefined =>
  holders.find(({ sk }) => sk === id)?.data.revoked?.at

/** Describes the clusters that hold keys of the set and are not revoked. */
function holdersIn({ record, terms, holders }: KnownClusters): string[] {
  const ids = terms.map(({ sk }) => sk)
  return listTermRecipients(ids, { self: record.id, terms, holders })
    .filter(({ revoked }) => !revoked)
    .map(formatTermRecipient)
}

const partition = <T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] => [
  all.filter(isFirst),
  all.filter(one => !isFirst(one)),
]
