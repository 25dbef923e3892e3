import { verify } from 'node:crypto'
import { createRefusal, type Refusal } from '../api/errors.ts'
import type { TrustedKey } from '../model/trusted-key.ts'
import { readBase64 } from '../values/base64.ts'
import { isObject, type JsonLimits, readJson } from '../values/json.ts'
import { partitionOfRegion, unsupportedRegionFault } from '../values/region.ts'
import { failed, ok, type Result } from '../values/result.ts'
import { type PreciseTime, parsePreciseTime } from '../values/time.ts'
import { verifySignedData } from './pkcs7.ts'
import { type CmsSignedData, parseSignedData } from './signed-data.ts'

/** The content of an identity document that AWS signs for an instance. @see docs/spec/login-ec2.md#document */
export interface InstanceDocument {
  instanceId: string
  /** empty if the document has no image ID */
  imageId: string
  accountId: string
  region: string
  /** verbatim; time of the launch or the last start */
  pendingTime: string
  startedAt: PreciseTime
}

declare const verified: unique symbol

/** A document whose signature a trusted key has verified. Only `verifyDocumentProof` produces this type. */
export type VerifiedProof = InstanceDocument & { readonly [verified]: true }

/** A parsed but unverified proof. */
export type DocumentProof =
  | { form: 'pkcs7'; message: CmsSignedData }
  | { form: 'identity'; bytes: Buffer; signature: Buffer }

export interface DocumentProofInput {
  pkcs7?: string
  identity?: string
  signature?: string
}

/** The client's text for every failed verification. The audit log has the exact reason. */
const UNVERIFIED =
  'the signature of the identity document could not be verified; use the rsa2048 document as pkcs7, ' +
  'or identity with signature or another document for which a certificate is registered'

const unverifiable = (why: string) => failed(createRefusal(why, UNVERIFIED))

/**
 * Parses the proof of a login. Returns a refusal if it cannot be a signed identity document.
 * @see docs/spec/login-ec2.md#proof
 */
export function readDocumentProof({
  pkcs7 = '',
  identity = '',
  signature = '',
}: DocumentProofInput): Result<DocumentProof, Refusal> {
  if (pkcs7 === '' && identity === '' && signature === '') {
    return failed(createRefusal('proof-missing', 'give pkcs7, or both identity and signature'))
  }
  if (pkcs7 === '') return readIdentity(identity, signature)
  if (identity !== '' && signature !== '') {
    return failed(createRefusal('proof-ambiguous', 'give either pkcs7, or identity and signature, not both'))
  }
  return readPkcs7(pkcs7)
}

function readIdentity(identity: string, signature: string): Result<DocumentProof, Refusal> {
  const bytes = readBase64(identity)
  const signed = readBase64(signature)
  if (!bytes?.length) return failed(createRefusal('identity-encoding', 'identity must be base64'))
  if (!signed) return failed(createRefusal('signature-encoding', 'signature must be base64'))
  return ok({ form: 'identity', bytes, signature: signed })
}

const ARMOUR = /^\s*-----BEGIN (PKCS7|CMS)-----\s([\s\S]*?)-----END \1-----\s*$/

function readPkcs7(pkcs7: string): Result<DocumentProof, Refusal> {
  const body = ARMOUR.exec(pkcs7)?.[2] ?? pkcs7
  const der = readBase64(body)
  const message = der && parseSignedData(der)
  if (message) return ok({ form: 'pkcs7', message })
  const fault = messageFault(body, der)
  const text = `pkcs7 ${fault}; send the rsa2048 document exactly as the metadata service returns it`
  return failed(createRefusal('not-signed-data', text))
}

/** Describes why a text is not CMS SignedData. */
function messageFault(text: string, der: Buffer | undefined): string {
  if (/^\s*</.test(text))
    return 'is a page in HTML or XML, such as an error of the metadata service or of a proxy'
  if (!der) return 'is not base64, or is cut off'
  if (readBase64(der.toString('latin1'), 'optional')?.length) return 'is encoded in base64 twice'
  return isCutOff(der) ? 'is cut off' : 'is not a CMS SignedData structure that contains a document'
}

const SEQUENCE = 0x30
const LONG_FORM = 0x80

/** Reports whether the outermost element is longer than the input, or has no end. */
function isCutOff(der: Buffer): boolean {
  const [tag, length = 0] = der
  if (tag !== SEQUENCE) return false
  if (length === LONG_FORM) return der.readUInt16BE(der.length - 2) !== 0
  const digits = Math.max(0, length - LONG_FORM)
  const announced = der.subarray(2, 2 + digits).reduce((sum, byte) => sum * 256 + byte, 0)
  return 2 + digits + (digits > 0 ? announced : length) > der.length
}

