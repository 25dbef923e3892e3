import type { TransactionElement } from '../../journal/journal.ts'
import { toTransactionElements } from '../../journal/to-elements.ts'
import { type ClusterRecord, createEmptyLink, type PrimaryLink } from '../../model/cluster.ts'
import type { Entropy, FieldCipher, Ports } from '../../ports.ts'
import { type Change, putItem, replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import type { EncryptedText } from '../../values/secret.ts'
import { addTakeOverToMembership } from '../membership.ts'
import {
  formatLinkPublicKeys,
  generateLinkKeyPairs,
  type LinkKeyPairs,
  linkPublicKeysOf,
  parseLinkKeyPairs,
} from '../pair.ts'

interface Dependencies {
  cipher: Pick<FieldCipher, 'encrypt'>
  entropy: Pick<Entropy, 'bytes'>
}

/** Makes the link key of a cluster that becomes a primary, encrypted for the cluster record. */
export const makeOwnLinkKey = ({ cipher, entropy }: Dependencies): Promise<EncryptedText> =>
  encryptOwnLinkKey(generateLinkKeyPairs(entropy.bytes), cipher)

/**
 * Encrypts a link key for the cluster record.
 * @param text from `generateLinkKeyPairs`
 */
export const encryptOwnLinkKey = (
  text: string,
  cipher: Pick<FieldCipher, 'encrypt'>,
): Promise<EncryptedText> => cipher.encrypt(key('cluster'), 'ownKey', text)

/**
 * Decrypts the link key.
 * @param sealed `link.ownKey` of the cluster record
 */
export const decryptOwnLinkKey = async (
  sealed: EncryptedText,
  cipher: Pick<FieldCipher, 'decrypt'>,
): Promise<LinkKeyPairs> =>
  parseLinkKeyPairs((await cipher.decrypt(key('cluster'), 'ownKey', sealed)).reveal())

/**
 * Makes new keys for a secondary's next link. The new keys replace earlier pending keys. The present link keeps its
 * own keys.
 */
export async function makePendingLinkKey(
  now: number,
  { cipher, entropy }: Dependencies,
): Promise<{ publicKey: string; changes: Change[] }> {
  const text = generateLinkKeyPairs(entropy.bytes)
  const place = key('pending-key')
  const pending = { pair: await cipher.encrypt(place, 'pair', text), createdAt: now }
  return {
    publicKey: formatLinkPublicKeys(linkPublicKeysOf(parseLinkKeyPairs(text))),
    changes: [putItem(place, pending)],
  }
}

/** Decrypts pending keys. */
export const decryptPendingLinkKey = async (
  pair: EncryptedText,
  cipher: Pick<FieldCipher, 'decrypt'>,
): Promise<string> => (await cipher.decrypt(key('pending-key'), 'pair', pair)).reveal()

/**
 * Makes the membership changes of a take-over: the cluster gets a new link key, and the old key signs a statement
 * about it. Clusters that this cluster admitted in earlier epochs are no longer listed and may not call, because
 * the record names a later epoch. Until this cluster joins another primary, the keys of those clusters and this
 * cluster's revocations still count for fences.
 * @param record of the cluster that takes over
 * @param epoch the epoch that begins
 * @returns `link` for the record, and `member` to be written in one transaction with record and head
 */
export async function renewSetMembership(
  { store, cipher, entropy }: Pick<Ports, 'store' | 'cipher' | 'entropy'>,
  record: ClusterRecord,
  epoch: string,
): Promise<{ link: PrimaryLink; member: TransactionElement }> {
  const { link, set, id } = record
  if (!link || set === undefined) throw new Error('only a member of a DR set can take over')
  const place = key('member', id)
  const [before] = await store.read([place])
  const text = generateLinkKeyPairs(entropy.bytes)
  const ownKey = await encryptOwnLinkKey(text, cipher)
  const claim = {
    set,
    id,
    epoch,
    old: await decryptOwnLinkKey(link.ownKey, cipher),
    next: parseLinkKeyPairs(text),
  }
  const data = addTakeOverToMembership(before?.data, claim, [...link.primaryAddrs, link.primaryAddr])
  const [member] = toTransactionElements([replaceItem(place, before, data)], entropy)
  return { link: createEmptyLink(ownKey), member }
}
