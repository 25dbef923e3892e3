import type { KeyObject } from 'node:crypto'
import { ApiError } from '../../api/errors.ts'
import type { Keyring } from '../../model/cluster.ts'
import type { Clock, Entropy, FieldCipher, KeyFactory, NewKeyring, SealedToken, Store } from '../../ports.ts'
import { openBox, sealTo } from '../../storage/box.ts'
import {
  auditHmac,
  decryptBatch,
  decryptField,
  encryptBatch,
  encryptField,
  NONCE_LENGTH,
  openField,
  type TermKeys,
  versionIn,
} from '../../storage/encryption.ts'
import {
  activeTerm,
  closeEnvelope,
  firstKeys,
  heldIds,
  highestTerm,
  idOf,
  type Keys,
  newestTerm,
  openEnvelope,
  united,
  withNextTerm,
  without,
  withoutSigner,
  withSigner,
} from '../../storage/keyring.ts'
import { key } from '../../storage/kinds.ts'
import { signBatch, splitBatch } from '../../storage/signed-batch.ts'
import { defined } from '../../values/defined.ts'
import { rawPublic } from '../../values/raw-keys.ts'
import type { Encrypted } from '../../values/secret.ts'
import { Secret } from '../../values/secret.ts'
import { type HeldKeyring, hasTerm, heldKeyring, keyringHolder, storedKeyring } from './held-keyring.ts'
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
      const open = ({ terms }: HeldKeyring) => new Secret(decryptField(terms, place, field, encrypted))
      if (!hasTerm(held, versionIn(encrypted))) return open(await newerThan(held))
      try {
        return open(held)
      } catch (error) {
        // another key may have come under this number since the keyring was read
        const age = clock.now() - held.readAt
        if (age < LOOK_AGAIN_MS) throw error
        return open(await newerThan(held))
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
      if (active.signed && !signer) throw new ApiError('busy', NO_SIGNER, { retryAfter: 2 })
      return encryptBatch(active, signer ? signBatch(signer, content) : content, nonce())
    },
    decryptToken: async text => {
      const held = await current()
      const version = versionIn(text)
      const opened = openedBatch(held, text)
      const old = clock.now() - held.readAt >= LOOK_AGAIN_MS
      if (opened || version === undefined || version < held.active.version || !old) return opened
      return openedBatch(await newerThan(held), text)
    },
    exportTo: async (recipient, set) => {
      // read anew: what is handed over must not be behind what the cluster record says
      const stored = await storedKeyring({ store, kms })
      const { id, keys } = stored
      const given = JSON.stringify({ id, keys: withoutSigner(keys) })
      const keyring = sealTo(recipient, boxOf(set), given, entropy.bytes)
      return { keyring, term: highestTerm(keys) }
    },
    hmac: async text => auditHmac((await current()).hmacKey, text),
  }
}

const NO_SIGNER = 'this cluster has just taken over, and cannot make batch tokens yet'

/** What a term signs is nothing without a signature; whose it is, the term's item tells. */
function openedBatch({ ofTokens }: HeldKeyring, text: string): SealedToken | undefined {
  const opened = decryptBatch(ofTokens, text)
  if (!opened) return undefined
  const { id, signed } = opened.term
  if (!signed) return { content: opened.content, term: id }
  const parts = splitBatch(opened.content)
  return parts && { ...parts, term: id }
}

const boxOf = (set: string) => ({ purpose: 'keyring', set }) as const

/** Makes keyrings of this cluster and their terms, wrapped by its own KMS key. */
export function kmsKeyFactory({
  keyArn,
  entropy,
  kms,
}: Pick<Dependencies, 'entropy' | 'kms'> & { keyArn: string }): KeyFactory {
  async function enclosed(id: string, keys: Keys, now: number): Promise<Keyring> {
    const { wrapped, dataKey } = await kms.newDataKey(id, keyArn)
    const encrypted = closeEnvelope(dataKey, id, keys, entropy.bytes(NONCE_LENGTH))
    const { gone } = keys
    const active = idOf(activeTerm(keys))
    return defined({
      ...{ id, term: newestTerm(keys), highest: highestTerm(keys), active, held: heldIds(keys), gone },
      ...{ since: now, wrapped, keys: encrypted },
    })
  }

  async function atWork(id: string, keys: Keys, now: number): Promise<NewKeyring> {
    const { active, terms, signer } = heldKeyring({ id, keys, edition: 0 }, now)
    const own = signer && rawPublic(signer).toString('base64')
    const encryptBy = (term: TermKeys, ...[place, field, text]: Parameters<FieldCipher['encrypt']>) =>
      encryptField(term, place, field, text, entropy.bytes(NONCE_LENGTH))
    return {
      keyring: await enclosed(id, keys, now),
      cipher: { encrypt: async (...given) => encryptBy(active, ...given) },
      terms: terms.map(term =>
        defined({
          ...{ id: term.id, number: term.version },
          probe: encryptBy(term, key('term', term.id), 'probe', 'probe'),
          signer: term === active ? own : undefined,
        }),
      ),
    }
  }

  const opened = async (keyring: Keyring): Promise<Keys> =>
    openEnvelope(await kms.unwrap(keyring), keyring.id, keyring.keys)

  return {
    newKeyring: now => atWork(entropy.uuid(), firstKeys(entropy.bytes), now),
    importFrom: async (exported: string, own: KeyObject, set, now) => {
      const text = openBox(own, boxOf(set), exported)
      if (text === undefined) throw new Error('the keyring was not sealed to this key, for this set')
      const { id, keys } = JSON.parse(text) as { id: string; keys: Keys }
      return atWork(id, keys, now)
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
