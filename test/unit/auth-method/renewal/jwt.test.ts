import { expect, test } from 'vitest'
import { renewLogin } from '../../../../shared/auth-method/renewal/renew.ts'
import type { JwtConfig, LoginClaims, StoredIssuer } from '../../../../shared/model/jwt.ts'
import type { Role } from '../../../../shared/model/role.ts'
import type { LoginRecord } from '../../../../shared/model/token.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { jwtConfig, storedIssuer } from '../../../builders/jwt-settings.ts'
import { iamRole } from '../../../builders/roles.ts'
import { ISSUER_ID } from '../../../builders/web-token.ts'
import { askAlways, callWith } from '../../../support/requests/call.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount } from '../../tokens/support.ts'

const accessor = 'auth_cloud_1'
const ACCOUNT = '111122223333'
const ORGANIZATION = 'o-a1b2c3d4e5'
const UNIT = `${ORGANIZATION}/r-ab12/ou-ab12-11111111`

const role: Role = {
  ...iamRole({ boundIamPrincipalArns: [], boundIamPrincipalIds: [], resolveAwsUniqueIds: false }),
  authType: 'jwt',
  claims: {
    bound_organization_id: [ORGANIZATION],
    bound_organization_path: [UNIT],
    bound_principal_tags: { Team: ['a*'] },
  },
}
const config = jwtConfig({ organizations: [ORGANIZATION] })
const issuer = storedIssuer(ACCOUNT)
const claims: LoginClaims = {
  issuer: ISSUER_ID,
  sub: `arn:aws:iam::${ACCOUNT}:role/svc/app`,
  orgId: ORGANIZATION,
  orgPaths: [`${UNIT}/ou-ab12-22222222/`],
  principalTags: { Team: 'ab' },
}

interface World {
  role?: Partial<Role> | 'gone'
  config?: Partial<JwtConfig> | 'gone'
  issuer?: Partial<StoredIssuer> | 'gone'
  claims?: Partial<LoginClaims> | 'none'
}

/** Renews a login that every check admits, except for what the world changes. @returns the reason of the refusal, or `renewed` */
async function renew(world: World): Promise<unknown> {
  const stored = [
    world.role === 'gone' ? [] : [item(key('role', accessor, 'dev'), { ...role, ...world.role })],
    world.config === 'gone' ? [] : [item(key('jwt-config', accessor), { ...config, ...world.config })],
    world.issuer === 'gone' ? [] : [item(key('issuer', accessor, ISSUER_ID), { ...issuer, ...world.issuer })],
  ]
  const login = {
    authType: 'jwt',
    role: 'dev',
    roleId: role.roleId,
    account: ACCOUNT,
    ...(world.claims === 'none' ? {} : { claims: { ...claims, ...world.claims } }),
  } as LoginRecord
  const call = callWith({ ports: { ...memoryStore(stored.flat()) } })
  return renewLogin(call, mount(), login, askAlways).then(
    () => 'renewed',
    (error: { reason?: { why: string } }) => error.reason?.why,
  )
}

test.each<[string, World, string]>([
  ['nothing has changed', {}, 'renewed'],
  ['the role was deleted', { role: 'gone' }, 'renewal-role-gone'],
  ['the role was made again', { role: { roleId: 'other' } }, 'renewal-role-recreated'],
  ['config/jwt was deleted', { config: 'gone' }, 'renewal-jwt-not-configured'],
  ['the issuer was deleted', { issuer: 'gone' }, 'renewal-issuer-gone'],
  ['the issuer is blocked', { issuer: { blocked: true } }, 'renewal-issuer-blocked'],
  ['another issuer replaced the issuer', { issuer: { superseded: true } }, 'renewal-issuer-superseded'],
  ['the account is blocked', { config: { blockedAccounts: [ACCOUNT] } }, 'renewal-account-blocked'],
  ['another account is blocked', { config: { blockedAccounts: ['999999999999'] } }, 'renewed'],
  [
    'the mount has another organization',
    { config: { organizations: ['o-zzzzzzzzzz'] } },
    'renewal-organization',
  ],
  [
    'the mount has another organization, and the issuer is configured',
    { config: { organizations: [] }, issuer: { learnt: false } },
    'renewed',
  ],
  [
    'the role binds another organization',
    { role: { claims: { bound_organization_id: ['o-zzzzzzzzzz'] } } },
    'renewal-not-bound_organization_id',
  ],
  [
    'the role binds a sibling of the unit',
    { role: { claims: { bound_organization_path: [`${UNIT}1`] } } },
    'renewal-not-bound_organization_path',
  ],
  [
    'the role binds a tag that the token had, but the role did not bind',
    { role: { claims: { bound_principal_tags: { Stage: ['*'] } } } },
    'renewal-not-bound_principal_tags',
  ],
  [
    'the role binds another principal',
    { role: { boundIamPrincipalArns: [`arn:aws:iam::${ACCOUNT}:role/app`] } },
    'renewal-not-bound_iam_principal_arn',
  ],
  [
    'the role binds another account',
    { role: { bound: { ...role.bound, bound_account_id: ['999999999999'] } } },
    'renewal-not-bound_account_id',
  ],
  [
    'the role binds the account',
    { role: { bound: { ...role.bound, bound_account_id: [ACCOUNT] } } },
    'renewed',
  ],
  ['the login kept no claims', { claims: 'none' }, 'renewal-login-unknown'],
  ['the login had no organization', { claims: { orgId: '' } }, 'renewal-organization'],
])('a login by token is renewed or refused: %s', async (_, world, result) => {
  expect(await renew(world)).toBe(result)
})
