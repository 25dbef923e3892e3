import { createRefusal, type Refusal } from '../../api/errors.ts'
import { type AwsClaims, readAwsClaims } from '../../identity-proof/aws-claims.ts'
import {
  algorithmRefusal,
  type ParsedJwt,
  untrustedIssuer,
  type VerifiedJwt,
} from '../../identity-proof/jwt.ts'
import type { JwtConfig, StoredIssuer } from '../../model/jwt.ts'
import { parseIamEntity } from '../../values/arn.ts'
import { failed, ok, type Result } from '../../values/result.ts'
import type { JwtBearer } from './facts.ts'

/** AWS signs tokens for at most an hour. */
const LONGEST_TOKEN_SECONDS = 3600

/**
 * Checks what a token says about itself. None of these checks depends on a role, so their refusals tell strangers
 * nothing about roles.
 * @param now epoch milliseconds
 */
export function findTokenFault(jwt: ParsedJwt, config: JwtConfig, now: number): Refusal | undefined {
  if (!config.algorithms.includes(jwt.alg)) return algorithmRefusal
  const isMeant = jwt.audiences.some(audience => config.boundAudiences.includes(audience))
  // another service that accepts the token could use the token here
  if (!isMeant || (jwt.audiences.length > 1 && !config.allowSeveralAudiences))
    return createRefusal('jwt-audience', 'the token is not for this service')
  return findTimeFault(jwt, config, Math.floor(now / 1000))
}

function findTimeFault(jwt: ParsedJwt, config: JwtConfig, now: number): Refusal | undefined {
  const { iat, exp, nbf = iat } = jwt
  const { leeway, maxTokenAge } = config
  const ahead = Math.max(iat, nbf) - now
  if (ahead > leeway)
    return createRefusal('jwt-future', `the token is ${ahead} seconds ahead of the clock here`)
  if (exp <= now - leeway || exp <= iat || exp - iat > LONGEST_TOKEN_SECONDS)
    return createRefusal('jwt-expired', 'the token has expired')
  return now - iat > maxTokenAge + leeway
    ? createRefusal('jwt-age', `the token is older than ${maxTokenAge} seconds`)
    : undefined
}

/** Checks that an issuer may speak at all. An absent issuer may be learnt if the token names an organization of the mount. */
export function findIssuerFault(
  jwt: ParsedJwt,
  config: JwtConfig,
  issuer: StoredIssuer | undefined,
): Refusal | undefined {
  if (!issuer) return isOfMember(readAwsClaims(jwt), config) ? undefined : untrustedIssuer('jwt-issuer')
  if (issuer.partition !== jwt.issuer.partition) return untrustedIssuer('jwt-issuer')
  if (issuer.superseded) return untrustedIssuer('jwt-issuer-superseded')
  return issuer.blocked ? untrustedIssuer('jwt-issuer-blocked') : undefined
}

/** Reports whether claims name an organization of the mount. */
const isOfMember = ({ orgId }: AwsClaims, { organizations }: JwtConfig): boolean =>
  orgId !== undefined && organizations.includes(orgId)

/** The refusal of a token for an account that is not its issuer's. */
export const otherAccountRefusal = createRefusal(
  'jwt-account',
  'the token speaks for another account than its issuer',
)

/**
 * Checks whom a verified token speaks for.
 * @param issuer the stored issuer; absent while the issuer is learnt
 */
export function identifyBearer(
  token: VerifiedJwt,
  config: JwtConfig,
  issuer: StoredIssuer | undefined,
): Result<JwtBearer, Refusal> {
  const claims = readAwsClaims(token)
  const { account } = claims
  const entity = parseIamEntity(token.sub)
  if (!entity || (entity.type !== 'user' && entity.type !== 'role'))
    return failed(createRefusal('jwt-subject', 'the subject of the token is neither a user nor a role'))
  const speaksForOwn =
    account !== undefined &&
    entity.account === account &&
    entity.partition === token.issuer.partition &&
    (issuer === undefined || issuer.account === account)
  if (!speaksForOwn) return failed(otherAccountRefusal)
  if (config.blockedAccounts.includes(account)) return failed(untrustedIssuer('jwt-account-blocked'))
  if ((!issuer || issuer.learnt) && !isOfMember(claims, config))
    return failed(untrustedIssuer('jwt-organization'))
  return ok({ token, claims, entity, account })
}

/** Returns the identity of a token for the audit log, as far as it may be believed. */
export const describeToken = (jwt: ParsedJwt, isVerified: boolean) => ({
  issuer: jwt.issuer.id,
  kid: jwt.kid,
  ...(isVerified ? { account: readAwsClaims(jwt).account, sub: jwt.sub, jti: jwt.jti } : {}),
})
