import { createRefusal } from '../../api/errors.ts'
import { instanceIdOfArn, instanceOfArn, regionOfArn } from '../../identity-proof/aws-claims.ts'
import { defined } from '../../values/defined.ts'
import { jwtMetadataOf, parseTagMetadata, podTags } from '../config/identity-jwt.ts'
import type { LoginCheck, WithPassedChecks } from '../login/checks.ts'
import { commonLoginChecks } from '../login/common-checks.ts'
import type { LoginGrant } from '../login/grant.ts'
import { selectLoginMetadata } from '../login/metadata.ts'
import { type ClaimFacts, type ClaimRule, claimRules } from '../roles/claim-bindings.ts'
import type { JwtFacts } from './facts.ts'
import { MOST_CLAIM_BYTES, measureClaims, rememberedClaims } from './remembered-claims.ts'

const claimFacts = ({ bearer }: JwtFacts): ClaimFacts => ({ ...bearer.claims, sub: bearer.token.sub })

const boundCheck = ({ name, isSet, isMet, seen, wanted }: ClaimRule): LoginCheck<JwtFacts> => ({
  name,
  applies: ({ role }) => isSet(role),
  seen: facts => seen(facts.role, claimFacts(facts)),
  wanted: ({ role }) => wanted(role),
  refuse: facts =>
    isMet(facts.role, claimFacts(facts))
      ? undefined
      : createRefusal(`not-${name}`, `the token does not satisfy role "${facts.roleName}": ${name}`),
})

/** Returns the seconds until the end of the bearer's role session; undefined if the token does not name its end. */
const sessionSeconds = ({ bearer, now }: JwtFacts): number | undefined =>
  bearer.claims.sessionEnd === undefined ? undefined : Math.floor(bearer.claims.sessionEnd - now / 1000)

/** The checks of a verified token against a role, in order. @see docs/spec/login-jwt.md#order */
export const jwtChecks: readonly LoginCheck<JwtFacts>[] = [
  ...commonLoginChecks,
  ...claimRules.map(boundCheck),
  {
    name: 'cap_to_session',
    applies: ({ role }) => role.capToSession === true,
    seen: ({ bearer }) => bearer.claims.sessionEnd ?? null,
    refuse: facts =>
      (sessionSeconds(facts) ?? 0) > 0
        ? undefined
        : createRefusal('no-session-end', 'the token does not name the end of a running role session'),
  },
  {
    name: 'claims_size',
    applies: ({ isBatch }) => !isBatch,
    seen: measureClaims,
    wanted: () => MOST_CLAIM_BYTES,
    refuse: facts => {
      const bytes = measureClaims(facts)
      return bytes > MOST_CLAIM_BYTES
        ? createRefusal(
            'claims-too-large',
            `the claims that renewals compare have ${bytes} bytes (limit ${MOST_CLAIM_BYTES}): bind fewer tags, or let the role create batch tokens`,
          )
        : undefined
    },
  },
  {
    name: 'single_use',
    applies: ({ config }) => config.singleUse,
    seen: ({ bearer }) => bearer.token.jti,
    refuse: ({ spent }) =>
      spent ? createRefusal('jwt-replayed', 'the token has been used; ask AWS for a new one') : undefined,
  },
]

/** Builds the grant of a login by token that passed every check. @see docs/spec/login-jwt.md#claims */
export function decideJwtLogin(facts: JwtFacts & WithPassedChecks<JwtFacts>, path: string): LoginGrant {
  const { role, roleName, bearer } = facts
  const { entity, claims } = bearer
  const chosen = selectLoginMetadata(jwtMetadataOf(facts.identity), knownOf(facts))
  const ends = role.capToSession ? [sessionSeconds(facts) ?? 0] : []
  const explicit = [role.token.explicitMaxTtl, ...ends].filter(seconds => seconds > 0)
  return {
    path,
    login: {
      authType: 'jwt',
      role: roleName,
      roleId: role.roleId,
      account: bearer.account,
      ...defined({
        instanceId: instanceIdOfArn(claims.instanceArn),
        region: regionOfArn(claims.instanceArn ?? claims.lambdaArn),
      }),
      // nobody renews a batch token
      ...(facts.isBatch ? {} : { claims: rememberedClaims(facts) }),
    },
    displayName: [entity.name, instanceIdOfArn(claims.instanceArn)].filter(Boolean).join('/'),
    metadata: { role_id: role.roleId, ...chosen },
    disclosed: {},
    alias: { name: facts.aliasName, metadata: chosen },
    terms: { ...role.token, explicitMaxTtl: explicit.length > 0 ? Math.min(...explicit) : 0 },
    endsWith: role.revokeOnTermination ? (instanceOfArn(claims.instanceArn) ?? 'unknown') : undefined,
    source: facts.source,
  }
}

function knownOf({ bearer, identity }: JwtFacts): Record<string, string> {
  const { claims, account, token } = bearer
  const tags = Object.entries(podTags).map(([name, tag]) => [name, tagOf(claims.principalTags, tag)] as const)
  const selected = jwtMetadataOf(identity).flatMap(name => {
    const tag = parseTagMetadata(name)
    if (!tag) return []
    return [[name, tagOf(tag.from === 'tag' ? claims.principalTags : claims.requestTags, tag.key)] as const]
  })
  return {
    account_id: account,
    auth_type: 'jwt',
    principal_arn: token.sub,
    org_id: claims.orgId ?? '',
    ou_path: claims.orgPaths?.join(',') ?? '',
    region: claims.sourceRegion ?? '',
    instance_id: instanceIdOfArn(claims.instanceArn) ?? '',
    vpc_id: claims.vpcId ?? '',
    lambda_function_arn: claims.lambdaArn ?? '',
    source_identity: claims.sourceIdentity ?? '',
    identity_store_user_id: claims.identityStoreUserId ?? '',
    federated_provider: claims.federatedProvider ?? '',
    ...Object.fromEntries(tags),
    ...Object.fromEntries(selected),
  }
}

const tagOf = (tags: Readonly<Record<string, string>>, name: string): string =>
  Object.hasOwn(tags, name) ? (tags[name] ?? '') : ''
