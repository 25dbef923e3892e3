import { describe, expect, test } from 'vitest'
import { loginWith } from '../../support/requests/logins.ts'
import {
  claimsOf,
  logInWithToken,
  ORGANIZATION,
  PATH,
  tokenAccount,
  tokenLoginErrors,
  tokenMount,
  tokenOf,
} from '../../support/requests/web-tokens.ts'
import { api, aws, done, freshMount } from '../../support/service/cluster.ts'

type Claims = Record<string, unknown>

describe('roles of type jwt', () => {
  const bounds: [string, object, Claims, Claims][] = [
    ['bound_organization_path', { bound_organization_path: PATH }, {}, { ou_path: [`${PATH}2`] }],
    [
      'bound_organization_path',
      { bound_organization_path: PATH },
      { ou_path: PATH },
      { ou_path: [PATH, PATH] },
    ],
    [
      'bound_principal_tags',
      { bound_principal_tags: { Team: ['a*'] } },
      { principal_tags: { Team: 'ab' } },
      { request_tags: { Team: 'ab' } },
    ],
    [
      'bound_region',
      { bound_region: 'eu-west-1' },
      { ec2_source_instance_arn: 'arn:aws:ec2:eu-west-1:111122223333:instance/i-0123456789abcdef0' },
      {},
    ],
    [
      'bound_region',
      { bound_region: 'eu-west-1' },
      { lambda_source_function_arn: 'arn:aws:lambda:eu-west-1:111122223333:function:f' },
      { lambda_source_function_arn: 'arn:aws:lambda:eu-west-2:111122223333:function:f' },
    ],
    [
      'bound_organization_path',
      { bound_organization_path: [PATH, PATH.replace(ORGANIZATION, 'o-zzzzzzzzzz')] },
      {},
      { ou_path: [PATH.replace(ORGANIZATION, 'o-zzzzzzzzzz')] },
    ],
    ['bound_vpc_id', { bound_vpc_id: 'vpc-1' }, { ec2_instance_source_vpc: 'vpc-1' }, {}],
    [
      'bound_metadata_version',
      { bound_metadata_version: '2' },
      { ec2_role_delivery: 2 },
      { ec2_role_delivery: 1 },
    ],
    [
      'bound_lambda_function_arn',
      { bound_lambda_function_arn: 'arn:aws:lambda:eu-west-1:111122223333:function:f*' },
      { lambda_source_function_arn: 'arn:aws:lambda:eu-west-1:111122223333:function:f:1' },
      { lambda_source_function_arn: 'arn:aws:lambda:eu-west-1:111122223333:function:g' },
    ],
  ]
  test.each(bounds)('%s admits only tokens with a claim that fits', async (name, role, good, bad) => {
    const mount = await tokenMount({}, role)
    const from = await tokenAccount()
    expect(await tokenLoginErrors(mount, await tokenOf(from, { aws: good }))).toBe('200 ')
    expect(await tokenLoginErrors(mount, await tokenOf(from, { aws: bad }))).toBe(
      `400 the token does not satisfy role "app": ${name}`,
    )
  })

  test('cap_to_session ends the token with the role session', async () => {
    const mount = await tokenMount({}, { cap_to_session: true, token_ttl: '1h' })
    const from = await tokenAccount()
    const end = new Date(Date.now() + 600_000).toISOString()
    const { body } = await logInWithToken(mount, await tokenOf(from, { aws: { original_session_exp: end } }))
    expect(body.auth.lease_duration).toBeGreaterThan(500)
    expect(body.auth.lease_duration).toBeLessThanOrEqual(600)
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toMatch('does not name the end')
    const over = new Date(Date.now() - 1000).toISOString()
    const late = await tokenOf(from, { aws: { original_session_exp: over } })
    expect(await tokenLoginErrors(mount, late)).toMatch('does not name the end of a running role session')
    await done('POST', `${mount}/role/app`, { token_explicit_max_ttl: '5m' })
    const shorter = await logInWithToken(mount, await tokenOf(from, { aws: { original_session_exp: end } }))
    expect(shorter.body.auth.lease_duration).toBeLessThanOrEqual(300)
  })

  test('refuse claims of more than 1,024 bytes, unless they create batch tokens', async () => {
    const mount = await tokenMount({}, { bound_principal_tags: { Team: ['*'] } })
    const from = await tokenAccount()
    const withTag = (length: number) =>
      tokenOf(from, { aws: { principal_tags: { Team: 'a'.repeat(length), Other: 'b'.repeat(2000) } } })
    const refused = await tokenLoginErrors(mount, await withTag(1000))
    const [, bytes] =
      /^400 the claims that renewals compare have (\d+) bytes \(limit 1024\)/.exec(refused) ?? []
    const most = 1000 - (Number(bytes) - 1024)
    expect(await tokenLoginErrors(mount, await withTag(most + 1))).toMatch('have 1025 bytes')
    expect(await tokenLoginErrors(mount, await withTag(most))).toBe('200 ')
    await done('POST', `${mount}/role/app`, { token_type: 'batch' })
    expect(await tokenLoginErrors(mount, await withTag(1000))).toBe('200 ')
  })

  test('need config/jwt, and show their fields only if they are set', async () => {
    const { path } = await freshMount()
    const written = await api('POST', `${path}/role/app`, {
      auth_type: 'jwt',
      bound_organization_id: ORGANIZATION,
    })
    expect(written.body.errors).toEqual(['auth_type must be ec2 or iam'])
    const mount = await tokenMount()
    const { body } = await done('GET', `${mount}/role/app`)
    expect(body.data).toMatchObject({ auth_type: 'jwt', bound_organization_id: [ORGANIZATION] })
    expect(body.data).not.toHaveProperty('bound_source_identity')
  })
})

test('a user who logs in by token and by iam is the same entity if both aliases are ARNs', async () => {
  const mount = await tokenMount({}, { bound_organization_id: ORGANIZATION })
  const from = await tokenAccount()
  const { arn } = await aws.putUser({ account: from.account, name: 'bob' })
  const key = await aws.createAccessKey({ account: from.account, user: 'bob' })
  await done('POST', `${mount}/config/identity`, { iam_alias: 'canonical_arn' })
  await done('POST', `${mount}/role/bob`, { bound_iam_principal_arn: arn, resolve_aws_unique_ids: false })
  const byIam = await loginWith(mount, key, { role: 'bob' })
  const byToken = await logInWithToken(mount, await tokenOf({ ...from, sub: arn }), { role: 'app' })
  expect([byIam.status, byToken.status]).toEqual([200, 200])
  expect(byToken.body.auth.entity_id).toBe(byIam.body.auth.entity_id)
})

test('explain reports the steps and checks of a login by token', async () => {
  const mount = await tokenMount()
  const from = await tokenAccount()
  const explain = async (jwt: string) => (await done('POST', `${mount}/role/app/explain`, { jwt })).body.data
  const good = await explain(await tokenOf(from))
  expect(good).toMatchObject({ auth_type: 'jwt', login_would_succeed: true })
  expect(good.checks.slice(0, 3).map(({ check }: { check: string }) => check)).toEqual([
    'parameters',
    'issuer and keys',
    'signature',
  ])
  const bad = await explain(await tokenOf(from, { aud: 'x' }))
  expect(bad.checks.at(-1)).toMatchObject({
    check: 'issuer and keys',
    verdict: 'fail',
    reason: 'jwt-audience',
  })
  expect(claimsOf(from)['iss']).toBe(from.issuer)
})
