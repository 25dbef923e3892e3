import { createHash, verify } from 'node:crypto'
import { sameSecret } from '../values/secret.ts'
import type { SignedData, Signer } from './signed-data.ts'
import type { TrustedKey } from './trust.ts'

/** Why a signature does not count. `unknown-signer` may become another verdict with more keys. */
export type SignatureFault = 'unknown-signer' | 'sha1' | 'weak-key' | 'digest' | 'signature'

const RSA_BITS = 2048

/**
 * Checks every signature of a message with the trusted keys that its signers name.
 *
 * @param legacy whether SHA-1, DSA and RSA keys below 2048 bits count
 * @returns the key behind the first signer, or the fault
 * @see docs/spec/login-ec2.md#pkcs7
 */
export function verifySignedData(
  message: SignedData,
  keys: readonly TrustedKey[],
  legacy: boolean,
): { by: TrustedKey } | { fault: SignatureFault } {
  const results = message.signers.map(signer => verifySigner(message.content, signer, keys, legacy))
  return results.find(result => 'fault' in result) ?? results[0] ?? { fault: 'unknown-signer' }
}

function verifySigner(
  content: Buffer,
  signer: Signer,
  keys: readonly TrustedKey[],
  legacy: boolean,
): { by: TrustedKey } | { fault: SignatureFault } {
  const [issuer, serial] = [signer.issuer.toString('hex'), signer.serial.toString('hex')]
  const named = keys.filter(key => key.serial === serial && key.issuer === issuer)
  if (signer.digest === 'sha1' && !legacy) return { fault: 'sha1' }
  if (named.length === 0) return { fault: 'unknown-signer' }
  if (!digestMatches(content, signer)) return { fault: 'digest' }
  const strong = named.filter(key => legacy || isStrong(key))
  if (strong.length === 0) return { fault: 'weak-key' }
  const by = strong.find(key => isSignedBy(key, signer, signer.attributes?.signed ?? content))
  return by ? { by } : { fault: 'signature' }
}

const digestMatches = (content: Buffer, { attributes, digest }: Signer): boolean =>
  !attributes || sameSecret(createHash(digest).update(content).digest(), attributes.messageDigest)

function isStrong(trusted: TrustedKey): boolean {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = trusted.key()
  return type === 'ec' || (type === 'rsa' && (details?.modulusLength ?? 0) >= RSA_BITS)
}

const keyTypes = { rsa: 'rsa', dsa: 'dsa', ecdsa: 'ec' } as const

function isSignedBy(trusted: TrustedKey, signer: Signer, signed: Buffer): boolean {
  const key = trusted.key()
  if (key.asymmetricKeyType !== keyTypes[signer.family]) return false
  try {
    return verify(signer.digest, signed, key, signer.signature)
  } catch {
    return false // a signature that OpenSSL cannot even decode
  }
}
