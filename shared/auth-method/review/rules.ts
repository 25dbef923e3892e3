import { isMapStale } from '../../model/organization.ts'
import { wildcardArnsOf } from '../../model/role.ts'
import { normalisePolicySet } from '../../policies/names.ts'
import { canonicalArnOf, parseIamEntity } from '../../values/arn.ts'
import type { ReviewedKind, ReviewFacts, ReviewSource, Severity } from './facts.ts'
import { callersOf, findWideBounds, isNarrowedBy, namesWholeAccount } from './role-width.ts'
import { findOtherTagger } from './trust-policy.ts'

/** A rule of the review. It judges facts that were read before, so it calls nobody. */
interface ReviewRule<K extends ReviewedKind> {
  severity: Severity
  /** the kind of thing that the rule judges */
  about: K
  /** what has to be looked at as a whole before the rule may say that nothing is wrong */
  source: ReviewSource
  /** what an administrator does about a finding */
  fix: string
  /** Returns what is wrong; undefined if nothing is wrong. */
  find(facts: ReviewFacts[K]): string | undefined
}

type AnyRule = { [K in ReviewedKind]: ReviewRule<K> }[ReviewedKind]

const DAY_SECONDS = 86_400
const DAY_MS = DAY_SECONDS * 1000
const MOST_LISTED = 3
/** Days without a login after which a role counts as unused. */
export const UNUSED_DAYS = 90

