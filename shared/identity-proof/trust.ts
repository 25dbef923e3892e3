import { createPublicKey, X509Certificate } from 'node:crypto'
import type { TrustedKey } from '../model/trusted-key.ts'
import { readBer, TAG } from './ber.ts'

/** The published certificates in compact form: see certificates/README.md. */
export interface Compiled {
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

/** The keys of a compiled list; each is decoded when it is first used. */
export const trustedKeysOf = (compiled: Compiled): TrustedKey[] =>
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
 * The provider's own keys: `rsa2048` always, `dsa` and `rsa` (1024 bits) only where the deployment still
 * accepts them. The older ones are not even loaded otherwise. @see docs/spec/login-ec2.md#certificates
 */
export async function loadBuiltInKeys(legacySignatures: boolean): Promise<readonly TrustedKey[]> {
  // a login by anything but a document needs none of them
  modern ??= import('./certificates/rsa2048.json', { with: { type: 'json' } }).then(file =>
    trustedKeysOf(file.default),
  )
  if (!legacySignatures) return modern
  legacy ??= import('./certificates/legacy.json', { with: { type: 'json' } }).then(file =>
    trustedKeysOf(file.default),
  )
  return [...(await modern), ...(await legacy)]
}

/** The key of a certificate that an administrator registered. */
export function readRegisteredKey(pem: string): TrustedKey {
  const certificate = new X509Certificate(pem)
  const { issuer, serial } = certificateName(certificate.raw)
  return { origin: 'registered', issuer, serial, key: once(() => certificate.publicKey) }
}

/**
 * Issuer and serial number of a DER certificate, as hex: how a CMS signer names it.
 * @throws when the bytes are not a certificate
 */
export function certificateName(certificate: Buffer): { issuer: string; serial: string } {
  const fields = readBer(certificate)?.children[0]?.children ?? []
  const [serial, , issuer] = fields[0]?.tag === TAG.context0 ? fields.slice(1) : fields
  if (!serial || !issuer) throw new Error('not an X.509 certificate')
  return { issuer: issuer.raw.toString('hex'), serial: serial.content.toString('hex') }
}
