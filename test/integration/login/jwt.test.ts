import dns from 'node:dns'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { callWatch, loginWith } from '../../support/requests/logins.ts'
import {
  AUDIENCE,
  claimsOf,
  ORGANIZATION,
  PATH,
  type TokenAccount,
  tokenAccount,
  tokenMount,
  tokenOf,
} from '../../support/requests/web-tokens.ts'
import { clock } from '../../support/service/clock.ts'
import { api, aws, done, freshMount } from '../../support/service/cluster.ts'

let sources = 0

// each login comes from another address, because an address may cause only a few fetches of keys
const login = (mount: string, jwt: string, more: object = {}, from = `127.0.7.${sources++ % 250}`) =>
  api('POST', `${mount}/login`, { jwt, ...more }, { token: '', from })

type Claims = Record<string, unknown>

afterEach(clock.reset)

const errorOf = async (mount: string, jwt: string, more: object = {}): Promise<string> => {
  const { status, body } = await login(mount, jwt, more)
  return `${status} ${(body.errors ?? []).join('; ')}`
}

const UNTRUSTED = '400 the issuer of the token is not trusted here'

describe('login by a token that AWS signed', () => {
  let mount = ''
  let from: TokenAccount
  beforeAll(async () => {
    mount = await tokenMount()
    from = await tokenAccount()
  })

  test('creates a token for an account of the organization that was never configured', async () => {
    const { status, body, text } = await login(mount, await tokenOf(from), { role: 'app' })
    expect(status, text).toBe(200)
    expect(body.auth).toMatchObject({
      token_policies: ['default', 'dev'],
      metadata: { account_id: from.account, auth_type: 'jwt' },
      token_type: 'service',
    })
    const { body: issuer } = await done('GET', `${mount}/config/jwt/issuer/${from.id}`)
    expect(issuer.data).toMatchObject({ account_id: from.account, learnt: true, issuer: from.issuer })
    const { body: listed } = await done('LIST', `${mount}/config/jwt/issuers`)
    expect(listed.data.key_info[from.id]).toMatchObject({ account_id: from.account, last_error: '' })
  })

  test('looks up no name on this host, also when keys are fetched', async () => {
    const lookups = vi.spyOn(dns, 'lookup')
    const unknown = await tokenAccount()
    const calls = callWatch()
    await calls()
    expect((await login(mount, await tokenOf(unknown), { role: 'app' })).status).toBe(200)
    expect((await calls()).filter(({ service }) => service === 'oidc')).toHaveLength(1)
    expect(lookups.mock.calls.map(([name]) => name).filter(name => name !== '127.0.0.1')).toEqual([])
    lookups.mockRestore()
  })

  test('uses the name of the role in the subject by default', async () => {
    expect((await login(mount, await tokenOf(from))).status).toBe(200)
    const other = { ...from, sub: `arn:aws:iam::${from.account}:role/Other` }
    expect(await errorOf(mount, await tokenOf(other))).toBe('400 no role named "other"')
  })

  test('calls no AWS service once the issuer is known', async () => {
    await login(mount, await tokenOf(from))
    const jwt = await tokenOf(from)
    const calls = callWatch()
    await calls()
    expect((await login(mount, jwt)).status).toBe(200)
    expect(await calls()).toEqual([])
  })

  test('accepts each token once, also if it is sent twice at once', async () => {
    const jwt = await tokenOf(from)
    const replies = await Promise.all([login(mount, jwt), login(mount, jwt), login(mount, jwt)])
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 400, 400])
    expect(await errorOf(mount, jwt)).toBe('400 the token has been used; ask AWS for a new one')
  })

  test('ignores white space around a token, but does not accept the token twice for it', async () => {
    const jwt = await tokenOf(from)
    expect((await login(mount, `${jwt}\n`)).status).toBe(200)
    expect(await errorOf(mount, ` ${jwt}`)).toBe('400 the token has been used; ask AWS for a new one')
    expect(await errorOf(mount, jwt.replace('.', '.\n'))).toBe(
      '400 jwt is not a signed token of the expected form',
    )
  })

  test('accepts a token again without single_use, and ES384 only if the mount accepts it', async () => {
    const lax = await tokenMount({ single_use: false, jwt_supported_algs: ['RS256', 'ES384'] })
    const jwt = await tokenOf(from, {}, { alg: 'ES384' })
    expect(await errorOf(lax, jwt)).toBe('200 ')
    expect(await errorOf(lax, jwt)).toBe('200 ')
    expect(await errorOf(mount, jwt)).toBe('400 the algorithm is not accepted here: ask AWS for RS256')
  })

  test('refuses tokens at a mount without config/jwt, and at no mount', async () => {
    const { path } = await freshMount()
    const jwt = await tokenOf(from)
    expect(await errorOf(path, jwt)).toBe('400 jwt logins are not configured')
    expect(await errorOf('/auth/nowhere', jwt)).toBe('400 jwt logins are not configured')
  })

  const now = () => Math.floor(Date.now() / 1000)
  test.each<[string, () => Claims, string]>([
    ['another audience', () => ({ aud: `${AUDIENCE}/` }), 'the token is not for this service'],
    ['several audiences', () => ({ aud: [AUDIENCE, 'x'] }), 'the token is not for this service'],
    ['an end in the past', () => ({ iat: now() - 200, exp: now() - 61 }), 'the token has expired'],
    ['an old age', () => ({ iat: now() - 400, exp: now() + 300 }), 'the token is older than 300 seconds'],
    ['a long life', () => ({ exp: now() + 3700 }), 'the token has expired'],
    [
      'another account than its issuer',
      () => ({ aws: { aws_account: '999999999999' } }),
      'the token speaks for another account than its issuer',
    ],
    [
      'another account in its subject',
      () => ({ sub: 'arn:aws:iam::999999999999:role/app' }),
      'the token speaks for another account than its issuer',
    ],
    [
      'a session as its subject',
      () => ({ sub: `arn:aws:sts::${from.account}:assumed-role/app/x` }),
      'the subject of the token is neither a user nor a role',
    ],
    [
      'another organization',
      () => ({ aws: { org_id: 'o-zzzzzzzzzz' } }),
      'the issuer of the token is not trusted here',
    ],
    ['no jti', () => ({ jti: undefined }), 'jwt is not a signed token of the expected form'],
  ])('refuses a token with %s', async (_, claims, message) => {
    expect(await errorOf(mount, await tokenOf(from, claims()), { role: 'app' })).toBe(`400 ${message}`)
  })

  test('refuses a token that another account signed', async () => {
    const thief = await tokenAccount()
    await login(mount, await tokenOf(thief), { role: 'app' })
    expect(await errorOf(mount, await tokenOf(from, {}, { by: thief.account }))).toBe(
      '400 the signature of the token is not valid',
    )
  })

  test('refuses an unknown key ID, and learns a rotated key', async () => {
    const rotating = await tokenAccount()
    expect(await errorOf(mount, await tokenOf(rotating))).toBe('200 ')
    await aws.rotateIssuerKeys({ account: rotating.account })
    clock.advance(61)
    expect(await errorOf(mount, await tokenOf(rotating))).toBe('200 ')
    expect(await errorOf(mount, await tokenOf(rotating, {}, { header: { kid: 'RSA_9' } }))).toBe(
      '400 the token names a key that its issuer does not publish',
    )
  })

  test('answers 502 as long as a rotated key could not be fetched', async () => {
    const rotating = await tokenAccount()
    expect(await errorOf(mount, await tokenOf(rotating))).toBe('200 ')
    await aws.rotateIssuerKeys({ account: rotating.account })
    clock.advance(61)
    await aws.fault({ service: 'oidc', kind: 'error', times: 1 })
    for (const _ of ['fetched', 'remembered'])
      expect(await errorOf(mount, await tokenOf(rotating))).toBe(
        '502 the keys of the issuer could not be fetched',
      )
    clock.advance(61)
    expect(await errorOf(mount, await tokenOf(rotating))).toBe('200 ')
  })

  test('refuses the organization of a stranger without fetching keys', async () => {
    const stranger = await tokenAccount()
    const calls = callWatch()
    const jwt = await tokenOf(stranger, { aws: { org_id: 'o-zzzzzzzzzz' } })
    await calls()
    expect(await errorOf(mount, jwt)).toBe(UNTRUSTED)
    expect(await calls()).toEqual([])
  })

  test('lets an address cause ten fetches of keys a minute, and known issuers none', async () => {
    const one = '127.0.8.1'
    const fetches = callWatch()
    await fetches()
    const statuses: number[] = []
    for (let n = 0; n < 12; n++) {
      const invented = { ...from, issuer: `https://${crypto.randomUUID()}.tokens.sts.global.api.aws` }
      statuses.push((await login(mount, await tokenOf(invented), {}, one)).status)
    }
    expect(statuses).toEqual([...Array(10).fill(400), 503, 503])
    expect((await fetches()).filter(({ service }) => service === 'oidc')).toHaveLength(10)
    expect((await login(mount, await tokenOf(from), {}, one)).status).toBe(200)
  })

  /** Logs in by a new account, and lets its keys become older than an hour. */
  const oldAccount = async () => {
    const old = await tokenAccount()
    expect(await errorOf(mount, await tokenOf(old))).toBe('200 ')
    clock.advance(2 * 3600)
    const calls = callWatch()
    await calls()
    return {
      old,
      fetches: async () => (await calls()).filter(({ service }) => service === 'oidc').length,
      ageOfKeys: async () => {
        const { body } = await done('GET', `${mount}/config/jwt/issuer/${old.id}`)
        return clock.now() - Date.parse(body.data.fetched_at)
      },
    }
  }

  test('refreshes keys older than an hour with a granted login', async () => {
    const { old, fetches, ageOfKeys } = await oldAccount()
    expect(await errorOf(mount, await tokenOf(old))).toBe('200 ')
    expect(await fetches()).toBe(1)
    expect(await ageOfKeys()).toBeLessThan(60_000)
  })

  const SIGNATURE = '400 the signature of the token is not valid'

  test('fetches keys older than an hour once a minute for forged tokens, and does not store them', async () => {
    const { old, fetches, ageOfKeys } = await oldAccount()
    const forged = `${(await tokenOf(old)).slice(0, -8)}AAAAAAAA`
    for (let sent = 0; sent < 3; sent++) expect(await errorOf(mount, forged)).toBe(SIGNATURE)
    expect(await fetches()).toBe(1)
    expect(await ageOfKeys()).toBeGreaterThan(3_600_000)
  })

  test('refreshes keys that a clock two hours ahead has stored', async () => {
    const from = await tokenAccount()
    clock.advance(2 * 3600)
    expect(await errorOf(mount, await tokenOf(from))).toBe('200 ')
    clock.reset()
    expect(await errorOf(mount, await tokenOf(from))).toBe('200 ')
    const { body } = await done('GET', `${mount}/config/jwt/issuer/${from.id}`)
    expect(Date.parse(body.data.fetched_at)).toBeLessThan(clock.now() + 60_000)
  })

  test('finds a key that AWS replaced under its ID once the stored keys are older than an hour', async () => {
    const from = await tokenAccount()
    expect(await errorOf(mount, await tokenOf(from))).toBe('200 ')
    const kept = await tokenOf(from)
    await aws.rotateIssuerKeys({ account: from.account, keepIds: true })
    clock.advance(61)
    expect(await errorOf(mount, await tokenOf(from))).toBe(SIGNATURE)
    clock.advance(2 * 3600)
    await aws.fault({ service: 'oidc', kind: 'error', times: 1 })
    expect(await errorOf(mount, await tokenOf(from))).toBe(SIGNATURE)
    clock.advance(61)
    expect(await errorOf(mount, await tokenOf(from))).toBe('200 ')
    expect(await errorOf(mount, kept)).toMatch(/^400 /)
  })

  test('refuses keys that are too old if they cannot be fetched again, and uses them before', async () => {
    const old = await tokenAccount()
    expect(await errorOf(mount, await tokenOf(old))).toBe('200 ')
    await aws.fault({ service: 'oidc', kind: 'error', times: 2 })
    clock.advance(2 * 3600)
    expect(await errorOf(mount, await tokenOf(old))).toBe('200 ')
    clock.advance(23 * 3600)
    expect(await errorOf(mount, await tokenOf(old))).toBe('503 the keys of the issuer are too old')
    clock.advance(61)
    expect(await errorOf(mount, await tokenOf(old))).toBe('200 ')
    await aws.clearFaults()
  })

  test('refuses a token together with fields of another type', async () => {
    expect(await errorOf(mount, 'x', { pkcs7: 'y' })).toBe(
      '400 values for more than one type of login were given',
    )
    expect(await errorOf(mount, '')).toMatch(/^400 required authentication values are missing/)
  })
})

