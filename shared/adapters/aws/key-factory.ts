import type { KeyObject } from 'node:crypto'
import type { MadeKeyring } from '../../model/cluster.ts'
import type { Entropy, FieldCipher, KeyFactory, NewKeyring } from '../../ports.ts'
import { openBox } from '../../storage/box.ts'
import { encryptField, NONCE_LENGTH, type TermKeys } from '../../storage/encryption.ts'
import {
  checkKeys,
  closeEnvelope,
  firstKeys,
  heldIds,
  highestTerm,
  type Keys,
  newestTerm,
  openEnvelope,
  united,
  withNextTerm,
  without,
  withSigner,
} from '../../storage/keyring.ts'
import { key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { rawPublicKey } from '../../values/raw-keys.ts'
import { boxOf } from './cipher.ts'
import { heldKeyring } from './held-keyring.ts'
import type { Kms } from './kms.ts'

/** Makes keyrings of this cluster and their terms, wrapped by its own KMS key. */
export function kmsKeyFactory({
  keyArn,
  entropy,
  kms,
}: {
  keyArn: string
  entropy: Entropy
  kms: Kms
}): KeyFactory {
  async function enclosed(id: string, keys: Keys, now: number): Promise<MadeKeyring> {
    const { wrapped: wrappedKey, dataKey } = await kms.newDataKey(id, keyArn)
    const encrypted = closeEnvelope(dataKey, id, keys, entropy.bytes(NONCE_LENGTH))
    const { destroyedTerms } = keys
    return defined({
      id,
      term: newestTerm(keys),
      highestTerm: highestTerm(keys),
      activeTerm: keys.activeTerm,
      termIds: heldIds(keys),
      destroyedTerms,
      since: now,
      wrappedKey,
      keys: encrypted,
    })
  }

  async function atWork(id: string, keys: Keys, now: number): Promise<NewKeyring> {
    const { active, terms, signer } = heldKeyring({ id, keys, edition: 0 }, now)
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
    newKeyring: now => atWork(entropy.uuid(), firstKeys(entropy.bytes), now),
    importFrom: async (exported: string, own: KeyObject, set, now) => {
      const text = openBox(own, boxOf(set), exported)
      if (text === undefined) throw new Error('the keyring was not sealed to this key, for this set')
      const { id, keys } = JSON.parse(text) as { id: string; keys: Keys }
      return atWork(id, checkKeys(keys), now)
    },
    unite: async (leading, other, now, lost) =>
      atWork(leading.id, united(await opened(leading), await opened(other), lost), now),
    without: async (keyring, ids, now) => ({
      ...(await enclosed(keyring.id, without(await opened(keyring), ids), now)),
      since: keyring.since,
    }),
    withSigner: async (keyring, now) =>
      atWork(keyring.id, withSigner(await opened(keyring), entropy.bytes), now),
    withNextTerm: async (keyring, now, id = keyring.id) =>
      atWork(id, withNextTerm(await opened(keyring), entropy.bytes), now),
  }
}
