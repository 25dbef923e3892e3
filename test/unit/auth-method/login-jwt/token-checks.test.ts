import { describe, expect, test } from 'vitest'
import {
  findIssuerFault,
  findTokenFault,
  identifyBearer,
} from '../../../../shared/auth-method/login-jwt/token-checks.ts'
import type { ParsedJwt, VerifiedJwt } from '../../../../shared/identity-proof/jwt.ts'
import type { JwtConfig, StoredIssuer } from '../../../../shared/model/jwt.ts'
import { jwtConfig, storedIssuer } from '../../../builders/jwt-settings.ts'
import { ISSUER_ID, NOW, usualClaims } from '../../../builders/web-token.ts'

const ACCOUNT = '111122223333'
const ORGANIZATION = 'o-a1b2c3d4e5'
const AUDIENCE = 'https://cloud-auth.example'

const config = jwtConfig({
  boundAudiences: ['https://other.example', AUDIENCE],
  organizations: [ORGANIZATION],
})
const issuer = storedIssuer(ACCOUNT)
const jwt: ParsedJwt = {
  alg: 'RS256',
  kid: 'RSA_0',
  issuer: { id: ISSUER_ID, partition: 'aws' },
  sub: usualClaims.sub,
  audiences: [AUDIENCE],
  iat: NOW,
  exp: NOW + 300,
  jti: 'a1b2',
  aws: { aws_account: ACCOUNT, org_id: ORGANIZATION },
  signed: Buffer.of(),
  signature: Buffer.of(),
}

describe('what a token says about itself', () => {
  const fault = (token: Partial<ParsedJwt>, settings: Partial<JwtConfig> = {}) =>
    findTokenFault({ ...jwt, ...token }, { ...config, ...settings }, NOW * 1000 + 999)?.why ?? 'none'

  test.each<[string, Partial<ParsedJwt>, string, Partial<JwtConfig>?]>([
    ['is accepted', {}, 'none'],
    ['has an algorithm of the mount', { alg: 'ES384' }, 'none', { algorithms: ['ES384'] }],
    ['has another algorithm', { alg: 'ES384' }, 'jwt-algorithm'],
    ['has another audience', { audiences: [`${AUDIENCE}/`] }, 'jwt-audience'],
    ['has several audiences', { audiences: [AUDIENCE, 'x'] }, 'jwt-audience'],
    ['may have several audiences', { audiences: ['x', AUDIENCE] }, 'none', { allowSeveralAudiences: true }],
    ['ends now', { iat: NOW - 100, exp: NOW }, 'jwt-expired', { leeway: 0 }],
    ['ends in a second', { iat: NOW - 100, exp: NOW + 1 }, 'none', { leeway: 0 }],
    ['ended a leeway ago', { iat: NOW - 100, exp: NOW - 60 }, 'jwt-expired'],
    ['ended less than a leeway ago', { iat: NOW - 100, exp: NOW - 59 }, 'none'],
    ['ends when it begins', { exp: NOW }, 'jwt-expired'],
    ['ends before it begins', { iat: NOW + 2, exp: NOW + 1 }, 'jwt-expired'],
    ['lives for an hour', { exp: NOW + 3600 }, 'none'],
    ['lives for more than an hour', { exp: NOW + 3601 }, 'jwt-expired'],
    ['is as old as allowed', { iat: NOW - 360 }, 'none'],
    ['is older', { iat: NOW - 361 }, 'jwt-age'],
    ['is a leeway ahead', { iat: NOW + 60 }, 'none'],
    ['is further ahead', { iat: NOW + 61, exp: NOW + 100 }, 'jwt-future'],
    ['begins later', { nbf: NOW + 61 }, 'jwt-future'],
    ['was made later than it begins', { iat: NOW + 61, nbf: NOW, exp: NOW + 100 }, 'jwt-future'],
    ['is ahead without leeway', { iat: NOW + 1 }, 'jwt-future', { leeway: 0 }],
  ])('%s', (_, token, why, settings) => {
    expect(fault(token, settings)).toBe(why)
  })
})

