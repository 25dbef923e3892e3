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

/** @throws Error when it is not 32 bytes */
export const publicKey = (curve: Curve, raw: Uint8Array): KeyObject =>
  createPublicKey({
    key: { kty: 'OKP', crv: curve, x: checked(raw).toString('base64url') },
    format: 'jwk',
  })

/** The public half of a private key, 32 bytes. */
export function rawPublic(key: KeyObject): Buffer {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  return Buffer.from(x, 'base64url')
}

function checked(bytes: Uint8Array): Buffer {
  if (bytes.length !== RAW_KEY) throw new Error(`a raw key has ${RAW_KEY} bytes`)
  return Buffer.from(bytes)
}
