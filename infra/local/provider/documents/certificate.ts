import { type KeyObject, randomBytes, sign } from 'node:crypto'
import {
  bits,
  derNull,
  derOctets,
  derOid,
  integer,
  printable,
  sequence,
  setOf,
  tagged,
  time,
  yes,
} from './der.ts'

/** How a certificate, and the documents it verifies, are signed. */
export interface SignatureScheme {
  digest: 'sha1' | 'sha256'
  /** AlgorithmIdentifier of the signature. */
  algorithm: Buffer
}

/** RSA PKCS#1 v1.5 with SHA-256. */
export const rsaSha256: SignatureScheme = {
  digest: 'sha256',
  algorithm: sequence(derOid('1.2.840.113549.1.1.11'), derNull()),
}

/** DSA with SHA-1. */
export const dsaSha1: SignatureScheme = { digest: 'sha1', algorithm: sequence(derOid('1.2.840.10040.4.3')) }

const attribute = (type: string, value: string): Buffer => setOf(sequence(derOid(type), printable(value)))

/** Issuer and subject of every certificate made here: C=US, ST=Washington State, L=Seattle, O=… */
export const issuer: Buffer = sequence(
  attribute('2.5.4.6', 'US'),
  attribute('2.5.4.8', 'Washington State'),
  attribute('2.5.4.7', 'Seattle'),
  attribute('2.5.4.10', 'cloud-auth local provider'),
)

/** The content of a certificate. */
export interface CertificateFacts {
  publicKey: KeyObject
  subject: Buffer
  issuer: Buffer
  serial: bigint
  /** Milliseconds since 1970. */
  validity: readonly [from: number, to: number]
  /** Extensions in addition to basicConstraints CA, which every certificate here has. */
  extensions: readonly Buffer[]
}

/**
 * Creates an X.509 v3 certificate.
 * @returns DER
 * @see https://www.rfc-editor.org/rfc/rfc5280#section-4.1
 */
export function certificate(
  { publicKey, subject, issuer, serial, validity, extensions }: CertificateFacts,
  privateKey: KeyObject,
  scheme: SignatureScheme,
): Buffer {
  const authority = sequence(derOid('2.5.29.19'), yes(), derOctets(sequence(yes())))
  const content = sequence(
    tagged(0, integer(2n)),
    integer(serial),
    scheme.algorithm,
    issuer,
    sequence(...validity.map(time)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(3, sequence(authority, ...extensions)),
  )
  return sequence(content, scheme.algorithm, bits(sign(scheme.digest, content, privateKey)))
}

/**
 * Creates a self-signed certificate like those of AWS: a very long validity, and keyUsage without certificate signing
 * although CA is true.
 */
export const selfSign = (publicKey: KeyObject, privateKey: KeyObject, scheme: SignatureScheme): Buffer =>
  certificate(
    {
      publicKey,
      subject: issuer,
      issuer,
      serial: freshSerial(),
      validity: [Date.UTC(2015, 7, 14), Date.UTC(2195, 0, 17)],
      extensions: [sequence(derOid('2.5.29.15'), yes(), derOctets(bits(Buffer.from([0x80]), 7)))],
    },
    privateKey,
    scheme,
  )

/** Returns 64 random bits with the highest bit set: never zero, always nine content octets as an INTEGER. */
const freshSerial = (): bigint => randomBytes(8).readBigUInt64BE() | (1n << 63n)

/** Converts DER to the PEM block of a certificate. */
export const certificatePem = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${wrapLines(der.toString('base64'), 64)}\n-----END CERTIFICATE-----\n`

/** Breaks text into lines of at most `columns`. */
export const wrapLines = (text: string, columns: number): string =>
  text.match(new RegExp(`.{1,${columns}}`, 'g'))?.join('\n') ?? ''
