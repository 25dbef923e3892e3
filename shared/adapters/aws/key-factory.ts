import type { KeyObject } from 'node:crypto'
import type { MadeKeyring } from '../../model/cluster.ts'
import type { Entropy, FieldCipher, KeyFactory, NewKeyring } from '../../ports.ts'
import { openBox } from '../../storage/box.ts'
import { encryptField, NONCE_LENGTH, type TermKeys } from '../../storage/encryption.ts'
import {
  activeTermNumber,
  addNextTerm,
  addSigner,
  checkKeys,
  closeEnvelope,
  createKeys,
  heldTermIds,
  highestTermNumber,
  type Keys,
  openEnvelope,
  removeTerms,
  uniteKeys,
} from '../../storage/keyring.ts'
import { key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { rawPublicKey } from '../../values/raw-keys.ts'
import { keyringBoxPlace } from './cipher.ts'
import { prepareKeyring } from './held-keyring.ts'
import type { KmsCalls } from './kms.ts'

/** Creates and changes keyrings of this cluster, wrapped by its own KMS key. */
export function createKmsKeyFactory({
  keyArn,
  entropy,
  kms,
}: {
  keyArn: string
  entropy: Entropy
  kms: KmsCalls
}): KeyFactory {
  async function enclosed(id: string, keys: Keys, now: number): Promise<MadeKeyring> {
    const { wrapped: wrappedKey, dataKey } = await kms.newDataKey(id, keyArn)
    const encrypted = closeEnvelope(dataKey, id, keys, entropy.bytes(NONCE_LENGTH))
    const { destroyedTerms } = keys
    return defined({
      id,
      term: activeTermNumber(keys),
      highestTerm: highestTermNumber(keys),
      activeTerm: keys.activeTerm,
      termIds: heldTermIds(keys),
      destroyedTerms,
      since: now,
      wrappedKey,
      keys: encrypted,
    })
  }

  async function atWork(id: string, keys: Keys, now: number): Promise<NewKeyring> {
    const { active, terms, signer } = prepareKeyring({ id, keys, edition: 0 }, now)
    const own = signer && rawPublicKey(signer).toString('base64')
    const encryptBy = (term: TermKeys, ...[place, field, text]: Parameters<FieldCipher['encrypt']>) =>
      encryptField(term, place, field, text, entropy.bytes(NONCE_LENGTH))
    return {
      keyring: await enclosed(id, keys, now),
      cipher: { encrypt: async (...given) => encryptBy(active, ...given) },
      terms: terms.map(term =>
        defined({
          id: term.id,
          number: term.version,
          probe: encryptBy(term, key('term', term.id), 'probe', 'probe'),
          signer: term === active ? own : undefined,
        }),
      ),
    }
  }

  const opened = async (keyring: MadeKeyring): Promise<Keys> =>
    openEnvelope(await kms.unwrap(keyring), keyring.id, keyring.keys)

  return {
    newKeyring: now => atWork(entropy.uuid(), createKeys(entropy.bytes), now),
    importFrom: async (exported: string, own: KeyObject, set, now) => {
      const text = openBox(own, keyringBoxPlace(set), exported)
      if (text === undefined) throw new Error('the keyring was not sealed to this cluster’s key and set')
      const { id, keys } = JSON.parse(text) as { id: string; keys: Keys }
      return atWork(id, checkKeys(keys), now)
    },
    unite: async (leading, other, now, lost) =>
      atWork(leading.id, uniteKeys(await opened(leading), await opened(other), lost), now),
    removeTerms: async (keyring, ids, now) => ({
      ...(await enclosed(keyring.id, removeTerms(await opened(keyring), ids), now)),
      since: keyring.since,
    }),
    addSigner: async (keyring, now) =>
      atWork(keyring.id, addSigner(await opened(keyring), entropy.bytes), now),
    addNextTerm: async (keyring, now, id = keyring.id) =>
      atWork(id, addNextTerm(await opened(keyring), entropy.bytes), now),
  }
}
