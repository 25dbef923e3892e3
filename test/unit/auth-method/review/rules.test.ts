import { describe, expect, test } from 'vitest'
import {
  type ReviewedKind,
  type ReviewFacts,
  severities,
} from '../../../../shared/auth-method/review/facts.ts'
import {
  type ReviewRuleName,
  reviewRuleNames,
  reviewRuleOf,
} from '../../../../shared/auth-method/review/rules.ts'
import type { Role } from '../../../../shared/model/role.ts'
import { jwtConfig, storedIssuer } from '../../../builders/jwt-settings.ts'
import { ec2Role, iamRole, inferringRole } from '../../../builders/roles.ts'

const ACCOUNT = '111122223333'
const APP = `arn:aws:iam::${ACCOUNT}:role/app`
const DAY = 86_400_000
const WEEK_SECONDS = 604_800

const jwtRole = (parts: Parameters<typeof iamRole>[0] = {}): Role => ({
  ...iamRole({ resolveAwsUniqueIds: false, boundIamPrincipalIds: [], ...parts }),
  authType: 'jwt',
  ...(parts.claims ? { claims: parts.claims } : {}),
})

const of = (role: Role, lifeSeconds = 3600) => ({ role, lifeSeconds })

const jwt = jwtConfig()
const issuer = storedIssuer(ACCOUNT)
const mount = { jwt, now: 3_600_000, legacySignatures: false }
const map = { accounts: 1, completedAt: 0, maxAge: 3600 }
const logins = { serverId: 'vault.example', jwt, hasIamRoles: true, hasJwtServiceRoles: true }
const certificate = { now: 0, endsAt: 30 * DAY, isModern: true, legacySignatures: false }
const principal = {
  arn: APP,
  bindsPods: false,
  comparesPath: true,
  principal: { arn: APP, uniqueId: 'AROA1' },
}
const ALL = `arn:aws:iam::${ACCOUNT}:role/*`
const tags = { bound_principal_tags: { team: ['a'] } }
const account = { bound_account_id: [ACCOUNT] }
const policy = (tagger: unknown) =>
  JSON.stringify({ Statement: { Effect: 'Allow', Action: 'sts:TagSession', Principal: tagger } })
const pods = { Service: 'pods.eks.amazonaws.com' }
const bob = { AWS: `arn:aws:iam::${ACCOUNT}:user/bob` }
const trusting = (trustPolicy: string) => ({ ...principal.principal, trustPolicy })
const wild = (...boundIamPrincipalArns: string[]) =>
  iamRole({ boundIamPrincipalArns, boundIamPrincipalIds: [] })

const IN_PATH = `arn:aws:iam::${ACCOUNT}:role/team/app`
const inPath = (comparesPath: boolean, arn: string) => ({
  ...principal,
  arn,
  comparesPath,
  principal: { arn: IN_PATH, uniqueId: 'AROA1' },
})

type Vector<K extends ReviewedKind = ReviewedKind> = {
  [P in K]: [about: P, title: string, facts: ReviewFacts[P], text: string | undefined]
}[K]