describe('issuers', () => {
  test('of an account that has another issuer replace the learnt one, but not a blocked or a configured one', async () => {
    const mount = await tokenMount()
    const from = await tokenAccount()
    const { body } = await login(mount, await tokenOf(from))
    const renewed = await aws.federation({ account: from.account, renew: true })
    const next = { ...from, ...renewed }
    expect(await errorOf(mount, await tokenOf(next))).toBe('200 ')
    const token = body.auth.client_token
    expect((await api('POST', '/auth/token/renew-self', {}, { token })).status).toBe(403)
    await done('POST', `${mount}/config/jwt/issuer/${next.id}`, { blocked: true, account_id: from.account })
    expect(await errorOf(mount, await tokenOf(next))).toBe(UNTRUSTED)
    const again = { ...from, ...(await aws.federation({ account: from.account, renew: true })) }
    expect(await errorOf(mount, await tokenOf(again))).toBe(
      '400 the token speaks for another account than its issuer',
    )
  })

  test('that were learnt stay learnt when they are blocked and unblocked', async () => {
    const mount = await tokenMount()
    const from = await tokenAccount()
    const place = `${mount}/config/jwt/issuer/${from.id}`
    expect(await errorOf(mount, await tokenOf(from))).toBe('200 ')
    await done('POST', place, { blocked: true })
    expect(await errorOf(mount, await tokenOf(from))).toBe(UNTRUSTED)
    await done('POST', place, { blocked: false })
    expect((await done('GET', place)).body.data).toMatchObject({ learnt: true, blocked: false })
    await done('POST', `${mount}/config/jwt`, { organizations: 'o-zzzzzzzzzz' })
    expect(await errorOf(mount, await tokenOf(from))).toBe(UNTRUSTED)
    await done('POST', place, { account_id: from.account })
    expect(await errorOf(mount, await tokenOf(from))).toBe('200 ')
  })

  test('can be blocked although their keys cannot be fetched', async () => {
    const mount = await tokenMount()
    const from = await tokenAccount()
    const place = `${mount}/config/jwt/issuer/${from.id}`
    expect(await errorOf(mount, await tokenOf(from))).toBe('200 ')
    const jwt = await tokenOf(from)
    await aws.federation({ account: from.account, renew: true })
    await done('POST', place, { blocked: true })
    expect(await errorOf(mount, jwt)).toBe(UNTRUSTED)
    const { body } = await api('POST', place, { blocked: false })
    expect(body.errors[0]).toContain('the keys of the issuer could not be fetched: unknown')
  })

  test('of a blocked account are refused, and tokens of the account cannot be renewed', async () => {
    const mount = await tokenMount()
    const from = await tokenAccount()
    const { body } = await login(mount, await tokenOf(from))
    const renew = () => api('POST', '/auth/token/renew-self', {}, { token: body.auth.client_token })
    expect((await renew()).status).toBe(200)
    await done('POST', `${mount}/config/jwt`, { blocked_accounts: from.account })
    expect(await errorOf(mount, await tokenOf(from))).toBe(UNTRUSTED)
    expect((await renew()).status).toBe(403)
    await done('POST', `${mount}/config/jwt`, { blocked_accounts: '' })
    expect((await renew()).status).toBe(200)
    await done('POST', `${mount}/config/jwt`, { organizations: '' })
    expect(await errorOf(mount, await tokenOf(from))).toBe(UNTRUSTED)
    expect((await renew()).status).toBe(403)
  })

  test('that are configured need no organization, and their keys are fetched by the write', async () => {
    const mount = await tokenMount(
      { organizations: '' },
      { bound_organization_id: '', bound_iam_principal_arn: '', bound_account_id: '111122223333' },
    )
    const from = await tokenAccount()
    await done('POST', `${mount}/role/app`, { bound_account_id: from.account })
    expect(await errorOf(mount, await tokenOf(from))).toBe(UNTRUSTED)
    const place = `${mount}/config/jwt/issuer/${from.id}`
    await done('POST', place, { account_id: from.account })
    expect(await errorOf(mount, await tokenOf(from))).toBe('200 ')
    expect((await done('GET', place)).body.data).toMatchObject({
      learnt: false,
      keys: [
        { kid: 'RSA_0', alg: 'RS256' },
        { kid: 'EC384_0', alg: 'ES384' },
      ],
    })
    await done('DELETE', place)
    expect(await errorOf(mount, await tokenOf(from))).toBe(UNTRUSTED)
    const unknown = await api('POST', `${mount}/config/jwt/issuer/00000000-0000-4000-8000-000000000000`, {
      account_id: from.account,
    })
    expect(unknown.body.errors[0]).toContain('the keys of the issuer could not be fetched: unknown')
  })
})

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
    expect(await errorOf(mount, await tokenOf(from, { aws: good }))).toBe('200 ')
    expect(await errorOf(mount, await tokenOf(from, { aws: bad }))).toBe(
      `400 the token does not satisfy role "app": ${name}`,
    )
  })

  test('cap_to_session ends the token with the role session', async () => {
    const mount = await tokenMount({}, { cap_to_session: true, token_ttl: '1h' })
    const from = await tokenAccount()
    const end = new Date(Date.now() + 600_000).toISOString()
    const { body } = await login(mount, await tokenOf(from, { aws: { original_session_exp: end } }))
    expect(body.auth.lease_duration).toBeGreaterThan(500)
    expect(body.auth.lease_duration).toBeLessThanOrEqual(600)
    expect(await errorOf(mount, await tokenOf(from))).toMatch('does not name the end')
  })

  test('refuse claims of more than 1,024 bytes, unless they create batch tokens', async () => {
    const mount = await tokenMount({}, { bound_principal_tags: { Team: ['*'] } })
    const from = await tokenAccount()
    const withTag = (length: number) =>
      tokenOf(from, { aws: { principal_tags: { Team: 'a'.repeat(length), Other: 'b'.repeat(2000) } } })
    const refused = await errorOf(mount, await withTag(1000))
    const [, bytes] =
      /^400 the claims that renewals compare have (\d+) bytes \(limit 1024\)/.exec(refused) ?? []
    const most = 1000 - (Number(bytes) - 1024)
    expect(await errorOf(mount, await withTag(most + 1))).toMatch('have 1025 bytes')
    expect(await errorOf(mount, await withTag(most))).toBe('200 ')
    await done('POST', `${mount}/role/app`, { token_type: 'batch' })
    expect(await errorOf(mount, await withTag(1000))).toBe('200 ')
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
  const byToken = await login(mount, await tokenOf({ ...from, sub: arn }), { role: 'app' })
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
