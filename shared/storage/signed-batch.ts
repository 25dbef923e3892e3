import { type KeyObject, sign, verify } from 'node:crypto'
import { publicKeyFromRaw } from '../values/raw-keys.ts'

/**
 * Returns the text that a batch token's signature covers. A sealed batch token contains `<signature as
 * base64url>.<content>`.
 */
const signedText = (content: string): Buffer => Buffer.from(`cloud-auth batch token\n${content}`)

/**
 * Signs the content of a batch token.
 * @param key Ed25519
 */
export const signBatchToken = (key: KeyObject, content: string): string =>
  `${sign(null, signedText(content), key).toString('base64url')}.${content}`

/** Splits a signed content into content and signature; undefined for a text without a signature. */
export function splitSignedBatchToken(text: string): { signature: Buffer; content: string } | undefined {
  const end = text.indexOf('.')
  const signature = Buffer.from(text.slice(0, Math.max(0, end)), 'base64url')
  return signature.length === SIGNATURE ? { signature, content: text.slice(end + 1) } : undefined
}

const SIGNATURE = 64

/** Reports whether one of these keys (raw Ed25519, base64) signed a content. */
export const isBatchSignedByAny = (keys: readonly string[], content: string, signature: Buffer): boolean =>
  keys.some(key =>
    verify(null, signedText(content), publicKeyFromRaw('Ed25519', Buffer.from(key, 'base64')), signature),
  )
