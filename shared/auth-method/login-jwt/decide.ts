import { createRefusal } from '../../api/errors.ts'
import { instanceIdOfArn, regionOfArn } from '../../identity-proof/aws-claims.ts'
import type { LoginClaims } from '../../model/jwt.ts'
import { defined } from '../../values/defined.ts'
import { jwtMetadataOf, parseTagMetadata, podTags } from '../config/identity-jwt.ts'
import type { LoginCheck, WithPassedChecks } from '../login/checks.ts'
import { commonLoginChecks } from '../login/common-checks.ts'
import type { LoginGrant } from '../login/grant.ts'
import { selectLoginMetadata } from '../login/metadata.ts'
import { type ClaimFacts, type ClaimRule, claimRules } from '../roles/claim-bindings.ts'
import type { JwtFacts } from './facts.ts'

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
    name: 'single_use',
    applies: ({ config }) => config.singleUse,
    seen: ({ bearer }) => bearer.token.jti,
    refuse: ({ spent }) =>
      spent ? createRefusal('jwt-replayed', 'the token has been used; ask AWS for a new one') : undefined,
  },
]

/** Builds the grant of a login by token that passed every check. @see docs/spec/login-jwt.md#claims */
export function decideJwtLogin(
  facts: JwtFacts & WithPassedChecks<JwtFacts>,
  path: string,
  isBatch: boolean,
): LoginGrant {
  const { role, roleName, bearer } = facts
  const { entity, claims, token } = bearer
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
      ...(isBatch ? {} : { claims: rememberedClaims(facts) }),
    },
    displayName: [entity.name, instanceIdOfArn(claims.instanceArn)].filter(Boolean).join('/'),
    metadata: { role_id: role.roleId, ...chosen },
    disclosed: {},
    alias: { name: facts.aliasName, metadata: chosen },
    terms: { ...role.token, explicitMaxTtl: explicit.length > 0 ? Math.min(...explicit) : 0 },
    source: facts.source,
  }

  function rememberedClaims({ role: { claims: bound = {} } }: JwtFacts): LoginClaims {
    const { orgId, orgPaths, instanceArn, vpcId, metadataVersion, lambdaArn } = claims
    const { sourceIdentity, identityStoreUserId, identityStoreArn, federatedProvider } = claims
    const keys = [...Object.keys(bound.bound_principal_tags ?? {}), ...boundPodTags(bound)]
    const tags = Object.entries(claims.principalTags).filter(([name]) => keys.includes(name))
    return defined({
      issuer: token.issuer.id,
      sub: token.sub,
      orgId,
      orgPaths,
      instanceArn,
      vpcId,
      metadataVersion,
      lambdaArn,
      sourceIdentity,
      identityStoreUserId,
      identityStoreArn,
      federatedProvider,
      principalTags: tags.length > 0 ? Object.fromEntries(tags) : undefined,
    })
  }
}

const boundPodTags = (bound: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(podTags).flatMap(([name, tag]) => (bound[`bound_${name}`] === undefined ? [] : [tag]))

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
