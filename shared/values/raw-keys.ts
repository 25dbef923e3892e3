import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

/** Signing: Ed25519. Agreeing on a key: X25519. */
export type Curve = 'Ed25519' | 'X25519'

/** Bytes of every key of these curves. */
export const RAW_KEY = 32

/** What stands before the 32 bytes of a private key in PKCS #8. */
const PREFIX: Readonly<Record<Curve, Buffer>> = {
  Ed25519: Buffer.from('302e020100300506032b657004220420', 'hex'),
  X25519: Buffer.from('302e020100300506032b656e04220420', 'hex'),
}

/** The private key that 32 random bytes make. @throws Error when they are not 32 */
export const privateKey = (curve: Curve, seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PREFIX[curve], checked(seed)]), format: 'der', type: 'pkcs8' })

/** Public keys by curve and text. Reading one takes a third of the time that verifying a signature with it takes. */
const recent = new Map<string, KeyObject>()
const MOST_RECENT = 64

/** Returns the public key of 32 bytes; the same object for keys that were used recently. @throws Error when they are not 32 */
export function publicKey(curve: Curve, raw: Uint8Array): KeyObject {
  const x = checked(raw).toString('base64url')
  const known = recent.get(`${curve} ${x}`)
  if (known) return known
  const key = createPublicKey({ key: { kty: 'OKP', crv: curve, x }, format: 'jwk' })
  if (recent.size === MOST_RECENT) recent.clear()
  recent.set(`${curve} ${x}`, key)
  return key
}

/** The public half of a private key, 32 bytes. */
export function rawPublicKey(key: KeyObject): Buffer {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  return Buffer.from(x, 'base64url')
}

function checked(bytes: Uint8Array): Buffer {
  if (bytes.length !== RAW_KEY) throw new Error(`a raw key has ${RAW_KEY} bytes`)
  return Buffer.from(bytes)
}
