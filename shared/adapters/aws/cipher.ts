import type { KeyObject } from 'node:crypto'
import { ApiError } from '../../api/errors.ts'
import type { Keyring } from '../../model/cluster.ts'
import type { Clock, Entropy, FieldCipher, Genesis, Store } from '../../ports.ts'
import { openBox, sealTo } from '../../storage/box.ts'
import {
  auditHmac,
  decryptBatch,
  decryptField,
  encryptBatch,
  encryptField,
  hmacKeyOf,
  NONCE_LENGTH,
  type Term,
  termOf,
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
import { key } from '../../storage/kinds.ts'
import type { Encrypted } from '../../values/secret.ts'
import { Secret } from '../../values/secret.ts'
import type { Kms } from './kms.ts'

interface Dependencies {
  store: Pick<Store, 'read'>
  clock: Pick<Clock, 'now'>
  entropy: Entropy
  kms: Kms
}

/** A keyring at work. */
interface Held {
  id: string
  active: Term
  terms: readonly Term[]
  hmacKey: Buffer
  /** epoch milliseconds */
  readAt: number
}

function heldOf(id: string, keys: Keys, readAt: number): Held {
  const terms = keys.terms.map(one => termOf(one.version, Buffer.from(one.key, 'base64')))
  const active = terms.at(-1)
  if (!active) throw new Error('the keyring has no term')
  return { id, active, terms, hmacKey: hmacKeyOf(Buffer.from(keys.fixed, 'base64')), readAt }
}

const has = ({ terms }: Held, version: number | undefined): boolean =>
  terms.some(one => one.version === version)

/** A term that a caller's text names is looked for at most this often: anybody can write any number. */
const LOOK_AGAIN_MS = 1000

/**
 * The keyring, unwrapped by KMS when a container first needs it, and kept. It is read again when the cluster record
 * names another keyring or a later term, and when something was encrypted by a term that is not known yet.
 */
export function kmsCipher({ store, clock, entropy, kms }: Dependencies): FieldCipher {
  let current: Promise<Held> | undefined
  let known: Held | undefined
  /** what the cluster record said last, and when (epoch milliseconds) */
  let told: { keyring: string; term: number; at: number } | undefined

  const isBehind = ({ id, active }: Held): boolean =>
    told !== undefined && (id !== told.keyring || active.version < told.term)

  async function stored(): Promise<{ id: string; keys: Keys }> {
    const [item] = await store.read([key('keyring')])
    if (!item) throw new ApiError('not_initialised')
    const { id, keys } = item.data
    return { id, keys: openEnvelope(await kms.unwrap(item.data), id, keys) }
  }

  async function unwrap(): Promise<Held> {
    const readAt = clock.now()
    const { id, keys } = await stored()
    return heldOf(id, keys, readAt)
  }

  async function keyring(): Promise<Held> {
    const wanted = current ?? unwrap()
    current = wanted
    try {
      const held = await wanted
      if (current === wanted) known = held
      // on its way already when the record told of a later one
      return told && held.readAt < told.at && isBehind(held) ? newerThan(held) : held
    } catch (error) {
      if (current === wanted) forget()
      throw error
    }
  }

  function forget(): void {
    current = undefined
    known = undefined
  }

  /** The keyring as it is now, unless somebody has read it since `old` was. */
  function newerThan(old: Held): Promise<Held> {
    if (known === old) forget()
    return keyring()
  }

  const nonce = () => entropy.bytes(NONCE_LENGTH)

  return {
    expect: record => {
      told = { keyring: record.keyring, term: record.term, at: clock.now() }
      if (known && isBehind(known)) forget()
    },
    encrypt: async (place, field, text) =>
      encryptField((await keyring()).active, place, field, text, nonce()),
    decrypt: async (place, field, encrypted: Encrypted) => {
      const held = await keyring()
      const { terms } = has(held, versionIn(encrypted)) ? held : await newerThan(held)
      return new Secret(decryptField(terms, place, field, encrypted))
    },
    encryptToken: async content => encryptBatch((await keyring()).active, content, nonce()),
    decryptToken: async text => {
      const held = await keyring()
      const version = versionIn(text)
      const later = version !== undefined && version > held.active.version
      const { terms } = later && clock.now() - held.readAt >= LOOK_AGAIN_MS ? await newerThan(held) : held
      return decryptBatch(terms, text)
    },
    exportTo: async (recipient, set) => {
      // read anew: what is handed over must not be behind what the cluster record says
      const one = await stored()
      const keyring = sealTo(recipient, boxOf(set), JSON.stringify(one), entropy.bytes)
      return { keyring, term: newestTerm(one.keys) }
    },
    hmac: async text => auditHmac((await keyring()).hmacKey, text),
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
    const { active } = heldOf(id, keys, now)
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
