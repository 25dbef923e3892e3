import type { KeyObject } from 'node:crypto'
import type { Keyring } from '../../model/cluster.ts'
import type { Clock, Entropy, FieldCipher, Genesis, Store } from '../../ports.ts'
import { openBox, sealTo } from '../../storage/box.ts'
import {
  auditHmac,
  decryptBatch,
  decryptField,
  encryptBatch,
  encryptField,
  NONCE_LENGTH,
  versionIn,
} from '../../storage/encryption.ts'
import {
  closeEnvelope,
  firstKeys,
  type Keys,
  newestTerm,
  openEnvelope,
  withNextTerm,
} from '../../storage/keyring.ts'
import type { Encrypted } from '../../values/secret.ts'
import { Secret } from '../../values/secret.ts'
import { hasTerm, heldKeyring, keyringHolder, storedKeyring } from './held-keyring.ts'
import type { Kms } from './kms.ts'

interface Dependencies {
  store: Pick<Store, 'read'>
  clock: Pick<Clock, 'now'>
  entropy: Entropy
  kms: Kms
}

/** A term that a caller's text names is looked for at most this often: anybody can write any number. */
const LOOK_AGAIN_MS = 1000

/** Encryption under the keyring of this cluster, which is read again when a text names a term that is not known yet. */
export function kmsCipher({ store, clock, entropy, kms }: Dependencies): FieldCipher {
  const { expect, current, newerThan } = keyringHolder({ store, clock, kms })
  const nonce = () => entropy.bytes(NONCE_LENGTH)
  return {
    expect,
    encrypt: async (place, field, text) =>
      encryptField((await current()).active, place, field, text, nonce()),
    decrypt: async (place, field, encrypted: Encrypted) => {
      const held = await current()
      const { terms } = hasTerm(held, versionIn(encrypted)) ? held : await newerThan(held)
      return new Secret(decryptField(terms, place, field, encrypted))
    },
    encryptToken: async content => encryptBatch((await current()).active, content, nonce()),
    decryptToken: async text => {
      const held = await current()
      const version = versionIn(text)
      const later = version !== undefined && version > held.active.version
      const { terms } = later && clock.now() - held.readAt >= LOOK_AGAIN_MS ? await newerThan(held) : held
      return decryptBatch(terms, text)
    },
    exportTo: async (recipient, set) => {
      // read anew: what is handed over must not be behind what the cluster record says
      const stored = await storedKeyring({ store, kms })
      const keyring = sealTo(recipient, boxOf(set), JSON.stringify(stored), entropy.bytes)
      return { keyring, term: newestTerm(stored.keys) }
    },
    hmac: async text => auditHmac((await current()).hmacKey, text),
  }
}

const boxOf = (set: string) => ({ purpose: 'keyring', set }) as const

/** Makes keyrings of this cluster and their terms, wrapped by its own KMS key. */
export function kmsGenesis({
  keyArn,
  entropy,
  kms,
}: Pick<Dependencies, 'entropy' | 'kms'> & { keyArn: string }): Genesis {
  async function enclosed(id: string, keys: Keys, now: number): Promise<Keyring> {
    const { wrapped, dataKey } = await kms.newDataKey(id, keyArn)
    const encrypted = closeEnvelope(dataKey, id, keys, entropy.bytes(NONCE_LENGTH))
    return { id, term: newestTerm(keys), since: now, wrapped, keys: encrypted }
  }

  async function atWork(id: string, keys: Keys, now: number) {
    const { active } = heldKeyring(id, keys, now)
    const encrypt: FieldCipher['encrypt'] = async (place, field, text) =>
      encryptField(active, place, field, text, entropy.bytes(NONCE_LENGTH))
    return { keyring: await enclosed(id, keys, now), cipher: { encrypt } }
  }

  return {
    newKeyring: now => atWork(entropy.uuid(), firstKeys(entropy.bytes), now),
    importFrom: async (exported: string, own: KeyObject, set, now) => {
      const text = openBox(own, boxOf(set), exported)
      if (text === undefined) throw new Error('the keyring was not sealed to this key, for this set')
      const { id, keys } = JSON.parse(text) as { id: string; keys: Keys }
      return atWork(id, keys, now)
    },
    withNextTerm: async (keyring, now) => {
      const keys = openEnvelope(await kms.unwrap(keyring), keyring.id, keyring.keys)
      return enclosed(keyring.id, withNextTerm(keys, entropy.bytes), now)
    },
  }
}
