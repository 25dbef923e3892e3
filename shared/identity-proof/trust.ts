import { createPublicKey, X509Certificate } from 'node:crypto'
import type { TrustedKey } from '../model/trusted-key.ts'
import { BER_TAG, readBer } from './ber.ts'

/** The published certificates in compact form. See certificates/README.md. */
export interface CompiledCertificates {
  issuers: readonly string[]
  keys: readonly string[]
  certificates: readonly {
    kind: string
    serial: string
    issuer: number
    key: number
    regions: readonly string[]
  }[]
}

/** Returns the keys of a compiled list. Each key is decoded at its first use. */
export const trustedKeysOf = (compiled: CompiledCertificates): TrustedKey[] =>
  compiled.certificates.map(({ kind, serial, issuer, key, regions }) => ({
    origin: kind as TrustedKey['origin'],
    issuer: Buffer.from(compiled.issuers[issuer] ?? '', 'base64').toString('hex'),
    serial,
    regions,
    key: once(() =>
      createPublicKey({ key: Buffer.from(compiled.keys[key] ?? '', 'base64'), format: 'der', type: 'spki' }),
    ),
  }))

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

let modern: Promise<TrustedKey[]> | undefined
let legacy: Promise<TrustedKey[]> | undefined

/**
 * Loads the built-in AWS keys: always `rsa2048`, and `dsa` and `rsa` (1024 bits) only if the deployment accepts legacy signatures.
 * @see docs/spec/login-ec2.md#certificates
 */
export async function loadBuiltInKeys(legacySignatures: boolean): Promise<readonly TrustedKey[]> {
  // loaded at the first use, because logins of other types need no built-in key
  modern ??= import('./certificates/rsa2048.json', { with: { type: 'json' } }).then(file =>
    trustedKeysOf(file.default),
  )
  if (!legacySignatures) return modern
  legacy ??= import('./certificates/legacy.json', { with: { type: 'json' } }).then(file =>
    trustedKeysOf(file.default),
  )
  return [...(await modern), ...(await legacy)]
}

/** Reads the key of a registered certificate. */
export function readRegisteredKey(pem: string): TrustedKey {
  const certificate = new X509Certificate(pem)
  const { issuer, serial } = readCertificateName(certificate.raw)
  return { origin: 'registered', issuer, serial, key: once(() => certificate.publicKey) }
}

/**
 * Returns the issuer and serial number of a DER certificate as hex, as a CMS signer names it.
 * @throws if the bytes are not a certificate
 */
export function readCertificateName(certificate: Buffer): { issuer: string; serial: string } {
  const fields = readBer(certificate)?.children[0]?.children ?? []
  const [serial, , issuer] = fields[0]?.tag === BER_TAG.context0 ? fields.slice(1) : fields
  if (!serial || !issuer) throw new Error('not an X.509 certificate')
  return { issuer: issuer.raw.toString('hex'), serial: serial.content.toString('hex') }
}
