import { verify } from 'node:crypto'
import { createRefusal, type Refusal } from '../api/errors.ts'
import type { IssuerKey, JwtAlgorithm } from '../model/jwt.ts'
import { decodeUnpaddedBase64Url } from '../values/base64.ts'
import { isObject, readJson } from '../values/json.ts'
import { failed, ok, type Result } from '../values/result.ts'
import { type AwsIssuer, parseAwsIssuer } from './aws-issuer.ts'
import { KEY_ID, keyObjectOf } from './jwk.ts'

type Claims = Readonly<Record<string, unknown>>

/** A token that nobody has verified yet. Times are epoch seconds. */
export interface ParsedJwt {
  alg: JwtAlgorithm
  kid: string
  issuer: AwsIssuer
  /** ARN of the user or role, as AWS writes it */
  sub: string
  audiences: readonly string[]
  iat: number
  exp: number
  nbf?: number
  jti: string
  /** AWS's own claims */
  aws: Claims
  /** the received bytes that the signature covers */
  signed: Buffer
  signature: Buffer
}

declare const verified: unique symbol

/** A token whose signature was verified. Only `verifyJwt` makes this type. */
export type VerifiedJwt = ParsedJwt & { readonly [verified]: true }

const LONGEST_TOKEN = 32 * 1024
const LIMITS = { depth: 8, members: 200, values: 500, uniqueKeys: true }
/** Names in the header that would change how a token is read, or bring a key. */
const REFUSED_HEADERS = ['jku', 'jwk', 'x5u', 'x5c', 'x5t', 'x5t#S256', 'crit', 'b64', 'zip', 'cty']
const JTI = /^[\x21-\x7e]{1,128}$/
const MOST_AUDIENCES = 10
const LONGEST_TEXT = 2048
const AWS_CLAIMS = 'https://sts.amazonaws.com/'

const malformed = createRefusal('jwt-form', 'jwt is not a signed token of the expected form')
const otherSubject = createRefusal(
  'jwt-subject',
  'the subject of the token is not the user or role that asked AWS for it: ask without SubjectMode',
)
const UNTRUSTED = 'the issuer of the token is not trusted here'

/** Builds a refusal that does not say more than that the issuer is not trusted. */
export const untrustedIssuer = (why: string): Refusal => createRefusal(why, UNTRUSTED)

/** Builds the refusal of an algorithm. */
export const algorithmRefusal = createRefusal(
  'jwt-algorithm',
  'the algorithm is not accepted here: ask AWS for RS256',
)

/**
 * Parses a token in the form in which AWS signs tokens, and nothing else.
 * @see docs/spec/login-jwt.md#token
 */
export function parseJwt(text: string): Result<ParsedJwt, Refusal> {
  if (text.length > LONGEST_TOKEN) return failed(malformed)
  const parts = text.split('.')
  const [head = '', body = '', tail = ''] = parts
  const signature = decodeUnpaddedBase64Url(tail)
  const header = objectIn(head)
  const claims = objectIn(body)
  if (parts.length !== 3 || !signature || !header || !claims) return failed(malformed)
  const { alg, kid, typ } = header
  if (typeof alg !== 'string' || typeof kid !== 'string' || !KEY_ID.test(kid)) return failed(malformed)
  if ((typ !== undefined && typ !== 'JWT') || REFUSED_HEADERS.some(name => Object.hasOwn(header, name)))
    return failed(malformed)
  if (alg !== 'RS256' && alg !== 'ES384') return failed(algorithmRefusal)
  const read = readRegisteredClaims(claims)
  if (!read) return failed(malformed)
  const issuer = parseAwsIssuer(read.iss)
  if (!issuer) return failed(untrustedIssuer('jwt-issuer'))
  const { iss: _, ...rest } = read
  // with a subject mode, `sub` is a name that another identity provider chose, and may look like any ARN; AWS writes
  // `principal_id` for every user and role
  if (read.aws['principal_id'] !== read.sub) return failed(otherSubject)
  return ok({ ...rest, alg, kid, issuer, signed: Buffer.from(`${head}.${body}`), signature })
}

/** Decodes a part of a token, which must be one JSON object in UTF-8. */
function objectIn(part: string): Claims | undefined {
  const bytes = decodeUnpaddedBase64Url(part)
  const text = bytes && decodeUtf8(bytes)
  const read = text === undefined ? undefined : readJson(text, LIMITS)
  return read?.ok && isObject(read.value) ? read.value : undefined
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function readRegisteredClaims(claims: Claims) {
  const { iss, sub, jti, iat, exp, nbf, aud } = claims
  const aws = claims[AWS_CLAIMS]
  const audiences = typeof aud === 'string' ? [aud] : aud
  if (!isText(iss) || !isText(sub) || typeof jti !== 'string' || !JTI.test(jti)) return undefined
  if (!isTime(iat) || !isTime(exp) || (nbf !== undefined && !isTime(nbf)) || !isObject(aws)) return undefined
  if (!Array.isArray(audiences) || !audiences.every(isText)) return undefined
  if (audiences.length === 0 || audiences.length > MOST_AUDIENCES) return undefined
  return { iss, sub, jti, iat, exp, ...(nbf === undefined ? {} : { nbf }), audiences, aws }
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_TEXT

const isTime = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const ES384_SIGNATURE = 96

/**
 * Verifies a token with a key of its issuer. The key's type determines the algorithm, never the token alone.
 * @returns undefined if the signature is not the key's
 */
export function verifyJwt(jwt: ParsedJwt, key: IssuerKey): VerifiedJwt | undefined {
  if (jwt.alg !== key.alg) return undefined
  const object = keyObjectOf(key)
  const { signed, signature } = jwt
  const isValid =
    key.alg === 'RS256'
      ? signature.length * 8 === object.asymmetricKeyDetails?.modulusLength &&
        verify('sha256', signed, object, signature)
      : signature.length === ES384_SIGNATURE &&
        verify('sha384', signed, { key: object, dsaEncoding: 'ieee-p1363' }, signature)
  return isValid ? (jwt as VerifiedJwt) : undefined
}
