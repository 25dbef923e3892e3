import { ApiError, createRefusal, type Refusal } from '../api/errors.ts'
import type { StsAnswer } from '../ports.ts'
import { canonicalArnOf, type IamEntity, parseIamEntity, parseInstanceRoleArn } from '../values/arn.ts'
import { defined } from '../values/defined.ts'
import { failed, ok, type Result } from '../values/result.ts'
import { isThrottlingCode } from '../values/throttling.ts'
import { onlyXmlChild, readXml, type XmlElement } from '../values/xml.ts'

interface CallerNames {
  /** as returned by STS, including the session name of an assumed role */
  arn: string
  /** 12 digits */
  account: string
  /** ARN of the principal without path and session; for an instance, `arn` */
  canonicalArn: string
  /** AIDA… or AROA…, without the session name; for an instance, its ID */
  uniqueId: string
}

/** A user, or a session of a role, that signed a caller-identity request. */
export interface PrincipalIdentity extends CallerNames {
  kind: 'principal'
  entity: IamEntity
}

/** An instance that signed a caller-identity request with the credentials of its own role. */
export interface InstanceIdentity extends CallerNames {
  kind: 'instance'
}

/** The identity of the signer of a caller-identity request, as STS returned it. */
export type CallerArnIdentity = PrincipalIdentity | InstanceIdentity

declare const verified: unique symbol

/** An identity that STS returned for the caller's own signature. Only `readCallerIdentity` produces this type. */
export type VerifiedIdentity = CallerArnIdentity & { readonly [verified]: true }

const NAMESPACE = 'https://sts.amazonaws.com/doc/2011-06-15/'

/** STS error codes about signatures. No other text from STS is passed on. */
const CODES = [
  'AccessDenied',
  'ExpiredToken',
  'ExpiredTokenException',
  'IncompleteSignature',
  'InvalidAction',
  'InvalidClientTokenId',
  'InvalidParameterValue',
  'MissingAuthenticationToken',
  'OptInRequired',
  'RequestExpired',
  'SignatureDoesNotMatch',
]

/**
 * Reads the response of STS strictly: exactly one caller-identity document and nothing else.
 *
 * @param age seconds since the request was signed; undefined: unknown
 * @throws ApiError `busy` or `provider_failed` if STS could not answer
 * @see docs/spec/login-iam.md#answer-of-sts (CVE-2020-16250)
 */
export function readCallerIdentity(
  { status, contentType, body }: StsAnswer,
  age?: number,
): Result<VerifiedIdentity, StsRefusal> {
  const document = contentType === 'text/xml' ? readXml(body.replace(/^[ \t\r\n]+/, '')) : undefined
  const code = document && errorCode(document)
  if (status === 429 || isThrottlingCode(code))
    throw new ApiError('busy', 'STS is throttling requests', {
      retryAfter: 1,
      reason: { why: 'throttled', service: 'sts' },
    })
  if (status >= 500)
    throw new ApiError('provider_failed', 'STS could not answer', {
      reason: { why: 'provider-failed', service: 'sts', status },
    })
  if (contentType !== 'text/xml') return unexpected
  if (status >= 400)
    return failed({
      ...createStsRefusal(age),
      seen: defined({
        status,
        code: code && CODES.includes(code) ? code : undefined,
        age,
      }),
    })
  if (status !== 200) return failed(createRefusal('sts-refused', `STS answered ${status}`))
  return document ? identityOf(document) : unexpected
}

/** A refusal with the STS error, for the audit log and for `explain`. */
type StsRefusal = Refusal & { seen?: Record<string, unknown> }

/** Signatures older or newer than this get a hint about the clock. STS accepts a signature for fifteen minutes. */
const CLOCK_OFF_SECONDS = 5 * 60
const DAY_SECONDS = 24 * 60 * 60

/**
 * Builds the refusal for every request that STS rejects. A missing mount returns the same text, so the text depends on the
 * request alone.
 * @param age seconds since the request was signed, by the server's clock
 */
export function createStsRefusal(age = 0): Refusal {
  const off = Math.abs(age)
  const time = off > DAY_SECONDS ? 'more than a day' : `${Math.round(off / 60)} minutes`
  const when = age > 0 ? `${time} ago, and STS takes 15 minutes` : `${time} ahead of time`
  const clock = off > CLOCK_OFF_SECONDS ? `; by the server’s clock the request was signed ${when}` : ''
  return createRefusal(
    'sts-refused',
    `STS answered that the request is not signed validly, or no longer: check the credentials, the clock and the region that it was signed for${clock}`,
  )
}

const unexpected = failed(createRefusal('sts-answer', 'unexpected answer from STS'))

const errorCode = (document: XmlElement): string | undefined => {
  const error = document.name === 'ErrorResponse' ? onlyXmlChild(document, 'Error') : undefined
  return error && onlyXmlChild(error, 'Code')?.text
}

function identityOf(document: XmlElement): Result<VerifiedIdentity, Refusal> {
  const result =
    document.name === 'GetCallerIdentityResponse'
      ? onlyXmlChild(document, 'GetCallerIdentityResult')
      : undefined
  const [arn, userId, account] = ['Arn', 'UserId', 'Account'].map(
    name => result && onlyXmlChild(result, name)?.text,
  )
  if (document.namespace !== NAMESPACE || !arn || !userId || !account) return unexpected
  const instance = parseInstanceRoleArn(arn)
  if (instance) return instanceIdentity(arn, userId, account, instance)
  const entity = parseIamEntity(arn)
  if (!entity || (entity.type !== 'user' && entity.type !== 'assumed-role')) {
    return failed(createRefusal('principal-type', 'only IAM users and assumed roles can log in'))
  }
  const uniqueId = userId.split(':')[0] ?? ''
  if (entity.account !== account || uniqueId === '') return unexpected
  const canonicalArn = canonicalArnOf(entity)
  return ok({ kind: 'principal', arn, account, canonicalArn, uniqueId, entity } as VerifiedIdentity)
}

/**
 * Reads an instance's own identity. Its `UserId` begins with the account, which all instances of an account share,
 * so the unique ID is the instance's ID. @see docs/spec/login-iam.md#instances
 */
function instanceIdentity(
  arn: string,
  userId: string,
  account: string,
  named: { account: string; instanceId: string },
): Result<VerifiedIdentity, Refusal> {
  const uniqueId = named.instanceId
  if (named.account !== account || userId !== `${account}:aws:ec2-instance:${uniqueId}`) return unexpected
  return ok({ kind: 'instance', arn, account, canonicalArn: arn, uniqueId } as VerifiedIdentity)
}
