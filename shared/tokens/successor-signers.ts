import { type ClusterRecord, linkToPrimaryOf } from '../model/cluster.ts'
import type { TokenSigner } from '../model/term.ts'
import type { Ports } from '../ports.ts'
import { itemPartitions } from '../storage/kinds.ts'

/**
 * Lists the signers of a term that verified fences delivered. These signers count for DR operations of a fenced
 * cluster that follows no primary yet; after that it learns signers from the journal. Signers of revoked clusters
 * never count.
 * @param term ID of the term
 */
export async function listSuccessorTokenSigners(
  term: string,
  record: Pick<ClusterRecord, 'mode' | 'link'>,
  { store }: Pick<Ports, 'store'>,
): Promise<TokenSigner[]> {
  if (record.mode !== 'secondary' || linkToPrimaryOf(record)) return []
  const [members, holders] = await Promise.all([
    store.list(itemPartitions('member')),
    store.list(itemPartitions('holder')),
  ])
  const ended = holders.filter(({ data }) => data.revoked).map(({ sk }) => sk)
  return members
    .filter(({ sk }) => !ended.includes(sk))
    .flatMap(({ sk, data: { signers = [] } }) =>
      signers.filter(one => one.term === term).map(({ key }) => ({ cluster: sk, key })),
    )
}
