import { hash, type KeyObject, sign } from 'node:crypto'
import { certificateIssuerName, type SignatureScheme } from './certificate.ts'
import {
  derInteger,
  derNull,
  derOctets,
  derOid,
  derSequence,
  derSet,
  derTagged,
  derTime,
  encodeIndefiniteBer,
} from './der.ts'

const id = {
  data: derOid('1.2.840.113549.1.7.1'),
  signedData: derOid('1.2.840.113549.1.7.2'),
  contentType: derOid('1.2.840.113549.1.9.3'),
  messageDigest: derOid('1.2.840.113549.1.9.4'),
  signingTime: derOid('1.2.840.113549.1.9.5'),
  algorithmProtection: derOid('1.2.840.113549.1.9.52'),
}

/**
 * Digest AlgorithmIdentifiers as the metadata service writes them: SHA-1 with NULL parameters, SHA-256 (since 2026)
 * without parameters.
 */
const digestAlgorithm = {
  sha1: derSequence(derOid('1.3.14.3.2.26'), derNull()),
  sha256: derSequence(derOid('2.16.840.1.101.3.4.2.1')),
}

/** Octets per segment of the constructed OCTET STRING around the content. */
const segmentLength = 1000

/** The signer's key, and the signing time in milliseconds since 1970. */
export interface CmsSigning {
  privateKey: KeyObject
  /** Serial number of the signer's certificate, which is not embedded. */
  serial: bigint
  scheme: SignatureScheme
  at: number
}

/**
 * Creates CMS SignedData over a document, in the form of the metadata service's `pkcs7` and `rsa2048`: BER with
 * indefinite lengths around definite signer information, embedded content, signed attributes.
 * @see https://www.rfc-editor.org/rfc/rfc5652#section-5
 * @see https://www.rfc-editor.org/rfc/rfc6211 for the algorithm protection attribute (not in the SHA-1 form)
 */
export function encodeCmsSignedData(content: Buffer, signing: CmsSigning): Buffer {
  const digest = digestAlgorithm[signing.scheme.digest]
  const segments = Array.from({ length: Math.ceil(content.length / segmentLength) }, (_, index) =>
    derOctets(content.subarray(index * segmentLength, (index + 1) * segmentLength)),
  )
  return encodeIndefiniteBer(
    0x30,
    id.signedData,
    encodeIndefiniteBer(
      0xa0,
      encodeIndefiniteBer(
        0x30,
        derInteger(1n),
        derSet(digest),
        encodeIndefiniteBer(0x30, id.data, encodeIndefiniteBer(0xa0, encodeIndefiniteBer(0x24, ...segments))),
        derSet(signerInfo(content, signing, digest)),
      ),
    ),
  )
}

function signerInfo(content: Buffer, { privateKey, serial, scheme, at }: CmsSigning, digest: Buffer): Buffer {
  const attributes = signedAttributes(content, scheme, digest, at)
  const signature = sign(scheme.digest, attributes, privateKey)
  // The attributes are signed as a SET OF, and sent under the implicit tag [0].
  const implicit = Buffer.concat([Buffer.from([0xa0]), attributes.subarray(1)])
  return derSequence(
    derInteger(1n),
    derSequence(certificateIssuerName, derInteger(serial)),
    digest,
    implicit,
    scheme.algorithm,
    derOctets(signature),
  )
}

function signedAttributes(content: Buffer, scheme: SignatureScheme, digest: Buffer, at: number): Buffer {
  const attribute = (type: Buffer, value: Buffer) => derSequence(type, derSet(value))
  const protection = derSequence(digest, derTagged(1, scheme.algorithm.subarray(2)))
  return derSet(
    attribute(id.contentType, id.data),
    attribute(id.signingTime, derTime(at)),
    attribute(id.messageDigest, derOctets(hash(scheme.digest, content, 'buffer'))),
    ...(scheme.digest === 'sha1' ? [] : [attribute(id.algorithmProtection, protection)]),
  )
}
