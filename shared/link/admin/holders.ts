import type { ClusterRecord } from '../../model/cluster.ts'
import type { RevokedCluster } from '../../model/link.ts'
import type { ItemStore } from '../../ports.ts'
import { type Change, replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { listSecondaries } from './secondaries.ts'

/**
 * Returns a change that allows an admitted cluster to fetch every term. The holder item is always written, so that a
 * concurrent rotation conflicts with the admission.
 */
export const admitTermHolder = (
  cluster: string,
  before: Item<'holder'> | undefined,
  { name, at }: { name: string; at: number },
): Change => replaceItem(key('holder', cluster), before, { name, at })

/**
 * The maximum number of holder changes in one commit. Until the next rotation, the remaining clusters count as if
 * they had been given one term more.
 */
const MOST = 40

/**
 * Returns the changes of a rotation that record which terms each revoked cluster has. A concurrent admission
 * conflicts with the changes of a rotation.
 * @param terms identities of the terms before the rotation
 * @param secondaries the stored secondaries
 */
export function recordHeldTerms(
  holders: readonly Item<'holder'>[],
  terms: readonly string[],
  secondaries: readonly Item<'secondary'>[],
  record: Pick<ClusterRecord, 'id' | 'mode' | 'epoch'>,
): Change[] {
  const following = listSecondaries(record.mode === 'primary' ? secondaries : [], record)
  const may = [record.id, ...following.flatMap(({ cluster, activatedAt }) => (activatedAt ? [cluster] : []))]
  return holders
    .filter(({ sk, data }) => data.terms === undefined && !may.includes(sk))
    .map(one => replaceItem(one, one, { ...one.data, terms }))
    .slice(0, MOST)
}

/**
 * Returns the revocation of a cluster by this cluster or by an earlier primary; undefined: the cluster was not
 * revoked, or was admitted again since.
 */
export async function readRevocation(
  cluster: string,
  { store }: { store: Pick<ItemStore, 'read'> },
): Promise<RevokedCluster | undefined> {
  const [holder] = await store.read([key('holder', cluster)])
  return holder?.data.revoked
}

/** A cluster that was given a term. */
export interface TermRecipient {
  cluster: string
  name?: string
  revoked?: true
  /** epoch milliseconds of the cluster's revocation, or else of its last admission; absent: unknown */
  at?: number
}

/** Returns a cluster's name and id, for operators. */
export const formatTermRecipient = ({ cluster, name }: TermRecipient): string =>
  name ? `${name} (${cluster})` : cluster

/** The items that show which clusters were given terms. */
export interface KnownTermHolders {
  /** UUID of this cluster, which the list omits */
  self: string
  terms: readonly Item<'term'>[]
  holders: readonly Item<'holder'>[]
}

/**
 * Returns the clusters that were given one of these terms: the terms' holders, and the primaries that signed batch
 * tokens of the terms.
 * @param ids identities of the terms
 */
export function listTermRecipients(
  ids: readonly string[],
  { self, terms, holders }: KnownTermHolders,
): TermRecipient[] {
  const noted = new Map(holders.map(one => [one.sk, one.data]))
  // A former primary that was never admitted by token is listed under its own name.
  const own = new Map(
    terms.flatMap(({ data }) => data.signers.map(({ cluster, name = '' }) => [cluster, name])),
  )
  const signers = terms
    .filter(({ sk }) => ids.includes(sk))
    .flatMap(({ data }) => data.signers.map(({ cluster }) => cluster))
  const given = holders
    .filter(({ data }) => data.terms === undefined || ids.some(id => data.terms?.includes(id)))
    .map(({ sk }) => sk)
  return [...new Set([...given, ...signers])]
    .filter(cluster => cluster !== self)
    .toSorted()
    .map(cluster => {
      const { name: last, at, revoked } = noted.get(cluster) ?? {}
      const name = last || own.get(cluster)
      return defined({
        cluster,
        name: name || undefined,
        revoked: revoked && (true as const),
        at: revoked?.at ?? at,
      })
    })
}
