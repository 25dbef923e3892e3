import { createHash, verify } from 'node:crypto'
import type { TrustedKey } from '../model/trusted-key.ts'
import { failed, ok, type Result } from '../values/result.ts'
import { secretsEqual } from '../values/secret.ts'
import { isModernKey } from './signature-algorithms.ts'
import type { CmsSignedData, CmsSigner } from './signed-data.ts'

/** Reasons for rejecting a signature. More keys may turn `unknown-signer` into another result. */
export type SignatureFault = 'unknown-signer' | 'sha1' | 'weak-key' | 'digest' | 'signature'

/**
 * Verifies every signature of a message with the trusted keys that its signers name.
 *
 * @param legacy accepts SHA-1, DSA and RSA keys below 2048 bits
 * @returns the key of the first signer, or the fault
 * @see docs/spec/login-ec2.md#pkcs7
 */
export function verifySignedData(
  message: CmsSignedData,
  keys: readonly TrustedKey[],
  legacy: boolean,
): Result<TrustedKey, SignatureFault> {
  const results = message.signers.map(signer => verifySigner(message.content, signer, keys, legacy))
  return results.find(result => !result.ok) ?? results[0] ?? failed('unknown-signer')
}

function verifySigner(
  content: Buffer,
  signer: CmsSigner,
  keys: readonly TrustedKey[],
  legacy: boolean,
): Result<TrustedKey, SignatureFault> {
  const [issuer, serial] = [signer.issuer.toString('hex'), signer.serial.toString('hex')]
  const named = keys.filter(key => key.serial === serial && key.issuer === issuer)
  if (signer.algorithm.digest.legacy && !legacy) return failed('sha1')
  if (named.length === 0) return failed('unknown-signer')
  if (!digestMatches(content, signer)) return failed('digest')
  const strong = named.filter(key => legacy || isModernKey(key.key()))
  if (strong.length === 0) return failed('weak-key')
  const by = strong.find(key => isSignedBy(key, signer, signer.attributes?.signed ?? content))
  return by ? ok(by) : failed('signature')
}

const digestMatches = (content: Buffer, { attributes, algorithm: { digest } }: CmsSigner): boolean =>
  !attributes || secretsEqual(createHash(digest.name).update(content).digest(), attributes.messageDigest)

function isSignedBy(trusted: TrustedKey, { algorithm, signature }: CmsSigner, signed: Buffer): boolean {
  const key = trusted.key()
  if (key.asymmetricKeyType !== algorithm.key.type) return false
  try {
    return verify(algorithm.digest.name, signed, key, signature)
  } catch {
    return false // a signature that OpenSSL cannot even decode
  }
}