/** Facts for each rule, with a part of the text that the rule finds; undefined: nothing. */
const vectors: Record<ReviewRuleName, readonly Vector[]> = {
  'no-server-id': [
    ['logins', 'a server ID', logins, undefined],
    ['logins', 'no iam role', { ...logins, serverId: '', hasIamRoles: false }, undefined],
    ['logins', 'an iam role without a server ID', { ...logins, serverId: '' }, 'logins need no server ID'],
  ],
  'no-external-id': [
    ['satellite', 'an external ID', { account: ACCOUNT, externalId: 'x' }, undefined],
    [
      'satellite',
      'no external ID',
      { account: ACCOUNT, externalId: '' },
      `account ${ACCOUNT} is assumed without`,
    ],
  ],
  'issuer-fault': [
    ['issuer', 'keys that were fetched', issuer, undefined],
    ['issuer', 'a failed fetch', { ...issuer, lastError: 'status' }, `account ${ACCOUNT} failed: status`],
    ['issuer', 'a blocked issuer', { ...issuer, lastError: 'status', blocked: true }, undefined],
    ['issuer', 'a superseded issuer', { ...issuer, lastError: 'status', superseded: true }, undefined],
  ],
  'issuer-replaced': [
    ['issuer', 'the only issuer', issuer, undefined],
    ['issuer', 'a superseded issuer', { ...issuer, superseded: true }, 'another issuer now speaks'],
  ],
  'map-stale': [
    ['mount', 'no organization', mount, undefined],
    ['mount', 'a map of max_age', { ...mount, map }, undefined],
    ['mount', 'an older map', { ...mount, map, now: 3_600_001 }, 'too old'],
  ],
  'tags-without-principal': [
    ['role', 'a principal', of(jwtRole({ claims: { bound_principal_tags: { a: ['b'] } } })), undefined],
    ['role', 'no tags', of(jwtRole({ boundIamPrincipalArns: [] })), undefined],
    ['role', 'a path', of(jwtRole({ boundIamPrincipalArns: [`${APP}/*`], claims: tags })), undefined],
    [
      'role',
      'one wide principal of two',
      of(jwtRole({ boundIamPrincipalArns: [APP, ALL], claims: tags })),
      `bound_principal_tags with ${ALL} in bound_iam_principal_arn`,
    ],
    [
      'role',
      'tags alone',
      of(jwtRole({ boundIamPrincipalArns: [], claims: { bound_principal_tags: { a: ['b'] } } })),
      'bound_principal_tags without bound_iam_principal_arn',
    ],
  ],
  'session-tags': [
    ['principal', 'no bound of EKS', { ...principal, principal: trusting(policy(bob)) }, undefined],
    ['principal', 'a user', { ...principal, bindsPods: true }, undefined],
    [
      'principal',
      'EKS alone',
      { ...principal, bindsPods: true, principal: trusting(policy(pods)) },
      undefined,
    ],
    [
      'principal',
      'another tagger',
      { ...principal, bindsPods: true, principal: trusting(policy(bob)) },
      `lets ${bob.AWS} tag sessions`,
    ],
  ],
  'whole-account': [
    ['role', 'a principal', of(iamRole()), undefined],
    ['role', 'an AMI', of(ec2Role({ bound: { ...account, bound_ami_id: ['ami-1'] } })), undefined],
    ['role', 'a role tag', of(ec2Role({ bound: account, roleTag: 'Tag' })), undefined],
    ['role', 'an account', of(ec2Role({ bound: account })), 'every instance that fits bound_account_id may'],
    [
      'role',
      'an account of tokens',
      of(jwtRole({ boundIamPrincipalArns: [ALL] })),
      'every user or role that fits bound_iam_principal_arn may',
    ],
    [
      'role',
      'instances of an account',
      of(inferringRole({ boundIamPrincipalArns: [], bound: { ...account, bound_region: ['eu-west-1'] } })),
      'every instance that fits bound_region, bound_account_id may',
    ],
  ],
  'wildcard-principal': [
    ['role', 'exact principals', of(iamRole()), undefined],
    ['role', 'a whole account', of(wild(`arn:aws:iam::${ACCOUNT}:role/*`)), undefined],
    ['role', 'a path', of(wild(`${APP}/*`)), `wildcards: ${APP}/*;`],
    [
      'role',
      'a path with the IDs of people',
      of(jwtRole({ boundIamPrincipalArns: [`${APP}*`], claims: { bound_identity_store_user_id: ['1'] } })),
      undefined,
    ],
    [
      'role',
      'a path with all functions',
      of(jwtRole({ boundIamPrincipalArns: [`${APP}*`], claims: { bound_lambda_function_arn: ['*'] } })),
      'has wildcards',
    ],
    ['role', 'many paths', of(wild(...'abcde'.split('').map(one => `${APP}${one}*`))), 'appc* and 2 more;'],
  ],
  'no-nonce': [
    ['role', 'an iam role', of(iamRole()), undefined],
    ['role', 'one login', of(ec2Role({ disallowReauthentication: true })), undefined],
    ['role', 'a role tag', of(ec2Role({ roleTag: 'Tag' })), undefined],
    ['role', 'a nonce alone', of(ec2Role()), 'only the nonce'],
  ],
  'legacy-signatures': [
    ['mount', 'modern signatures', mount, undefined],
    ['mount', 'legacy signatures', { ...mount, legacySignatures: true }, 'SHA-1, DSA or RSA-1024'],
  ],
  'weak-certificate': [
    ['certificate', 'a modern key', certificate, undefined],
    ['certificate', 'a weak key', { ...certificate, isModern: false }, 'so no login can use it'],
    [
      'certificate',
      'a weak key in force',
      { ...certificate, isModern: false, legacySignatures: true },
      'the certificate has a DSA key or a short RSA key',
    ],
  ],
  'certificate-ends': [
    ['certificate', '30 days', certificate, undefined],
    ['certificate', 'less than 30 days', { ...certificate, endsAt: 30 * DAY - 1 }, 'ends in 29 days'],
    ['certificate', 'an end in the past', { ...certificate, endsAt: -1 }, 'has ended'],
  ],
  'long-life': [
    ['role', 'a life of a day', of(iamRole(), 86_400), undefined],
    ['role', 'a longer life', of(iamRole(), 86_401), 'may live for 25 hours'],
    [
      'role',
      'the policy default',
      of(iamRole({ token: { policies: [' Default'] } }), WEEK_SECONDS),
      undefined,
    ],
    ['role', 'no policies', of(iamRole({ token: { policies: [] } }), WEEK_SECONDS), undefined],
    [
      'role',
      'a templated path',
      of(iamRole({ token: { policies: ['default', 'team-*'] } }), WEEK_SECONDS),
      'may live for 168 hours',
    ],
  ],
  'periodic-jwt': [
    ['role', 'an iam role', of(iamRole({ token: { period: 60 } })), undefined],
    ['role', 'no period', of(jwtRole()), undefined],
    ['role', 'a period', of(jwtRole({ token: { period: 60 } })), 'without end'],
    ['role', 'a maximum', of(jwtRole({ token: { period: 60, maxTtl: 60 } })), 'without end'],
    ['role', 'an explicit end', of(jwtRole({ token: { period: 60, explicitMaxTtl: 86_400 } })), undefined],
    [
      'role',
      'a late explicit end',
      of(jwtRole({ token: { period: 60, explicitMaxTtl: 86_401 } })),
      'for 25 hours',
    ],
    ['role', 'the end of the session', of(jwtRole({ token: { period: 60 }, capToSession: true })), undefined],
  ],
  'several-audiences': [
    ['mount', 'one audience', mount, undefined],
    ['mount', 'no config/jwt', { now: 0, legacySignatures: false }, undefined],
    ['mount', 'several', { ...mount, jwt: { ...jwt, allowSeveralAudiences: true } }, 'several audiences'],
  ],
  'principal-changed': [
    ['principal', 'the bound ID', { ...principal, boundId: 'AROA1' }, undefined],
    ['principal', 'no bound ID', principal, undefined],
    ['principal', 'another ID', { ...principal, boundId: 'AROA0' }, 'was deleted and created again'],
    [
      'principal',
      'the bound ID at another path',
      { ...principal, arn: `${APP}s`, boundId: 'AROA1' },
      undefined,
    ],
    ['principal', 'a token without the path', inPath(true, APP), `the principal logs in as ${IN_PATH}`],
    ['principal', 'a token with the path', inPath(true, IN_PATH), undefined],
    ['principal', 'a name without the path', inPath(false, APP), undefined],
    ['principal', 'a name with the path', inPath(false, IN_PATH), `the principal logs in as ${APP}`],
    ['principal', 'no principal', { arn: APP, bindsPods: false, comparesPath: false }, `IAM has no ${APP}`],
  ],
  'by-name': [
    ['role', 'unique IDs', of(iamRole()), undefined],
    ['role', 'wildcards', of({ ...wild(`${APP}*`), resolveAwsUniqueIds: false }), undefined],
    ['role', 'a jwt role', of(jwtRole()), undefined],
    ['role', 'names', of(iamRole({ resolveAwsUniqueIds: false })), 'resolve_aws_unique_ids is off'],
  ],
  'reusable-tokens': [
    ['logins', 'single use', logins, undefined],
    [
      'logins',
      'batch tokens',
      { ...logins, jwt: { ...jwt, singleUse: false }, hasJwtServiceRoles: false },
      undefined,
    ],
    ['logins', 'service tokens', { ...logins, jwt: { ...jwt, singleUse: false } }, 'single_use is off'],
  ],
  'unused-role': [
    ['role', 'uses that are not tracked', of(iamRole()), undefined],
    ['role', 'a use 89 days ago', { ...of(iamRole()), unusedMs: 90 * DAY - 1 }, undefined],
    [
      'role',
      'no use for 90 days',
      { ...of(iamRole()), unusedMs: 90 * DAY },
      'no login has used the role for 90 days',
    ],
  ],
  'es384-on': [
    ['mount', 'RS256', mount, undefined],
    ['mount', 'ES384', { ...mount, jwt: { ...jwt, algorithms: ['RS256', 'ES384'] } }, 'ES384 is accepted'],
  ],
}

