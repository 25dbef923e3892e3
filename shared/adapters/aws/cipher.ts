import { ApiError } from '../../api/errors.ts'
import type { Clock, Entropy, FieldCipher, ItemStore, SealedToken } from '../../ports.ts'
import { sealBoxForKey } from '../../storage/box.ts'
import {
  computeAuditHmac,
  decryptBatchToken,
  decryptField,
  decryptFieldWithTerms,
  encryptBatchToken,
  encryptField,
  GCM_NONCE_LENGTH,
  termNumberOf,
} from '../../storage/encryption.ts'
import { highestTermNumber, removeBatchTokenSigner } from '../../storage/keyring.ts'
import { signBatchToken, splitSignedBatchToken } from '../../storage/signed-batch.ts'
import type { EncryptedText } from '../../values/secret.ts'
import { Secret } from '../../values/secret.ts'
import { createKeyringHolder, type HeldKeyring, hasKeyringTerm, readStoredKeyring } from './held-keyring.ts'
import type { KmsCalls } from './kms.ts'

interface Dependencies {
  store: Pick<ItemStore, 'read'>
  clock: Pick<Clock, 'now'>
  entropy: Entropy
  kms: KmsCalls
}

/**
 * Milliseconds between two reads of the keyring because of an unknown term in a client's text. Clients can send any
 * term number.
 */
const TERM_LOOK_PAUSE_MS = 1000

/** Encrypts with the keyring of this cluster. The cipher reads the keyring again when a text names an unknown term. */
export function createKmsCipher({ store, clock, entropy, kms }: Dependencies): FieldCipher {
  const { keysToRead, expectKeyring, current, refreshAfter } = createKeyringHolder({ store, clock, kms })
  const nonce = () => entropy.bytes(GCM_NONCE_LENGTH)
  return {
    keysToRead,
    expectKeyring,
    encrypt: async (place, field, text) =>
      encryptField((await current()).active, place, field, text, nonce()),
    decrypt: async (place, field, encrypted: EncryptedText) => {
      const held = await current()
      const open = ({ terms }: HeldKeyring) => new Secret(decryptField(terms, place, field, encrypted))
      if (!hasKeyringTerm(held, termNumberOf(encrypted))) return open(await refreshAfter(held))
      try {
        return open(held)
      } catch (error) {
        // A key with the same term number may have been added since the keyring was read.
        const age = clock.now() - held.readAt
        if (age < TERM_LOOK_PAUSE_MS) throw error
        return open(await refreshAfter(held))
      }
    },
    reencrypt: async (place, field, encrypted) => {
      const { terms, active } = await current()
      const opened = decryptFieldWithTerms(terms, place, field, encrypted)
      if (!opened) return 'unreadable'
      if (opened.term === active) return 'current'
      return encryptField(active, place, field, opened.text, nonce())
    },
    encryptToken: async content => {
      const { active, signer } = await current()
      // A cluster that has just taken over first makes its signer.
      if (!signer) throw new ApiError('busy', NO_SIGNER, { retryAfter: 2 })
      return encryptBatchToken(active, signBatchToken(signer, content), nonce())
    },
    decryptToken: async text => {
      const held = await current()
      const version = termNumberOf(text)
      const opened = openTokenText(held, text)
      const old = clock.now() - held.readAt >= TERM_LOOK_PAUSE_MS
      if (opened || version === undefined || version < held.active.version || !old) return opened
      return openTokenText(await refreshAfter(held), text)
    },
    exportTo: async (recipient, set) => {
      // The keyring is read again, because the exported keyring must not be older than the cluster record.
      const stored = await readStoredKeyring({ store, kms })
      const { id, keys } = stored
      const given = JSON.stringify({ id, keys: removeBatchTokenSigner(keys) })
      const keyring = sealBoxForKey(recipient, keyringBoxPlace(set), given, entropy.bytes)
      return { keyring, term: highestTermNumber(keys) }
    },
    hmac: async text => computeAuditHmac((await current()).hmacKey, text),
  }
}

const NO_SIGNER = 'this cluster was promoted a moment ago and cannot make batch tokens yet'

/**
 * Decrypts the text of a batch token. The signature of a batch token is required. The term's item shows which
 * cluster made the signature.
 */
function openTokenText({ tokenTerms }: HeldKeyring, text: string): SealedToken | undefined {
  const opened = decryptBatchToken(tokenTerms, text)
  if (!opened) return undefined
  const parts = splitSignedBatchToken(opened.content)
  return parts && { ...parts, term: opened.term.id }
}

/** Returns the place that an exported keyring is sealed for. */
export const keyringBoxPlace = (set: string) => ({ purpose: 'keyring', set }) as const
