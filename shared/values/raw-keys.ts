import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

/** Ed25519 keys sign; X25519 keys agree on a shared key. */
export type KeyCurve = 'Ed25519' | 'X25519'

/** Bytes of a raw key. */
export const RAW_KEY_BYTES = 32

/** The PKCS #8 bytes before the 32 bytes of a private key. */
const PREFIX: Readonly<Record<KeyCurve, Buffer>> = {
  Ed25519: Buffer.from('302e020100300506032b657004220420', 'hex'),
  X25519: Buffer.from('302e020100300506032b656e04220420', 'hex'),
}

/** Builds the private key of a 32-byte seed. @throws Error for another length */
export const privateKeyFromSeed = (curve: KeyCurve, seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PREFIX[curve], checked(seed)]), format: 'der', type: 'pkcs8' })

/** Recently used public keys. Parsing one costs a third of verifying a signature with it. */
const recent = new Map<string, KeyObject>()
const MOST_RECENT = 64

/** Returns the public key of 32 bytes, cached if it was used recently. @throws Error for another length */
export function publicKeyFromRaw(curve: KeyCurve, raw: Uint8Array): KeyObject {
  const x = checked(raw).toString('base64url')
  const known = recent.get(`${curve} ${x}`)
  if (known) return known
  const key = createPublicKey({ key: { kty: 'OKP', crv: curve, x }, format: 'jwk' })
  if (recent.size === MOST_RECENT) recent.clear()
  recent.set(`${curve} ${x}`, key)
  return key
}

/** Returns the 32 public bytes of a private key. */
export function exportRawPublicKey(key: KeyObject): Buffer {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  return Buffer.from(x, 'base64url')
}

function checked(bytes: Uint8Array): Buffer {
  if (bytes.length !== RAW_KEY_BYTES) throw new Error(`a raw key has ${RAW_KEY_BYTES} bytes`)
  return Buffer.from(bytes)
}