const rows = reviewRuleNames.flatMap(rule =>
  vectors[rule].map(([about, title, facts, text]) => ({ rule, about, title, facts, text })),
)

test.each(rows)('the rule $rule judges $title', ({ rule, about, facts, text }) => {
  const row = reviewRuleOf(rule)
  expect(row.about).toBe(about)
  const found = row.find(facts)
  if (text === undefined) expect(found).toBeUndefined()
  else expect(found).toContain(text)
})

describe('the table of rules', () => {
  test('is sorted by severity, the worst first', () => {
    const ranks = reviewRuleNames.map(rule => severities.indexOf(reviewRuleOf(rule).severity))
    expect(ranks).toEqual(ranks.toSorted((a, b) => a - b))
  })

  test('has vectors with and without a finding for each rule', () => {
    for (const rule of reviewRuleNames) {
      const found = vectors[rule].map(([, , , text]) => text !== undefined)
      expect(new Set(found), rule).toEqual(new Set([true, false]))
    }
  })

  test('finds nothing in the narrowest role of each type', () => {
    const roles = [
      iamRole(),
      inferringRole({ bound: { bound_vpc_id: ['vpc-1'] } }),
      ec2Role({ bound: { bound_ami_id: ['ami-1'] }, disallowReauthentication: true }),
      jwtRole(),
    ]
    const found = roles.flatMap(role =>
      reviewRuleNames.filter(
        rule => reviewRuleOf(rule).about === 'role' && reviewRuleOf(rule).find(of(role)) !== undefined,
      ),
    )
    expect(found).toEqual([])
  })
})