describe('an issuer', () => {
  const fault = (stored: Partial<StoredIssuer> | undefined, token: Partial<ParsedJwt> = {}) =>
    findIssuerFault({ ...jwt, ...token }, config, stored && { ...issuer, ...stored })?.why ?? 'none'

  test.each<[string, Partial<StoredIssuer> | undefined, string]>([
    ['is known', {}, 'none'],
    ['of another partition under the same ID is not trusted', { partition: 'aws-cn' }, 'jwt-issuer'],
    ['is replaced', { superseded: true }, 'jwt-issuer-superseded'],
    ['is blocked', { blocked: true }, 'jwt-issuer-blocked'],
    ['may be learnt', undefined, 'none'],
  ])('%s', (_, stored, why) => {
    expect(fault(stored)).toBe(why)
  })

  test.each([
    {},
    { org_id: 'o-zzzzzzzzzz' },
    { org_id: ORGANIZATION.toUpperCase() },
    { org_id: [ORGANIZATION] },
  ])('is not learnt from a token with the claims %j', aws => {
    expect(fault(undefined, { aws })).toBe('jwt-issuer')
  })
})

describe('the bearer of a token', () => {
  const identify = (
    token: Partial<ParsedJwt>,
    stored: Partial<StoredIssuer> | 'learnt now' = {},
    settings: Partial<JwtConfig> = {},
  ) => {
    const found = identifyBearer(
      { ...jwt, ...token } as VerifiedJwt,
      { ...config, ...settings },
      stored === 'learnt now' ? undefined : { ...issuer, ...stored },
    )
    return found.ok ? found.value.account : found.fault.why
  }
  const aws = (more: object) => ({ aws: { ...jwt.aws, ...more } })
  const CHINA = { sub: `arn:aws-cn:iam::${ACCOUNT}:role/app` }

  test.each<[string, Partial<ParsedJwt>, string, Partial<StoredIssuer>?, Partial<JwtConfig>?]>([
    ['has the account of its issuer', {}, ACCOUNT],
    ['is a user', { sub: `arn:aws:iam::${ACCOUNT}:user/bob` }, ACCOUNT],
    ['is root', { sub: `arn:aws:iam::${ACCOUNT}:root` }, 'jwt-subject'],
    ['is a session', { sub: `arn:aws:sts::${ACCOUNT}:assumed-role/app/x` }, 'jwt-subject'],
    ['is an instance profile', { sub: `arn:aws:iam::${ACCOUNT}:instance-profile/app` }, 'jwt-subject'],
    ['has an empty segment', { sub: `arn:aws:iam::${ACCOUNT}:role//app` }, 'jwt-subject'],
    ['has another account', aws({ aws_account: '999999999999' }), 'jwt-account'],
    ['has no account', aws({ aws_account: undefined }), 'jwt-account'],
    ['has an account as a number', aws({ aws_account: 111_122_223_333 }), 'jwt-account'],
    ['is of another account', { sub: 'arn:aws:iam::999999999999:role/app' }, 'jwt-account'],
    ['is of another partition', CHINA, 'jwt-account'],
    ['is in China', { ...CHINA, issuer: { id: ISSUER_ID, partition: 'aws-cn' } }, ACCOUNT],
    ['has an issuer of another account', {}, 'jwt-account', { account: '999999999999' }],
    ['has a blocked account', {}, 'jwt-account-blocked', {}, { blockedAccounts: [ACCOUNT] }],
    ['left the organization', aws({ org_id: 'o-zzzzzzzzzz' }), 'jwt-organization'],
    [
      'left the organization, and its issuer is configured',
      aws({ org_id: undefined }),
      ACCOUNT,
      { learnt: false },
    ],
  ])('%s', (_, token, result, stored, settings) => {
    expect(identify(token, stored, settings)).toBe(result)
  })

  test('with an issuer that is learnt now needs the organization', () => {
    expect(identify({}, 'learnt now')).toBe(ACCOUNT)
    expect(identify(aws({ org_id: 'o-zzzzzzzzzz' }), 'learnt now')).toBe('jwt-organization')
  })
})
