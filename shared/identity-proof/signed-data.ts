import { type Node, octets, oid, readBer, TAG, withTag } from './ber.ts'

/** A CMS SignedData, as far as a verification needs it. @see RFC 5652 section 5 */
export interface SignedData {
  content: Buffer
  signers: readonly Signer[]
}

export interface Signer {
  /** DER of the issuer's name */
  issuer: Buffer
  /** content octets of the serial number */
  serial: Buffer
  digest: Digest
  family: 'rsa' | 'dsa' | 'ecdsa'
  signature: Buffer
  /** present when the signature covers attributes rather than the content */
  attributes?: SignedAttributes
}

export interface SignedAttributes {
  /** DER of the SET OF that was signed */
  signed: Buffer
  messageDigest: Buffer
}

export type Digest = 'sha1' | 'sha256' | 'sha384' | 'sha512'

const OID = {
  signedData: '1.2.840.113549.1.7.2',
  data: '1.2.840.113549.1.7.1',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
} as const

const digests: Readonly<Record<string, Digest>> = {
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
}

/** Signature algorithms; those without digest take the signer's. */
const algorithms: Readonly<Record<string, { family: Signer['family']; digest?: Digest }>> = {
  '1.2.840.113549.1.1.1': { family: 'rsa' },
  '1.2.840.113549.1.1.5': { family: 'rsa', digest: 'sha1' },
  '1.2.840.113549.1.1.11': { family: 'rsa', digest: 'sha256' },
  '1.2.840.113549.1.1.12': { family: 'rsa', digest: 'sha384' },
  '1.2.840.113549.1.1.13': { family: 'rsa', digest: 'sha512' },
  '1.2.840.10040.4.1': { family: 'dsa' },
  '1.2.840.10040.4.3': { family: 'dsa', digest: 'sha1' },
  '2.16.840.1.101.3.4.3.2': { family: 'dsa', digest: 'sha256' },
  '1.2.840.10045.2.1': { family: 'ecdsa' },
  '1.2.840.10045.4.3.2': { family: 'ecdsa', digest: 'sha256' },
  '1.2.840.10045.4.3.3': { family: 'ecdsa', digest: 'sha384' },
  '1.2.840.10045.4.3.4': { family: 'ecdsa', digest: 'sha512' },
}

/** Larger ones are no identity documents. @see auth-behaviour 4.2.2 (2) */
const LARGEST = 65_536

/**
 * Reads a SignedData with its content inside. Certificates and revocation lists that it brings along are
 * stepped over: nothing in the message may vouch for the message.
 *
 * @returns undefined when it is anything else, or has no content or no signer
 */
export function readSignedData(der: Buffer): SignedData | undefined {
  const outer = der.length > LARGEST ? undefined : readBer(der)
  const [type, wrapper] = outer?.children ?? []
  if (outer?.tag !== TAG.sequence || oid(type) !== OID.signedData || wrapper?.tag !== TAG.context0)
    return undefined
  const parts = wrapper.children[0]?.children ?? []
  const content = readContent(parts[2])
  const last = parts.at(-1)
  const rest = parts.slice(3, -1)
  const known = rest.every(part => part.tag === TAG.context0 || part.tag === TAG.context1)
  if (!content || !known || parts.length < 4 || last?.tag !== TAG.set) return undefined
  const signers = last.children.map(readSigner)
  return signers.length === 0 || signers.includes(undefined)
    ? undefined
    : { content, signers: signers as Signer[] }
}

function readContent(info: Node | undefined): Buffer | undefined {
  const [type, wrapper] = info?.children ?? []
  if (oid(type) !== OID.data || wrapper?.tag !== TAG.context0 || wrapper.children.length !== 1)
    return undefined
  const content = octets(wrapper.children[0])
  return content && content.length > 0 ? content : undefined
}

function readSigner(node: Node): Signer | undefined {
  const [, name, digestAlgorithm, ...rest] = node.children
  const [issuer, serial] = name?.children ?? []
  const attributesNode = rest[0]?.tag === TAG.context0 ? rest.shift() : undefined
  const [signatureAlgorithm, signatureNode] = rest
  const digest = digests[oid(digestAlgorithm?.children[0]) ?? '']
  const algorithm = algorithms[oid(signatureAlgorithm?.children[0]) ?? '']
  const signature = octets(signatureNode)
  if (issuer?.tag !== TAG.sequence || serial?.tag !== TAG.integer || !digest || !algorithm || !signature)
    return undefined
  if (algorithm.digest && algorithm.digest !== digest) return undefined
  const base = { issuer: issuer.raw, serial: serial.content, digest, family: algorithm.family, signature }
  if (!attributesNode) return base
  const attributes = readAttributes(attributesNode)
  return attributes && { ...base, attributes }
}

// The signature covers the attributes as a SET OF, not under the tag [0] that they travel with.
function readAttributes(node: Node): SignedAttributes | undefined {
  const values = (type: string) =>
    node.children.filter(child => oid(child.children[0]) === type).map(child => child.children[1])
  const contentTypes = values(OID.contentType)
  const [digestValues, second] = values(OID.messageDigest)
  const messageDigest = digestValues?.children.length === 1 ? octets(digestValues.children[0]) : undefined
  const plain = contentTypes.every(set => set?.children.length === 1 && oid(set.children[0]) === OID.data)
  if (!messageDigest || second || !plain || contentTypes.length > 1) return undefined
  return { signed: withTag(TAG.set, node.content), messageDigest }
}
