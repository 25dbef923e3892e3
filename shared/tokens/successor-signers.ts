import { type ClusterRecord, primaryOf } from '../model/cluster.ts'
import type { TokenSigner } from '../model/term.ts'
import type { Ports } from '../ports.ts'
import { partitions } from '../storage/kinds.ts'

/**
 * The signers of a term that came with fences that counted. They count for operations of a cluster that was closed and
 * follows no cluster yet: from then on it learns signers by the journal. Those of a revoked cluster count nowhere.
 * @param term identity of the term
 */
export async function listSuccessorSigners(
  term: string,
  record: Pick<ClusterRecord, 'mode' | 'link'>,
  { store }: Pick<Ports, 'store'>,
): Promise<TokenSigner[]> {
  if (record.mode !== 'secondary' || primaryOf(record)) return []
  const [members, holders] = await Promise.all([
    store.list(partitions('member')),
    store.list(partitions('holder')),
  ])
  const ended = holders.filter(({ data }) => data.revoked).map(({ sk }) => sk)
  return members
    .filter(({ sk }) => !ended.includes(sk))
    .flatMap(({ sk, data: { signers = [] } }) =>
      signers.filter(one => one.term === term).map(({ key }) => ({ cluster: sk, key })),
    )
}
