import { createSecretKey, diffieHellman, hkdfSync, type KeyObject } from 'node:crypto'
import { decodeBase64Url } from '../values/base64.ts'
import { privateKey, publicKey, RAW_KEY, rawPublicKey } from '../values/raw-keys.ts'
import { decrypt, encrypt, NONCE_LENGTH } from './encryption.ts'

/** What a box is for: it opens for nothing else. */
export interface BoxPlace {
  purpose: 'activation token' | 'activation' | 'keyring'
  /** UUID of the DR set; empty where it is not known before opening */
  set: string
}

/**
 * Seals a text to an X25519 key: base64url of a one-time public key, nonce, ciphertext and tag. Anybody can make a
 * box; who made it is told by what it holds, or by the signature around it.
 * @throws Error when nothing could be secret between this key and any other
 */
export function sealBox(
  recipient: Uint8Array,
  place: BoxPlace,
  text: string,
  random: (length: number) => Buffer,
): string {
  const once = privateKey('X25519', random(RAW_KEY))
  const raw = rawPublicKey(once)
  const key = deriveBoxKey(once, recipient, [raw, recipient])
  const body = encrypt(key, placeOf(place), text, random(NONCE_LENGTH))
  return Buffer.concat([raw, Buffer.from(body, 'base64url')]).toString('base64url')
}

/** Undefined for everything that was not sealed to this key for this place. @param own X25519 */
export function openBox(own: KeyObject, place: BoxPlace, box: string): string | undefined {
  const bytes = decodeBase64Url(box)
  if (!bytes || bytes.length < RAW_KEY || box.includes('=')) return undefined
  const raw = bytes.subarray(0, RAW_KEY)
  const body = bytes.subarray(RAW_KEY).toString('base64url')
  try {
    return decrypt(deriveBoxKey(own, raw, [raw, rawPublicKey(own)]), placeOf(place), body)
  } catch {
    return undefined
  }
}

const placeOf = ({ purpose, set }: BoxPlace): string => JSON.stringify(['box', purpose, set])

/** Both public keys are part of what the key follows from, so that a box belongs to exactly these two. */
const deriveBoxKey = (own: KeyObject, other: Uint8Array, both: readonly Uint8Array[]): KeyObject => {
  const shared = diffieHellman({ privateKey: own, publicKey: publicKey('X25519', other) })
  const key = hkdfSync('sha256', shared, Buffer.concat(both), 'cloud-auth box', RAW_KEY)
  return createSecretKey(new Uint8Array(key))
}
