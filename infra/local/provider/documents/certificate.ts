import { type KeyObject, randomBytes, sign } from 'node:crypto'
import {
  derBitString,
  derInteger,
  derNull,
  derOctets,
  derOid,
  derPrintableString,
  derSequence,
  derSet,
  derTagged,
  derTime,
  derTrue,
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
  algorithm: derSequence(derOid('1.2.840.113549.1.1.11'), derNull()),
}

/** DSA with SHA-1. */
export const dsaSha1: SignatureScheme = {
  digest: 'sha1',
  algorithm: derSequence(derOid('1.2.840.10040.4.3')),
}

const attribute = (type: string, value: string): Buffer =>
  derSet(derSequence(derOid(type), derPrintableString(value)))

/**
 * Issuer and subject of every certificate that the imitated AWS makes: C=US, ST=Washington State, L=Seattle,
 * O=…
 */
export const certificateIssuerName: Buffer = derSequence(
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
  /** Extensions in addition to basicConstraints CA, which every certificate of the imitated AWS has. */
  extensions: readonly Buffer[]
}

/**
 * Creates an X.509 v3 certificate.
 * @returns DER
 * @see https://www.rfc-editor.org/rfc/rfc5280#section-4.1
 */
export function encodeCertificate(
  { publicKey, subject, issuer, serial, validity, extensions }: CertificateFacts,
  privateKey: KeyObject,
  scheme: SignatureScheme,
): Buffer {
  const authority = derSequence(derOid('2.5.29.19'), derTrue(), derOctets(derSequence(derTrue())))
  const content = derSequence(
    derTagged(0, derInteger(2n)),
    derInteger(serial),
    scheme.algorithm,
    issuer,
    derSequence(...validity.map(derTime)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    derTagged(3, derSequence(authority, ...extensions)),
  )
  return derSequence(content, scheme.algorithm, derBitString(sign(scheme.digest, content, privateKey)))
}

/**
 * Creates a self-signed certificate like those of AWS: a very long validity, and keyUsage without certificate signing
 * although CA is true.
 */
export const selfSignCertificate = (
  publicKey: KeyObject,
  privateKey: KeyObject,
  scheme: SignatureScheme,
): Buffer =>
  encodeCertificate(
    {
      publicKey,
      subject: certificateIssuerName,
      issuer: certificateIssuerName,
      serial: freshSerial(),
      validity: [Date.UTC(2015, 7, 14), Date.UTC(2195, 0, 17)],
      extensions: [
        derSequence(derOid('2.5.29.15'), derTrue(), derOctets(derBitString(Buffer.from([0x80]), 7))),
      ],
    },
    privateKey,
    scheme,
  )

/**
 * Returns a serial number of 64 random bits with the highest bit set: never zero, always nine content octets
 * as an INTEGER.
 */
const freshSerial = (): bigint => randomBytes(8).readBigUInt64BE() | (1n << 63n)

/** Converts DER to the PEM block of a certificate. */
export const toCertificatePem = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${wrapLines(der.toString('base64'), 64)}\n-----END CERTIFICATE-----\n`

/** Breaks text into lines of at most `columns`. */
export const wrapLines = (text: string, columns: number): string =>
  text.match(new RegExp(`.{1,${columns}}`, 'g'))?.join('\n') ?? ''
