import type { Element } from '../../journal/journal.ts'
import { toElements } from '../../journal/to-elements.ts'
import { type ClusterRecord, emptyLink, type Link } from '../../model/cluster.ts'
import type { Ports } from '../../ports.ts'
import { replace } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { addTakeOver } from '../membership.ts'
import { linkPair, newLinkPair } from '../pair.ts'
import { decryptOwnKey, encryptOwnKey } from './keys.ts'

/**
 * What a take-over does to a cluster's membership: it gets a new link key, and the old key signs a statement about it.
 * Clusters that it admitted in earlier epochs are no longer listed and may not call, because the record names a later epoch.
 * Their keys and its revocations still count when another cluster fences it, until it joins another primary.
 * @param record as it stands, of the cluster that takes over
 * @param epoch that begins
 * @returns `link` for the record, and what has to be written in one transaction with record and head
 */
export async function renewMembership(
  { store, cipher, entropy }: Pick<Ports, 'store' | 'cipher' | 'entropy'>,
  record: ClusterRecord,
  epoch: string,
): Promise<{ link: Link; member: Element }> {
  const { link, set, id } = record
  if (!link || set === undefined) throw new Error('a cluster of no set takes nothing over')
  const place = key('member', id)
  const [before] = await store.read([place])
  const text = newLinkPair(entropy.bytes)
  const ownKey = await encryptOwnKey(text, cipher)
  const claim = { set, id, epoch, old: await decryptOwnKey(link.ownKey, cipher), next: linkPair(text) }
  const data = addTakeOver(before?.data, claim, [...link.addrs, link.primaryAddr])
  const [member] = toElements([replace(place, before, data)], entropy)
  return { link: emptyLink(ownKey), member }
}
