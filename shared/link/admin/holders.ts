import type { ClusterRecord } from '../../model/cluster.ts'
import type { Revoked } from '../../model/link.ts'
import type { Store } from '../../ports.ts'
import { type Change, replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { listSecondaries } from './secondaries.ts'

/**
 * Notes that an admitted cluster may fetch every term from now on. It is written whatever the item was, so that a
 * concurrent rotation conflicts with it.
 */
export const admitHolder = (
  cluster: string,
  before: Item<'holder'> | undefined,
  { name, at }: { name: string; at: number },
): Change => replace(key('holder', cluster), before, { name, at })

/** How many such changes one commit takes. The other clusters count as given one term more until the next rotation. */
const MOST = 40

/**
 * Changes that go with a new term: they note that revoked clusters have the earlier terms only. An admission at the same
 * moment conflicts with them.
 * @param terms identities of those that there were before
 * @param secondaries as they stand
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
    .map(one => replace(one, one, { ...one.data, terms }))
    .slice(0, MOST)
}

/** When a cluster was revoked, by this cluster or by an earlier primary; undefined: it was not, or was admitted since. */
export async function readRevocation(
  cluster: string,
  { store }: { store: Pick<Store, 'read'> },
): Promise<Revoked | undefined> {
  const [holder] = await store.read([key('holder', cluster)])
  return holder?.data.revoked
}

/** A cluster that was given a term. */
export interface TermRecipient {
  cluster: string
  name?: string
  revoked?: true
  /** when it was revoked, or else admitted last, epoch milliseconds; absent: not known */
  at?: number
}

/** @returns name and id, for operators */
export const formatCluster = ({ cluster, name }: TermRecipient): string =>
  name ? `${name} (${cluster})` : cluster

/** What is known of clusters that were given terms. */
export interface KnownHolders {
  /** UUID of this cluster, which is not named */
  self: string
  terms: readonly Item<'term'>[]
  holders: readonly Item<'holder'>[]
}

/**
 * Returns the clusters that were given one of these terms: its holders, and those that signed its batch tokens as primaries.
 * @param ids identities
 */
export function listTermRecipients(
  ids: readonly string[],
  { self, terms, holders }: KnownHolders,
): TermRecipient[] {
  const noted = new Map(holders.map(one => [one.sk, one.data]))
  // a former primary that no token admitted is known by its own name
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
