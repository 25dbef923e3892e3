import {
  BER_TAG,
  type BerNode,
  encodeAsDer,
  encodeDerElement,
  readBer,
  readBerOctets,
  readBerOid,
} from './ber.ts'
import { digestAlgorithmOf, findSignatureAlgorithm, type SignatureAlgorithm } from './signature-algorithms.ts'

/**
 * The parts of a CMS SignedData that a verification needs.
 * @see https://www.rfc-editor.org/rfc/rfc5652#section-5
 */
export interface CmsSignedData {
  content: Buffer
  signers: readonly CmsSigner[]
}

export interface CmsSigner {
  /** DER of the issuer's name */
  issuer: Buffer
  /** content octets of the serial number */
  serial: Buffer
  algorithm: SignatureAlgorithm
  signature: Buffer
  /** set if the signature covers attributes instead of the content */
  attributes?: CmsSignedAttributes
}

export interface CmsSignedAttributes {
  /** DER of the signed SET OF */
  signed: Buffer
  messageDigest: Buffer
}

const OID = {
  signedData: '1.2.840.113549.1.7.2',
  data: '1.2.840.113549.1.7.1',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
} as const

/** Larger messages are not identity documents. @see docs/spec/login-ec2.md#pkcs7 */
const LARGEST = 65_536

/** Version of a SignedData and SignerInfo that identify signers by issuer and serial number. */
const VERSION = '01'

/**
 * Parses a SignedData that contains its content. Ignores the certificates and revocation lists in the message, because a sender could put its own certificate there. Requires the exact structure: each element has its tag and position, and no other elements exist.
 *
 * @returns undefined for any other structure, or without content or signers
 */
export function parseSignedData(der: Buffer): CmsSignedData | undefined {
  const outer = der.length > LARGEST ? undefined : readBer(der)
  const [type, wrapper] = fields(outer, BER_TAG.sequence, 2)
  if (readBerOid(type) !== OID.signedData) return undefined
  const [body] = fields(wrapper, BER_TAG.context0, 1)
  const [version, digestAlgorithms, info, ...rest] = body?.tag === BER_TAG.sequence ? body.children : []
  const signerInfos = rest.pop()
  const extras = rest.map(part => part.tag)
  const content = readContent(info)
  const framed =
    isVersion(version) && digestAlgorithms?.tag === BER_TAG.set && signerInfos?.tag === BER_TAG.set
  if (!framed || !content || !isSubsequence(extras, [BER_TAG.context0, BER_TAG.context1])) return undefined
  const listed = digestAlgorithms.children.map(node => digestAlgorithmOf(algorithmId(node)))
  const signers = signerInfos.children.map(readSigner)
  const known = signers.every(signer => signer !== undefined && listed.includes(signer.algorithm.digest))
  return known && signers.length > 0 ? { content, signers: signers as CmsSigner[] } : undefined
}

/** Returns the children of an element with this tag and number of children; else none. */
const fields = (node: BerNode | undefined, tag: number, count: number): readonly BerNode[] =>
  node?.tag === tag && node.children.length === count ? node.children : []

const isVersion = (node: BerNode | undefined): boolean =>
  node?.tag === BER_TAG.integer && node.content.toString('hex') === VERSION

const isSubsequence = (tags: readonly number[], of: readonly number[]): boolean =>
  tags.join() === of.filter(tag => tags.includes(tag)).join()

function readContent(info: BerNode | undefined): Buffer | undefined {
  const [type, wrapper] = fields(info, BER_TAG.sequence, 2)
  const [string] = fields(wrapper, BER_TAG.context0, 1)
  const content = readBerOid(type) === OID.data ? readBerOctets(string) : undefined
  return content && content.length > 0 ? content : undefined
}

function readSigner(node: BerNode): CmsSigner | undefined {
  const [version, name, digestNode, ...rest] = node.tag === BER_TAG.sequence ? node.children : []
  const [issuer, serial] = fields(name, BER_TAG.sequence, 2)
  const attributesNode = rest[0]?.tag === BER_TAG.context0 ? rest.shift() : undefined
  if (rest[2]?.tag === BER_TAG.context1) rest.pop()
  const [algorithmNode, signatureNode] = rest
  const algorithm = findSignatureAlgorithm(algorithmId(digestNode), algorithmId(algorithmNode))
  const signature = readBerOctets(signatureNode)
  const named = issuer?.tag === BER_TAG.sequence && serial?.tag === BER_TAG.integer
  if (!isVersion(version) || !named || !algorithm || !signature || rest.length !== 2) return undefined
  const base = { issuer: encodeAsDer(issuer), serial: serial.content, algorithm, signature }
  if (!attributesNode) return base
  const attributes = readAttributes(attributesNode)
  return attributes && { ...base, attributes }
}

/** Returns the identifier of an AlgorithmIdentifier without parameters or with NULL parameters. */
function algorithmId(node: BerNode | undefined): string | undefined {
  if (node?.tag !== BER_TAG.sequence) return undefined
  const [id, parameters, ...more] = node.children
  const plain = !parameters || (parameters.tag === BER_TAG.null && parameters.content.length === 0)
  return plain && more.length === 0 ? readBerOid(id) : undefined
}

// The signature covers the attributes encoded as a SET OF, not under the tag [0] of the message.
function readAttributes(node: BerNode): CmsSignedAttributes | undefined {
  const pairs = node.children.map(child => fields(child, BER_TAG.sequence, 2))
  const values = (wanted: string) =>
    pairs.filter(([type]) => readBerOid(type) === wanted).map(([, set]) => fields(set, BER_TAG.set, 1)[0])
  const contentTypes = values(OID.contentType)
  const [digest, second] = values(OID.messageDigest)
  const messageDigest = readBerOctets(digest)
  const plain = contentTypes.length < 2 && contentTypes.every(value => readBerOid(value) === OID.data)
  const typed = pairs.every(([type]) => readBerOid(type) !== undefined)
  if (!messageDigest || second || !plain || !typed) return undefined
  return {
    signed: encodeDerElement(BER_TAG.set, Buffer.concat(node.children.map(encodeAsDer))),
    messageDigest,
  }
}
