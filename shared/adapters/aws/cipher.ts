import { ApiError } from '../../api/errors.ts'
import type { Clock, Entropy, FieldCipher, SealedToken, Store } from '../../ports.ts'
import { sealBox } from '../../storage/box.ts'
import {
  auditHmac,
  decryptBatch,
  decryptField,
  encryptBatch,
  encryptField,
  NONCE_LENGTH,
  openField,
  termNumberOf,
} from '../../storage/encryption.ts'
import { highestTermNumber, removeSigner } from '../../storage/keyring.ts'
import { signBatch, splitBatch } from '../../storage/signed-batch.ts'
import type { Encrypted } from '../../values/secret.ts'
import { Secret } from '../../values/secret.ts'
import { createKeyringHolder, type HeldKeyring, hasTerm, readStoredKeyring } from './held-keyring.ts'
import type { Kms } from './kms.ts'

interface Dependencies {
  store: Pick<Store, 'read'>
  clock: Pick<Clock, 'now'>
  entropy: Entropy
  kms: Kms
}

/** A term that a caller's text names is looked for at most this often: anybody can write any number. */
const TERM_LOOK_PAUSE_MS = 1000

/** Encryption under the keyring of this cluster, which is read again when a text names a term that is not known yet. */
export function kmsCipher({ store, clock, entropy, kms }: Dependencies): FieldCipher {
  const { keysToRead, expectKeyring, current, refreshAfter } = createKeyringHolder({ store, clock, kms })
  const nonce = () => entropy.bytes(NONCE_LENGTH)
  return {
    keysToRead,
    expectKeyring,
    encrypt: async (place, field, text) =>
      encryptField((await current()).active, place, field, text, nonce()),
    decrypt: async (place, field, encrypted: Encrypted) => {
      const held = await current()
      const open = ({ terms }: HeldKeyring) => new Secret(decryptField(terms, place, field, encrypted))
      if (!hasTerm(held, termNumberOf(encrypted))) return open(await refreshAfter(held))
      try {
        return open(held)
      } catch (error) {
        // another key may have come under this number since the keyring was read
        const age = clock.now() - held.readAt
        if (age < TERM_LOOK_PAUSE_MS) throw error
        return open(await refreshAfter(held))
      }
    },
    reencrypt: async (place, field, encrypted) => {
      const { terms, active } = await current()
      const opened = openField(terms, place, field, encrypted)
      if (!opened) return 'unreadable'
      if (opened.term === active) return 'current'
      return encryptField(active, place, field, opened.text, nonce())
    },
    encryptToken: async content => {
      const { active, signer } = await current()
      // who has just taken over makes its signer before anything else
      if (!signer) throw new ApiError('busy', NO_SIGNER, { retryAfter: 2 })
      return encryptBatch(active, signBatch(signer, content), nonce())
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
      // read anew: what is handed over must not be behind what the cluster record says
      const stored = await readStoredKeyring({ store, kms })
      const { id, keys } = stored
      const given = JSON.stringify({ id, keys: removeSigner(keys) })
      const keyring = sealBox(recipient, keyringBox(set), given, entropy.bytes)
      return { keyring, term: highestTermNumber(keys) }
    },
    hmac: async text => auditHmac((await current()).hmacKey, text),
  }
}

const NO_SIGNER = 'this cluster has just taken over, and cannot make batch tokens yet'

/** What a term signs is nothing without a signature; whose it is, the term's item tells. */
function openTokenText({ tokenTerms }: HeldKeyring, text: string): SealedToken | undefined {
  const opened = decryptBatch(tokenTerms, text)
  if (!opened) return undefined
  const parts = splitBatch(opened.content)
  return parts && { ...parts, term: opened.term.id }
}

/** What a keyring that is handed over is sealed for. */
export const keyringBox = (set: string) => ({ purpose: 'keyring', set }) as const