/**
 * The document forms that each kind of key signs. Registered certificates are already filtered by form.
 * @see docs/spec/login-ec2.md#certificates
 */
const formsOf: Readonly<Record<TrustedKey['origin'], readonly DocumentProof['form'][]>> = {
  registered: ['pkcs7', 'identity'],
  rsa2048: ['pkcs7', 'identity'],
  dsa: ['pkcs7'],
  rsa: ['identity'],
}

/**
 * Verifies a document with the trusted keys, and parses it only after its signature is verified.
 *
 * @param legacy accepts SHA-1, and for documents in pkcs7 form also DSA and RSA-1024
 * @see docs/spec/login-ec2.md#proof
 */
export function verifyDocumentProof(
  proof: DocumentProof,
  keys: readonly TrustedKey[],
  legacy: boolean,
): Result<VerifiedProof, Refusal> {
  const ofForm = keys.filter(({ origin }) => formsOf[origin].includes(proof.form))
  const fault = faultOf(proof, ofForm, legacy)
  if (fault) return unverifiable(fault)
  const document = parseInstanceDocument(proof.form === 'pkcs7' ? proof.message.content : proof.bytes)
  if (!document.ok) return document
  // AWS publishes some keys for certain regions only, so they must not verify documents of other regions.
  const here = ofForm.filter(({ regions }) => !regions || regions.includes(document.value.region))
  const foreign = here.length === ofForm.length ? undefined : faultOf(proof, here, legacy)
  return foreign ? unverifiable(foreign) : ok(document.value as VerifiedProof)
}

function faultOf(proof: DocumentProof, keys: readonly TrustedKey[], legacy: boolean): string | undefined {
  const verdict =
    proof.form === 'pkcs7' ? verifySignedData(proof.message, keys, legacy) : bySignature(proof, keys)
  return verdict.ok ? undefined : verdict.fault
}

/** Reports whether a registered certificate may still verify the document after this refusal. */
export const needsMoreKeys = (found: Refusal): boolean =>
  ['unknown-signer', 'signature', 'weak-key'].includes(found.why)

/** Adds to a refusal that the mount has no registered certificate that could have verified the document. */
export const addCertificateHint = (found: Refusal, form: DocumentProof['form']): Refusal =>
  needsMoreKeys(found)
    ? {
        ...found,
        text: `${found.text}; no certificate of type ${form} is registered at this mount (config/certificate)`,
      }
    : found

function bySignature(
  proof: Extract<DocumentProof, { form: 'identity' }>,
  keys: readonly TrustedKey[],
): Result<TrustedKey, 'signature'> {
  const by = keys.find(trusted => {
    const key = trusted.key()
    return key.asymmetricKeyType === 'rsa' && verify('sha256', proof.bytes, key, proof.signature)
  })
  return by ? ok(by) : failed('signature')
}

const LIMITS: JsonLimits = { depth: 8, members: 200, values: 1000, uniqueKeys: true }
const INSTANCE = /^i-[0-9a-f]{8,17}$/
const ACCOUNT = /^\d{12}$/

/** Parses the document's fields from exactly the signed bytes. @see docs/spec/login-ec2.md#document */
export function parseInstanceDocument(bytes: Buffer): Result<InstanceDocument, Refusal> {
  const fault = (what: string) => failed(createRefusal('document', `the identity document ${what}`))
  const text = bytes.toString('utf8')
  const read = readJson(text, LIMITS)
  if (!read.ok || !isObject(read.value) || !Buffer.from(text).equals(bytes))
    return fault('is not a JSON object')
  const field = (name: string): string => {
    const value = Object.hasOwn(read.value as object, name)
      ? (read.value as Record<string, unknown>)[name]
      : ''
    return typeof value === 'string' ? value : ''
  }
  const [instanceId, accountId, region] = [field('instanceId'), field('accountId'), field('region')]
  const pendingTime = field('pendingTime')
  const startedAt = parsePreciseTime(pendingTime)
  if (!INSTANCE.test(instanceId)) return fault('names no instance')
  if (!ACCOUNT.test(accountId)) return fault('names no account')
  if (!partitionOfRegion(region))
    return fault(unsupportedRegionFault(region, 'names a region that') ?? 'names no region')
  if (!startedAt) return fault('has no valid pendingTime')
  return ok({ instanceId, imageId: field('imageId'), accountId, region, pendingTime, startedAt })
}
