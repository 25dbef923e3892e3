import type { Entropy, FieldCipher } from '../../ports.ts'
import { type Change, put } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import type { Encrypted } from '../../values/secret.ts'
import { keysOf, type LinkPair, linkPair, newLinkPair, publicKeyText } from '../pair.ts'

interface Dependencies {
  cipher: Pick<FieldCipher, 'encrypt'>
  entropy: Pick<Entropy, 'bytes'>
}

/** The link key of a cluster that becomes a primary, sealed for the cluster record. */
export const newOwnKey = ({ cipher, entropy }: Dependencies): Promise<Encrypted> =>
  encryptOwnKey(newLinkPair(entropy.bytes), cipher)

/** Seals a pair for the cluster record. @param text from `newLinkPair` */
export const encryptOwnKey = (text: string, cipher: Pick<FieldCipher, 'encrypt'>): Promise<Encrypted> =>
  cipher.encrypt(key('cluster'), 'ownKey', text)

/** @param sealed `link.ownKey` of the cluster record */
export const decryptOwnKey = async (
  sealed: Encrypted,
  cipher: Pick<FieldCipher, 'decrypt'>,
): Promise<LinkPair> => linkPair((await cipher.decrypt(key('cluster'), 'ownKey', sealed)).reveal())

/** New keys for a secondary's next link, which replace those made before. The present link keeps its own keys. */
export async function newPublicKey(
  now: number,
  { cipher, entropy }: Dependencies,
): Promise<{ publicKey: string; changes: Change[] }> {
  const text = newLinkPair(entropy.bytes)
  const place = key('pending-key')
  const pending = { pair: await cipher.encrypt(place, 'pair', text), createdAt: now }
  return { publicKey: publicKeyText(keysOf(linkPair(text))), changes: [put(place, pending)] }
}

/** The text of a pair that `newPublicKey` made. */
export const decryptPending = async (
  pair: Encrypted,
  cipher: Pick<FieldCipher, 'decrypt'>,
): Promise<string> => (await cipher.decrypt(key('pending-key'), 'pair', pair)).reveal()
