import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { secretsEqual } from '../../../../shared/values/secret.ts'
import { type AwsErrorText, createErrorText } from '../wire/errors.ts'
import { requestHeaderOf, type WireRequest } from '../wire/http.ts'
import { buildCanonicalRequest, sha256Hex } from './canonical.ts'
import { type PresentedSignature, toBasicTimeText } from './presented-signature.ts'

/** The facts on an access key that the verifier of signatures needs. */
export interface SigningKeyFacts {
  secretAccessKey: string
  /** Session token of temporary credentials; the request must carry the same token. */
  sessionToken?: string | undefined
  /** Milliseconds since 1970; absent for keys that do not expire. */
  expiresAt?: number | undefined
}

const maxAgeMs = 15 * 60_000
const maxAheadMs = 5 * 60_000

/**
 * Verifies that a key signed a request, completely and recently.
 * @param presented what `readPresentedSignature` found in the same request
 * @param now milliseconds since 1970, the provider's clock
 * @returns undefined if the signature is valid, else the reason
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function verifySignature(
  request: WireRequest,
  presented: PresentedSignature,
  key: SigningKeyFacts,
  now: number,
): AwsErrorText | undefined {
  return (
    checkTime(presented, now) ??
    checkToken(presented, key) ??
    checkCoverage(request, presented) ??
    checkPayloadHash(request) ??
    checkSignature(request, presented, key) ??
    checkSession(key, now)
  )
}

function checkTime({ timestamp, scope }: PresentedSignature, now: number): AwsErrorText | undefined {
  const signedAt = parseBasicDate(timestamp)
  if (signedAt === undefined) {
    return createErrorText('incomplete', `Date must be in ISO-8601 'basic format'. Got '${timestamp}'.`)
  }
  if (timestamp.slice(0, 8) !== scope.date) {
    return createErrorText(
      'bad-signature',
      'Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: ' +
        `'${scope.date}' != '${timestamp.slice(0, 8)}', from '${timestamp}'.`,
    )
  }
  if (signedAt < now - maxAgeMs) {
    const limit = `${toBasicTimeText(now - maxAgeMs)} (${toBasicTimeText(now)} - 15 min.)`
    return createErrorText('stale-signature', `Signature expired: ${timestamp} is now earlier than ${limit}`)
  }
  if (signedAt > now + maxAheadMs) {
    const limit = `${toBasicTimeText(now + maxAheadMs)} (${toBasicTimeText(now)} + 5 min.)`
    return createErrorText(
      'stale-signature',
      `Signature not yet current: ${timestamp} is still later than ${limit}`,
    )
  }
  return undefined
}

const checkToken = (presented: PresentedSignature, key: SigningKeyFacts): AwsErrorText | undefined =>
  presented.sessionToken === key.sessionToken
    ? undefined
    : createErrorText('unknown-key', 'The security token included in the request is invalid.')

/** Checks that `host` and every `x-amz-` header are signed, and that every signed header is present. */
function checkCoverage(request: WireRequest, presented: PresentedSignature): AwsErrorText | undefined {
  const signed = new Set(presented.signedHeaders)
  const present = new Set(request.headers.map(([name]) => name))
  const left = [...present].find(name => name.startsWith('x-amz-') && !signed.has(name))
  const unsigned = signed.has('host') ? left : 'host'
  if (unsigned !== undefined) {
    return createErrorText(
      'bad-signature',
      `'${unsigned}' must be a 'SignedHeader' in the AWS Authorization.`,
    )
  }
  const absent = presented.signedHeaders.find(name => !present.has(name))
  if (absent === undefined) return undefined
  return createErrorText('bad-signature', `'${absent}' is a 'SignedHeader' but is not in the request.`)
}

function checkPayloadHash(request: WireRequest): AwsErrorText | undefined {
  const stated = requestHeaderOf(request, 'x-amz-content-sha256')
  if (stated === undefined || stated === sha256Hex(request.body)) return undefined
  return createErrorText('bad-signature', "The value of 'x-amz-content-sha256' does not match the body.")
}

/**
 * Verifies the signature itself. Signers of a presigned request either sign the session token or append it
 * later, and services differ in the form that they accept, so both forms are tried.
 */
function checkSignature(
  request: WireRequest,
  presented: PresentedSignature,
  key: SigningKeyFacts,
): AwsErrorText | undefined {
  const lateParameters = [['X-Amz-Signature'], ['X-Amz-Signature', 'X-Amz-Security-Token']]
  const tries = presented.form === 'query' && presented.sessionToken !== undefined ? 2 : 1
  const holds = lateParameters
    .slice(0, tries)
    .map(late => sign(buildCanonicalRequest(request, presented, new Set(late)), presented, key))
    .some(signature => secretsEqual(presented.signature, signature))
  if (holds) return undefined
  return createErrorText(
    'bad-signature',
    'The request signature we calculated does not match the signature you provided. ' +
      'Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
  )
}

const checkSession = (key: SigningKeyFacts, now: number): AwsErrorText | undefined =>
  key.expiresAt === undefined || now < key.expiresAt
    ? undefined
    : createErrorText('expired-token', 'The security token included in the request is expired')

function sign(canonical: string, { timestamp, scope }: PresentedSignature, key: SigningKeyFacts): string {
  const scopeText = `${scope.date}/${scope.region}/${scope.service}/aws4_request`
  const toSign = `AWS4-HMAC-SHA256\n${timestamp}\n${scopeText}\n${sha256Hex(canonical)}`
  return hmac(signingKey(key.secretAccessKey, scopeText), toSign).toString('hex')
}

/**
 * Cache of signing keys by secret and scope. Deriving a key costs four of the five hashes of a verification,
 * and the key stays the same all day.
 */
const signingKeys = new Map<string, KeyObject>()
const maxSigningKeys = 1000

function signingKey(secret: string, scopeText: string): KeyObject {
  const known = signingKeys.get(`${secret}/${scopeText}`)
  if (known !== undefined) return known
  if (signingKeys.size >= maxSigningKeys) signingKeys.clear()
  const derived = createSecretKey(scopeText.split('/').reduce<Buffer>(hmac, Buffer.from(`AWS4${secret}`)))
  signingKeys.set(`${secret}/${scopeText}`, derived)
  return derived
}

const hmac = (key: Buffer | KeyObject, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()

function parseBasicDate(text: string): number | undefined {
  if (!/^\d{8}T\d{6}Z$/.test(text)) return undefined
  const time = Date.parse(text.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  return Number.isNaN(time) ? undefined : time
}