/** Returns the first of some names, and how many there are besides. */
export const listNames = (names: readonly string[]): string => {
  const more = names.length - MOST_LISTED
  return `${names.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** The bounds by which AWS names one thing, so that other principals of a wildcard cannot log in. */
const EXACT_BOUNDS = [
  'bound_ec2_instance_id',
  'bound_lambda_function_arn',
  'bound_identity_store_user_id',
] as const

const inHours = (seconds: number): string => `${Math.ceil(seconds / 3600)} hours`

/** Returns the ARN that logins of a principal have, without its path. */
const canonical = (arn: string): string => {
  const entity = parseIamEntity(arn)
  return entity ? canonicalArnOf(entity) : arn
}

/**
 * The rules of the review, worst first. To add a rule, add a row: its findings, its verdict and its place in the
 * response follow.
 * @see docs/spec/review.md#rules
 */
export const reviewRules = {
  'no-server-id': {
    severity: 'high',
    about: 'logins',
    source: 'logins',
    fix: 'set iam_server_id_header_value in config/client, and let clients sign the header',
    find: ({ serverId, hasIamRoles }) =>
      hasIamRoles && serverId === ''
        ? 'iam roles exist, but logins need no server ID: a request that was signed for another service logs in here too'
        : undefined,
  },
  'no-external-id': {
    severity: 'high',
    about: 'satellite',
    source: 'satellites',
    fix: 'require an external ID in the trust policy of the role, and set external_id',
    find: ({ account, externalId }) =>
      externalId === '' ? `the role of the account ${account} is assumed without an external ID` : undefined,
  },
  'issuer-fault': {
    severity: 'high',
    about: 'issuer',
    source: 'issuers',
    fix: 'check whether federation is enabled in the account, write the issuer again, or block it',
    find: ({ account, blocked, superseded, lastError }) =>
      lastError !== undefined && !blocked && !superseded
        ? `the last fetch of the keys of the account ${account} failed: ${lastError}`
        : undefined,
  },
  'issuer-replaced': {
    severity: 'high',
    about: 'issuer',
    source: 'issuers',
    fix: 'find out who changed federation in the account, then delete this issuer',
    find: ({ account, superseded }) =>
      superseded ? `another issuer now speaks for the account ${account}` : undefined,
  },
  'map-stale': {
    severity: 'high',
    about: 'mount',
    source: 'settings',
    fix: 'read last_error of config/organization, and give the role of the organization its rights',
    find: ({ map, now }) =>
      map && isMapStale(map, now)
        ? 'the map of the organization is too old, so ec2 and iam roles that bind an organization admit nobody'
        : undefined,
  },
  'tags-without-principal': {
    severity: 'high',
    about: 'role',
    source: 'roles',
    fix: 'set bound_iam_principal_arn, without a wildcard for a whole account',
    find: ({ role: { authType, claims, boundIamPrincipalArns: arns } }) => {
      if (authType !== 'jwt' || !claims?.bound_principal_tags) return undefined
      const wide = arns.find(namesWholeAccount)
      if (arns.length > 0 && wide === undefined) return undefined
      const pair = wide ? `with ${wide} in` : 'without'
      return `bound_principal_tags ${pair} bound_iam_principal_arn: whoever may tag a role or a session of an admitted account chooses the tags`
    },
  },
  'session-tags': {
    severity: 'high',
    about: 'principal',
    source: 'iam',
    fix: 'allow sts:TagSession in the trust policy to the service pods.eks.amazonaws.com alone',
    find: ({ arn, bindsPods, principal }) => {
      const tagger =
        bindsPods && principal?.trustPolicy !== undefined ? findOtherTagger(principal.trustPolicy) : undefined
      return tagger === undefined
        ? undefined
        : `the trust policy of ${arn} lets ${tagger} tag sessions, and so name any pod`
    },
  },
  'whole-account': {
    severity: 'medium',
    about: 'role',
    source: 'roles',
    fix: 'bind principals, instances or claims that only the wanted workloads have',
    find: ({ role }) => {
      const bounds = findWideBounds(role)
      return bounds.length > 0
        ? `no bound names a workload: every ${callersOf(role)} that fits ${listNames(bounds)} may log in`
        : undefined
    },
  },
  'wildcard-principal': {
    severity: 'medium',
    about: 'role',
    source: 'roles',
    fix: 'list the principals without a wildcard, or keep the path before the wildcard under control in IAM',
    find: ({ role }) => {
      const wild = wildcardArnsOf(role).filter(arn => !namesWholeAccount(arn))
      return wild.length > 0 && !EXACT_BOUNDS.some(name => isNarrowedBy(name, role))
        ? `bound_iam_principal_arn has wildcards: ${listNames(wild)}; whoever creates a principal with such a name may log in`
        : undefined
    },
  },
  'no-nonce': {
    severity: 'medium',
    about: 'role',
    source: 'roles',
    fix: 'set disallow_reauthentication, or role_tag with a tag that disallows it',
    find: ({ role: { authType, disallowReauthentication, roleTag } }) =>
      authType === 'ec2' && !disallowReauthentication && roleTag === ''
        ? 'an instance may log in again: only the nonce of its first login protects the instance from a stolen document'
        : undefined,
  },
  'legacy-signatures': {
    severity: 'medium',
    about: 'mount',
    source: 'settings',
    fix: 'switch off the setting legacySignatures of the deployment',
    find: ({ legacySignatures }) =>
      legacySignatures
        ? 'the deployment trusts documents that are signed with SHA-1, DSA or RSA-1024'
        : undefined,
  },
  'weak-certificate': {
    severity: 'medium',
    about: 'certificate',
    source: 'certificates',
    fix: 'register a certificate with an RSA key of 2048 bits or an ECDSA key, and delete this one',
    find: ({ isModern, legacySignatures }) =>
      isModern
        ? undefined
        : `the certificate has a DSA key or a short RSA key${legacySignatures ? '' : ', so no login can use it'}`,
  },
  'certificate-ends': {
    severity: 'medium',
    about: 'certificate',
    source: 'certificates',
    fix: 'register the successor of the certificate',
    find: ({ endsAt, now }) => {
      const days = Math.floor((endsAt - now) / DAY_MS)
      if (days >= 30) return undefined
      return days < 0 ? 'the certificate has ended' : `the certificate ends in ${days} days`
    },
  },
  'long-life': {
    severity: 'medium',
    about: 'role',
    source: 'roles',
    fix: 'set token_max_ttl or token_period to at most 24 hours',
    find: ({ role: { token }, lifeSeconds }) =>
      lifeSeconds > DAY_SECONDS && normalisePolicySet(token.policies).some(name => name !== 'default')
        ? `tokens with more than the policy default may live for ${inHours(lifeSeconds)}`
        : undefined,
  },
  'periodic-jwt': {
    severity: 'medium',
    about: 'role',
    source: 'roles',
    fix: 'set token_period to 0, and let workloads log in again, or set token_explicit_max_ttl to at most 24 hours',
    find: ({ role: { authType, capToSession, token } }) => {
      const end = token.explicitMaxTtl
      if (authType !== 'jwt' || token.period === 0 || capToSession || (end > 0 && end <= DAY_SECONDS))
        return undefined
      return `periodic tokens are renewed ${end > 0 ? `for ${inHours(end)}` : 'without end'}, and every renewal relies on the claims of the first token`
    },
  },
  'several-audiences': {
    severity: 'medium',
    about: 'mount',
    source: 'settings',
    fix: 'switch off allow_several_audiences in config/jwt',
    find: ({ jwt }) =>
      jwt?.allowSeveralAudiences
        ? 'a token with several audiences is accepted, so another of its recipients can log in with it'
        : undefined,
  },
  'principal-changed': {
    severity: 'medium',
    about: 'principal',
    source: 'iam',
    fix: 'remove the principal from the role, or write bound_iam_principal_arn again to admit the new principal',
    find: ({ arn, boundId, comparesPath, principal }) => {
      if (!principal) return `IAM has no ${arn}`
      if (boundId !== undefined)
        return boundId === principal.uniqueId
          ? undefined
          : `${arn} was deleted and created again, so the role does not admit it`
      const compared = comparesPath ? principal.arn : canonical(principal.arn)
      return compared === arn
        ? undefined
        : `${arn} fits no login, because the principal logs in as ${compared}`
    },
  },
  'by-name': {
    severity: 'low',
    about: 'role',
    source: 'roles',
    fix: 'set resolve_aws_unique_ids',
    find: ({ role: { authType, resolveAwsUniqueIds, boundIamPrincipalArns } }) =>
      authType === 'iam' && !resolveAwsUniqueIds && boundIamPrincipalArns.some(arn => !arn.endsWith('*'))
        ? 'resolve_aws_unique_ids is off: a principal that is deleted and created again may log in'
        : undefined,
  },
  'reusable-tokens': {
    severity: 'low',
    about: 'logins',
    source: 'logins',
    fix: 'switch on single_use in config/jwt',
    find: ({ jwt, hasJwtServiceRoles }) =>
      jwt && !jwt.singleUse && hasJwtServiceRoles
        ? 'single_use is off, although jwt roles give service tokens: a stolen token logs in until it ends'
        : undefined,
  },
  'unused-role': {
    severity: 'low',
    about: 'role',
    source: 'uses',
    fix: 'delete the role if no workload needs it',
    find: ({ unusedMs = 0 }) =>
      unusedMs >= UNUSED_DAYS * DAY_MS
        ? `no login has used the role for ${Math.floor(unusedMs / DAY_MS)} days`
        : undefined,
  },
  'es384-on': {
    severity: 'low',
    about: 'mount',
    source: 'settings',
    fix: 'remove ES384 from jwt_supported_algs, unless callers ask for ES384',
    find: ({ jwt }) =>
      jwt?.algorithms.includes('ES384')
        ? 'ES384 is accepted, and costs twenty times the processor time of RS256 for each forged token'
        : undefined,
  },
} as const satisfies Readonly<Record<string, AnyRule>>

export type ReviewRuleName = keyof typeof reviewRules

export const reviewRuleNames = Object.keys(reviewRules) as ReviewRuleName[]

/** Returns the row of a rule, with a `find` that takes the facts of its kind. */
export const reviewRuleOf = (name: ReviewRuleName): ReviewRule<ReviewedKind> =>
  reviewRules[name] as unknown as ReviewRule<ReviewedKind>
