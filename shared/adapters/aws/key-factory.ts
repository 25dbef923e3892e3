import type { KeyObject } from 'node:crypto'
import type { MadeKeyring } from '../../model/cluster.ts'
import type { Entropy, FieldCipher, KeyFactory, NewKeyring } from '../../ports.ts'
import { openSealedBox } from '../../storage/box.ts'
import { encryptField, GCM_NONCE_LENGTH, type TermKeys } from '../../storage/encryption.ts'
import {
  activeTermNumber,
  addBatchTokenSigner,
  addNextKeyringTerm,
  checkKeyringKeys,
  createKeyringKeys,
  heldTermIds,
  highestTermNumber,
  type KeyringKeys,
  openKeyringEnvelope,
  removeKeyringTerms,
  sealKeyringEnvelope,
  uniteKeyrings,
} from '../../storage/keyring.ts'
import { key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { exportRawPublicKey } from '../../values/raw-keys.ts'
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
  async function enclosed(id: string, keys: KeyringKeys, now: number): Promise<MadeKeyring> {
    const { wrapped: wrappedKey, dataKey } = await kms.newDataKey(id, keyArn)
    const encrypted = sealKeyringEnvelope(dataKey, id, keys, entropy.bytes(GCM_NONCE_LENGTH))
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

  async function atWork(id: string, keys: KeyringKeys, now: number): Promise<NewKeyring> {
    const { active, terms, signer } = prepareKeyring({ id, keys, edition: 0 }, now)
    const own = signer && exportRawPublicKey(signer).toString('base64')
    const encryptBy = (term: TermKeys, ...[place, field, text]: Parameters<FieldCipher['encrypt']>) =>
      encryptField(term, place, field, text, entropy.bytes(GCM_NONCE_LENGTH))
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

  const opened = async (keyring: MadeKeyring): Promise<KeyringKeys> =>
    openKeyringEnvelope(await kms.unwrap(keyring), keyring.id, keyring.keys)

  return {
    newKeyring: now => atWork(entropy.uuid(), createKeyringKeys(entropy.bytes), now),
    importFrom: async (exported: string, own: KeyObject, set, now) => {
      const text = openSealedBox(own, keyringBoxPlace(set), exported)
      if (text === undefined)
        throw new Error('the keyring was not encrypted for this cluster’s key and DR set')
      const { id, keys } = JSON.parse(text) as { id: string; keys: KeyringKeys }
      return atWork(id, checkKeyringKeys(keys), now)
    },
    unite: async (leading, other, now, lost) =>
      atWork(leading.id, uniteKeyrings(await opened(leading), await opened(other), lost), now),
    removeTerms: async (keyring, ids, now) => ({
      ...(await enclosed(keyring.id, removeKeyringTerms(await opened(keyring), ids), now)),
      since: keyring.since,
    }),
    addSigner: async (keyring, now) =>
      atWork(keyring.id, addBatchTokenSigner(await opened(keyring), entropy.bytes), now),
    addNextTerm: async (keyring, now, id = keyring.id) =>
      atWork(id, addNextKeyringTerm(await opened(keyring), entropy.bytes), now),
  }
}
