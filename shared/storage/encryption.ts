import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import type { EncryptedText } from '../values/secret.ts'
import type { Key } from './kinds.ts'

/**
 * The keys of one term of the keyring. The term's keys are key objects, because parsing key bytes takes longer than
 * using them.
 */
export interface TermKeys {
  /** `id` of the term is derived from its key, so two clusters with the same key agree on the id */
  id: string
  /**
   * `version` is the number at the beginning of the term's encrypted texts; after a forced promotion two terms may
   * have the same number
   */
  version: number
  /** AES-256: `items` encrypts fields of items, `tokens` encrypts batch tokens */
  items: KeyObject
  tokens: KeyObject
}

const NONCE = 12
const TAG = 16
const KEY = 32

const deriveKey = (dataKey: Uint8Array, purpose: string): KeyObject =>
  createSecretKey(new Uint8Array(hkdfSync('sha256', dataKey, '', `cloud-auth ${purpose}`, KEY)))

const ID = 16

/** Returns the identity of a term: a hash that reveals nothing about its key, base64url of 16 bytes. */
export const termIdOf = (dataKey: Uint8Array): string =>
  Buffer.from(hkdfSync('sha256', dataKey, '', 'cloud-auth identity of a term', ID)).toString('base64url')

/** Derives the working keys of a term from its data key. */
export const deriveTermKeys = (version: number, dataKey: Uint8Array): TermKeys => ({
  id: termIdOf(dataKey),
  version,
  items: deriveKey(dataKey, 'items'),
  tokens: deriveKey(dataKey, 'batch tokens'),
})

/** Derives the HMAC key for values in the audit log and for accessors. The fixed key never rotates. */
export const deriveHmacKey = (fixedKey: Uint8Array): KeyObject => deriveKey(fixedKey, 'audit')

/**
 * Returns the associated data of an encrypted field, so that its text cannot be decrypted at another place. The
 * table's name is not part of the associated data.
 */
const placeOf = ({ kind, pk, sk }: Key, field: string, version: number): string =>
  JSON.stringify([kind, pk, sk, field, version])

/** Encrypts a field of an item. The text is `<version>.<nonce, ciphertext and tag as base64url>`. */
export const encryptField = (
  term: TermKeys,
  key: Key,
  field: string,
  text: string,
  nonce: Buffer,
): EncryptedText =>
  `${term.version}.${encryptText(term.items, placeOf(key, field, term.version), text, nonce)}` as EncryptedText

/**
 * Decrypts a field of an item.
 * @throws Error when this keyring did not encrypt the text for this place
 */
export function decryptField(
  terms: readonly TermKeys[],
  key: Key,
  field: string,
  encrypted: EncryptedText,
): string {
  const opened = decryptFieldWithTerms(terms, key, field, encrypted)
  if (opened) return opened.text
  const number = termNumberOf(encrypted)
  const held = terms.some(({ version }) => version === number)
  const why = held ? '' : `: the key term ${number ?? 0} was destroyed, or this cluster never had the term`
  throw new Error(`an encrypted ${field} of a ${key.kind} cannot be decrypted${why}`)
}

/** Decrypts a field, and returns the text with the term that encrypted it; undefined if no term encrypted it. */
export const decryptFieldWithTerms = (
  terms: readonly TermKeys[],
  key: Key,
  field: string,
  encrypted: EncryptedText,
): { text: string; term: TermKeys } | undefined =>
  tryTerms(terms, encrypted, (term, body) => {
    const text = decryptText(term.items, placeOf(key, field, term.version), body)
    return text === undefined ? undefined : { text, term }
  })

const BATCH = 'batch token'

export const encryptBatchToken = (term: TermKeys, content: string, nonce: Buffer): string =>
  `${term.version}.${encryptText(term.tokens, BATCH, content, nonce)}`

/**
 * Decrypts a batch token, and returns its content with the term that encrypted it; undefined if no term encrypted
 * it.
 */
export const decryptBatchToken = (
  terms: readonly TermKeys[],
  encrypted: string,
): { content: string; term: TermKeys } | undefined =>
  tryTerms(terms, encrypted, (term, body) => {
    const content = decryptText(term.tokens, BATCH, body)
    return content === undefined ? undefined : { content, term }
  })

/** Returns a secret in the form in which the audit log shows it. */
export const computeAuditHmac = (hmacKey: KeyObject, text: string): string =>
  `hmac-sha256:${createHmac('sha256', hmacKey).update(text).digest('hex')}`

const VERSION = /^[1-9]\d{0,8}(?=\.)/

/** Returns the number of the term that an encrypted text names; undefined if it names no term. */
export const termNumberOf = (encrypted: string): number | undefined => {
  const named = VERSION.exec(encrypted)?.[0]
  return named === undefined ? undefined : Number(named)
}

/** Tries the terms whose number the text names. Only the term that encrypted the text passes the check of the tag. */
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

/** Encrypts a text with AES-256-GCM, bound to a place. Returns nonce, ciphertext and tag as base64url. */
export function encryptText(key: KeyObject, place: string, text: string, nonce: Buffer): string {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place))
  const body = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([body, cipher.getAuthTag()]).toString('base64url')
}

/** Decrypts a text. Returns undefined if the text was not encrypted with this key for this place. */
export function decryptText(key: KeyObject, place: string, body: string): string | undefined {
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

/** Length of the nonces that the encryption functions take, bytes. A nonce of AES-GCM is random and never reused. */
export const GCM_NONCE_LENGTH = NONCE
