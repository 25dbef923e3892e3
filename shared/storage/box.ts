import { createSecretKey, diffieHellman, hkdfSync, type KeyObject } from 'node:crypto'
import { decodeBase64Url } from '../values/base64.ts'
import {
  exportRawPublicKey,
  privateKeyFromSeed,
  publicKeyFromRaw,
  RAW_KEY_BYTES,
} from '../values/raw-keys.ts'
import { decryptText, encryptText, GCM_NONCE_LENGTH } from './encryption.ts'

/** The purpose of a sealed box. A box opens only for the purpose and the set for which it was sealed. */
export interface SealedBoxPlace {
  purpose: 'activation token' | 'activation' | 'keyring'
  /** UUID of the DR set; empty if it is unknown before the box is opened */
  set: string
}

/**
 * Seals a text to an X25519 key: base64url of a one-time public key, nonce, ciphertext and tag. Anybody can seal a
 * box, so its content, or a signature around it, must show its author.
 * @throws Error for a recipient key with which nothing could be kept secret
 */
export function sealBoxForKey(
  recipient: Uint8Array,
  place: SealedBoxPlace,
  text: string,
  random: (length: number) => Buffer,
): string {
  const once = privateKeyFromSeed('X25519', random(RAW_KEY_BYTES))
  const raw = exportRawPublicKey(once)
  const key = deriveBoxKey(once, recipient, [raw, recipient])
  const body = encryptText(key, placeOf(place), text, random(GCM_NONCE_LENGTH))
  return Buffer.concat([raw, Buffer.from(body, 'base64url')]).toString('base64url')
}

/**
 * Opens a sealed box. Returns undefined for a text that was not sealed to this key for this place.
 * @param own X25519
 */
export function openSealedBox(own: KeyObject, place: SealedBoxPlace, box: string): string | undefined {
  const bytes = decodeBase64Url(box)
  if (!bytes || bytes.length < RAW_KEY_BYTES || box.includes('=')) return undefined
  const raw = bytes.subarray(0, RAW_KEY_BYTES)
  const body = bytes.subarray(RAW_KEY_BYTES).toString('base64url')
  try {
    return decryptText(deriveBoxKey(own, raw, [raw, exportRawPublicKey(own)]), placeOf(place), body)
  } catch {
    return undefined
  }
}

const placeOf = ({ purpose, set }: SealedBoxPlace): string => JSON.stringify(['box', purpose, set])

/**
 * Derives the encryption key of a sealed box. Both public keys go into the derivation, so that a box belongs to
 * exactly these two keys.
 */
const deriveBoxKey = (own: KeyObject, other: Uint8Array, both: readonly Uint8Array[]): KeyObject => {
  const shared = diffieHellman({ privateKey: own, publicKey: publicKeyFromRaw('X25519', other) })
  const key = hkdfSync('sha256', shared, Buffer.concat(both), 'cloud-auth box', RAW_KEY_BYTES)
  return createSecretKey(new Uint8Array(key))
}
