import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import type { Encrypted } from '../values/secret.ts'
import type { Key } from './kinds.ts'

/** The keys of one term of the keyring; given as bytes, a key would take longer to read than to use. */
export interface TermKeys {
  /** follows from its key: two clusters that hold the same key agree on it */
  id: string
  /** what its texts begin with; after a forced promotion two terms may have one number */
  version: number
  /** AES-256: fields of items, and batch tokens */
  items: KeyObject
  tokens: KeyObject
}

const NONCE = 12
const TAG = 16
const KEY = 32

const deriveKey = (dataKey: Uint8Array, purpose: string): KeyObject =>
  createSecretKey(new Uint8Array(hkdfSync('sha256', dataKey, '', `cloud-auth ${purpose}`, KEY)))

const ID = 16

/** The identity of a term: a hash of its key that tells nothing of it, base64url of 16 bytes. */
export const termIdOf = (dataKey: Uint8Array): string =>
  Buffer.from(hkdfSync('sha256', dataKey, '', 'cloud-auth identity of a term', ID)).toString('base64url')

/** The working keys that follow from a data key. */
export const deriveTermKeys = (version: number, dataKey: Uint8Array): TermKeys => ({
  id: termIdOf(dataKey),
  version,
  items: deriveKey(dataKey, 'items'),
  tokens: deriveKey(dataKey, 'batch tokens'),
})

/** HMAC-SHA-256 of values in the audit log, and of what accessors follow from: it never rotates. */
export const deriveHmacKey = (fixedKey: Uint8Array): KeyObject => deriveKey(fixedKey, 'audit')

/** Where an encrypted text belongs: it decrypts nowhere else. The table's name is not part of it. */
const placeOf = ({ kind, pk, sk }: Key, field: string, version: number): string =>
  JSON.stringify([kind, pk, sk, field, version])

/** `<version>.<nonce, ciphertext and tag as base64url>` */
export const encryptField = (
  term: TermKeys,
  key: Key,
  field: string,
  text: string,
  nonce: Buffer,
): Encrypted =>
  `${term.version}.${encrypt(term.items, placeOf(key, field, term.version), text, nonce)}` as Encrypted

/** @throws when the text was not encrypted for this place by this keyring */
export function decryptField(
  terms: readonly TermKeys[],
  key: Key,
  field: string,
  encrypted: Encrypted,
): string {
  const opened = openField(terms, key, field, encrypted)
  if (opened) return opened.text
  const number = termNumberOf(encrypted)
  const held = terms.some(({ version }) => version === number)
  const why = held ? '' : `: term ${number ?? 0} has been destroyed, or has never been held here`
  throw new Error(`an encrypted ${field} of a ${key.kind} cannot be decrypted${why}`)
}

/** The text, and the term that encrypted it; undefined where none of them did. */
export const openField = (
  terms: readonly TermKeys[],
  key: Key,
  field: string,
  encrypted: Encrypted,
): { text: string; term: TermKeys } | undefined =>
  tryTerms(terms, encrypted, (term, body) => {
    const text = decrypt(term.items, placeOf(key, field, term.version), body)
    return text === undefined ? undefined : { text, term }
  })

const BATCH = 'batch token'

export const encryptBatch = (term: TermKeys, content: string, nonce: Buffer): string =>
  `${term.version}.${encrypt(term.tokens, BATCH, content, nonce)}`

/** The content, and the term that encrypted it. Undefined for everything that this keyring did not encrypt. */
export const decryptBatch = (
  terms: readonly TermKeys[],
  encrypted: string,
): { content: string; term: TermKeys } | undefined =>
  tryTerms(terms, encrypted, (term, body) => {
    const content = decrypt(term.tokens, BATCH, body)
    return content === undefined ? undefined : { content, term }
  })

/** How a secret appears in the audit log. */
export const auditHmac = (hmacKey: KeyObject, text: string): string =>
  `hmac-sha256:${createHmac('sha256', hmacKey).update(text).digest('hex')}`

const VERSION = /^[1-9]\d{0,8}(?=\.)/

/** The term that an encrypted text names; undefined when it names none. */
export const termNumberOf = (encrypted: string): number | undefined => {
  const named = VERSION.exec(encrypted)?.[0]
  return named === undefined ? undefined : Number(named)
}

/** What the terms of the number that a text names make of it: the one that does not fit says so, by the tag. */
function tryTerms<T>(
  terms: readonly TermKeys[],
  encrypted: string,
  opened: (term: TermKeys, body: string) => T | undefined,
): T | undefined {
  const version = termNumberOf(encrypted)
  const body = encrypted.slice(encrypted.indexOf('.') + 1)
  for (const term of terms) {
    const found = term.version === version ? opened(term, body) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** Nonce, ciphertext and tag as base64url: AES-256-GCM, bound to a place. */
export function encrypt(key: KeyObject, place: string, text: string, nonce: Buffer): string {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place))
  const body = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([body, cipher.getAuthTag()]).toString('base64url')
}

/** Undefined for everything that was not encrypted with this key for this place. */
export function decrypt(key: KeyObject, place: string, body: string): string | undefined {
  const bytes = Buffer.from(body, 'base64url')
  if (bytes.length < NONCE + TAG || bytes.toString('base64url') !== body) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE), { authTagLength: TAG })
  decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(-TAG))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE, -TAG)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

/** Length of the nonces that the encryption functions want: random, never used twice. */
export const NONCE_LENGTH = NONCE
