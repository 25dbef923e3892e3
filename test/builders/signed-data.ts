import { hash, type KeyObject, sign } from 'node:crypto'
import {
  derInteger,
  derNull,
  derOctets,
  derOid,
  derPrintableString,
  derSequence,
  derSet,
  derTagged,
  derTime,
  encodeDerTlv,
} from '../../infra/local/provider/documents/der.ts'
import type { TrustedKey } from '../../shared/model/trusted-key.ts'

export type Digest = 'sha1' | 'sha256' | 'sha384' | 'sha512'

/** Object identifiers of CMS and of algorithms, as RFC 5652, 5754, 5758 and 3279 list them. */
export const ids = {
  data: '1.2.840.113549.1.7.1',
  signedData: '1.2.840.113549.1.7.2',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingTime: '1.2.840.113549.1.9.5',
  sha1: '1.3.14.3.2.26',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
  rsa: '1.2.840.113549.1.1.1',
  rsaSha1: '1.2.840.113549.1.1.5',
  rsaSha256: '1.2.840.113549.1.1.11',
  rsaSha384: '1.2.840.113549.1.1.12',
  rsaSha512: '1.2.840.113549.1.1.13',
  dsaSha1: '1.2.840.10040.4.3',
  dsaSha256: '2.16.840.1.101.3.4.3.2',
  ecdsaSha256: '1.2.840.10045.4.3.2',
  ecdsaSha384: '1.2.840.10045.4.3.3',
  ecdsaSha512: '1.2.840.10045.4.3.4',
} as const

const digestIds = [ids.sha1, ids.sha256, ids.sha384, ids.sha512]

export const algorithm = (id: string, ...parameters: Buffer[]): Buffer =>
  derSequence(derOid(id), ...parameters)

export const attribute = (type: string, ...values: Buffer[]): Buffer =>
  derSequence(derOid(type), derSet(...values))

/** Returns an X.500 name with one attribute, O. */
export const nameOf = (organisation: string): Buffer =>
  derSequence(derSet(derSequence(derOid('2.5.4.10'), derPrintableString(organisation))))

export const issuer = nameOf('cloud-auth test')

/** One signer of a CMS message; a test can replace every part by a wrong value. */
export interface SignerOptions {
  key: KeyObject
  serial?: bigint
  issuer?: Buffer
  digest?: Digest
  signatureId?: string
  version?: bigint
  /** false: the signature covers the content itself */
  attributes?: false | ((content: Buffer) => Buffer[])
  /** attributes to send in place of the signed attributes */
  sentAttributes?: Buffer
  signature?: Buffer
  /** bytes after the signature */
  more?: Buffer[]
}

/** Returns the signed attributes of a valid signer: content type, time, digest. */
export const usualAttributes =
  (digest: Digest) =>
  (content: Buffer): Buffer[] => [
    attribute(ids.contentType, derOid(ids.data)),
    attribute(ids.signingTime, derTime(Date.UTC(2021, 8, 11))),
    attribute(ids.messageDigest, derOctets(hash(digest, content, 'buffer'))),
  ]

export function signerInfo(content: Buffer, options: SignerOptions): Buffer {
  const { key, digest = 'sha256', serial = 7n, signatureId = ids.rsaSha256, version = 1n } = options
  const { attributes = usualAttributes(digest) } = options
  const signed = attributes === false ? content : derSet(...attributes(content))
  const sent = options.sentAttributes ?? (attributes === false ? undefined : retagged(signed))
  return derSequence(
    derInteger(version),
    derSequence(options.issuer ?? issuer, derInteger(serial)),
    algorithm(ids[digest]),
    ...(sent ? [sent] : []),
    algorithm(signatureId),
    derOctets(options.signature ?? sign(digest, signed, key)),
    ...(options.more ?? []),
  )
}

/** Replaces the tag of a SET OF by [0], because signed attributes are sent under the tag [0]. */
const retagged = (set: Buffer): Buffer => Buffer.concat([Buffer.from([0xa0]), set.subarray(1)])

/** The CMS structure around signers; a test can replace every part by a wrong value. */
export interface FrameOptions {
  type?: string
  version?: Buffer
  digestAlgorithms?: Buffer
  contentInfo?: Buffer
  /** certificates, revocation lists or junk before the signers */
  extras?: Buffer[]
  signerInfos?: Buffer
  /** bytes after the signers, inside the SignedData */
  more?: Buffer[]
  /** bytes after the SignedData, inside [0] */
  beside?: Buffer[]
  /** bytes after [0], inside the outermost SEQUENCE */
  last?: Buffer[]
}

export const contentInfo = (content: Buffer, type: string = ids.data): Buffer =>
  derSequence(derOid(type), derTagged(0, derOctets(content)))

export function frame(content: Buffer, signers: Buffer[], options: FrameOptions = {}): Buffer {
  const body = derSequence(
    options.version ?? derInteger(1n),
    options.digestAlgorithms ?? derSet(...digestIds.map(id => algorithm(id, derNull()))),
    options.contentInfo ?? contentInfo(content),
    ...(options.extras ?? []),
    options.signerInfos ?? encodeDerTlv(0x31, ...signers),
    ...(options.more ?? []),
  )
  return derSequence(
    derOid(options.type ?? ids.signedData),
    derTagged(0, body, ...(options.beside ?? [])),
    ...(options.last ?? []),
  )
}

/** Makes a CMS SignedData with one signer. */
export const signedBy = (content: Buffer, options: SignerOptions, outside: FrameOptions = {}): Buffer =>
  frame(content, [signerInfo(content, options)], outside)

/** Makes a trusted key, with the default signer name of `signerInfo`. */
export const trusted = (
  key: KeyObject,
  options: Partial<TrustedKey> & { number?: bigint } = {},
): TrustedKey => {
  const { number = 7n, ...rest } = options
  return {
    origin: 'registered',
    issuer: issuer.toString('hex'),
    serial: derInteger(number).subarray(2).toString('hex'),
    key: () => key,
    ...rest,
  }
}
