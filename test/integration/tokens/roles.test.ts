import { describe, expect, test } from 'vitest'
import { errorsOf } from '../../support/requests/logins.ts'
import { lives, lookUp, makerWith } from '../../support/requests/tokens.ts'
import { api, done, fresh, tokenWith } from '../../support/service/cluster.ts'
import { termsOfBoth } from '../../unit/endpoints/interface.ts'

const write = async (given: Record<string, unknown>, role = fresh('role')): Promise<string> => {
  await done('POST', `/auth/token/roles/${role}`, given)
  return role
}

const create = (role: string, given: Record<string, unknown> = {}, token?: string) =>
  api('POST', `/auth/token/create/${role}`, given, token === undefined ? {} : { token })

const read = async (role: string) => (await done('GET', `/auth/token/roles/${role}`)).body.data

describe('a token role', () => {
  test('can be written, read, listed and deleted', async () => {
    const role = await write({ allowed_policies: 'Dev, ops', token_period: '1h', path_suffix: 'ci' })
    expect(await read(role)).toEqual({
      name: role,
      allowed_policies: ['dev', 'ops'],
      disallowed_policies: [],
      allowed_policies_glob: [],
      disallowed_policies_glob: [],
      orphan: false,
      renewable: true,
      path_suffix: 'ci',
      ...termsOfBoth,
      token_type: 'default-service',
      token_period: 3600,
      allowed_entity_aliases: [],
      period: 0,
      explicit_max_ttl: 0,
    })
    for (const token_type of ['default-batch', 'batch', 'service', 'default-service']) {
      await write({ token_period: 0, token_type }, role)
      await write({}, role)
      expect(await read(role)).toMatchObject({ token_type })
    }
    await write({ orphan: true, token_period: '1h' }, role)
    expect(await read(role)).toMatchObject({
      orphan: true,
      token_period: 3600,
      allowed_policies: ['dev', 'ops'],
    })
    expect((await done('GET', '/auth/token/roles?list=true')).body.data.keys).toContain(role)
    expect((await done('DELETE', `/auth/token/roles/${role}`)).status).toBe(204)
    expect((await done('DELETE', `/auth/token/roles/${role}`)).status).toBe(204)
    expect((await api('GET', `/auth/token/roles/${role}`)).status).toBe(404)
    expect(errorsOf(await create(role))).toContain('unknown role')
  })

  test('accepts and returns the old field names', async () => {
    const role = await write({ period: '2h', explicit_max_ttl: '3h', bound_cidrs: '10.0.0.0/8' })
    expect(await read(role)).toMatchObject({
      period: 7200,
      token_period: 7200,
      explicit_max_ttl: 10800,
      token_explicit_max_ttl: 10800,
      bound_cidrs: ['10.0.0.0/8'],
      token_bound_cidrs: ['10.0.0.0/8'],
    })
  })

  test('is unchanged when its fields are read and written back', async () => {
    const role = await write({ allowed_policies: 'a', token_period: '1h', token_bound_cidrs: '10.0.0.0/8' })
    const before = await read(role)
    await write(before, role)
    expect(await read(role)).toEqual(before)
  })

  test('rejects allowed_entity_aliases, and accepts an empty list', async () => {
    const path = `/auth/token/roles/${fresh('role')}`
    const refused = await api('POST', path, { allowed_entity_aliases: ['ci-*'] })
    expect([refused.status, errorsOf(refused)]).toEqual([
      400,
      expect.stringContaining('allowed_entity_aliases'),
    ])
    for (const none of [[], '', null])
      expect((await api('POST', path, { allowed_entity_aliases: none })).status).toBe(204)
  })

  test('stores a star in a plain list with a warning', async () => {
    const path = `/auth/token/roles/${fresh('role')}`
    const { status, body } = await api('POST', path, { disallowed_policies: ['*admin*', 'x'] })
    expect([status, body.warnings]).toEqual([200, [expect.stringContaining('disallowed_policies_glob')]])
  })

  test('without policy lists gives a root token the policy root, and with policy lists does not', async () => {
    const open = (await create(await write({}))).body.auth
    expect(open).toMatchObject({ policies: ['root'], lease_duration: 0, renewable: false })
    expect(await lives(open.client_token)).toBe(true)
    expect((await create(await write({ token_period: '1h' }))).body.auth).toMatchObject({
      policies: ['root'],
      lease_duration: 3600,
    })
    const sudo = await makerWith('"update", "sudo"')
    for (const [rules, token] of [
      [{ disallowed_policies: 'x' }, undefined],
      [{ allowed_policies_glob: '*' }, undefined],
      [{}, sudo],
    ] as const) {
      const refused = await create(await write(rules), { policies: ['root'] }, token)
      expect([refused.status, errorsOf(refused)]).toEqual([400, expect.stringContaining('root')])
    }
  })

  test.each<[string, Record<string, unknown>, string[] | undefined, string[] | undefined]>([
    [
      'all allowed policies when none are requested',
      { allowed_policies: 'a,b' },
      undefined,
      ['a', 'b', 'default'],
    ],
    ['some of the allowed policies', { allowed_policies: 'a,b' }, ['b'], ['b', 'default']],
    ['an allowed policy in another spelling', { allowed_policies: 'A' }, [' a '], ['a', 'default']],
    ['a policy outside the allowed list: rejected', { allowed_policies: 'a,b' }, ['b', 'c'], undefined],
    [
      'a policy that matches an allowed pattern',
      { allowed_policies_glob: 'team-*' },
      ['team-x'],
      ['default', 'team-x'],
    ],
    [
      'a policy that matches an allowed pattern in another spelling',
      { allowed_policies_glob: 'Team-*' },
      ['TEAM-X'],
      ['default', 'team-x'],
    ],
    [
      'a policy outside the allowed pattern: rejected',
      { allowed_policies_glob: 'team-*' },
      ['teams'],
      undefined,
    ],
    [
      'policies by list and by pattern',
      { allowed_policies: 'a', allowed_policies_glob: 'b*' },
      ['a', 'b1'],
      ['a', 'b1', 'default'],
    ],
    [
      'a disallowed policy: rejected',
      { allowed_policies: 'a,b', disallowed_policies: 'b' },
      ['b'],
      undefined,
    ],
    [
      'all allowed policies when one is disallowed: rejected',
      { allowed_policies: 'a,b', disallowed_policies: 'b' },
      undefined,
      undefined,
    ],
    [
      'a policy that matches a disallowed pattern: rejected',
      { allowed_policies_glob: '*', disallowed_policies_glob: 'adm*' },
      ['admin'],
      undefined,
    ],
    [
      'a policy that matches no disallowed pattern',
      { allowed_policies_glob: '*', disallowed_policies_glob: 'adm*' },
      ['dev'],
      ['default', 'dev'],
    ],
    [
      'a policy that matches a disallowed pattern with a star in front: rejected',
      { allowed_policies_glob: '*', disallowed_policies_glob: ['*admin*'] },
      ['cluster-Admin-2'],
      undefined,
    ],
    [
      'a policy that matches a disallowed pattern with a star inside: rejected',
      { disallowed_policies_glob: 'ad*in' },
      ['ad-m-in'],
      undefined,
    ],
    [
      'a policy that matches an allowed pattern with a star in front',
      { allowed_policies_glob: '*-reader' },
      ['logs-reader'],
      ['default', 'logs-reader'],
    ],
    ['a star in a plain allowed list: rejected', { allowed_policies: 'team-*' }, ['team-x'], undefined],
    ['any policy except the disallowed one', { disallowed_policies: 'admin' }, ['dev'], ['default', 'dev']],
    ['root by a pattern: rejected', { allowed_policies_glob: '*' }, ['root'], undefined],
    ['ROOT by a pattern: rejected', { allowed_policies_glob: '*' }, [' ROOT'], undefined],
    ['root by a list: rejected', { allowed_policies: 'root' }, ['root'], undefined],
    [
      'no default policy when the role excludes it',
      { allowed_policies: 'a', token_no_default_policy: true },
      undefined,
      ['a'],
    ],
    [
      'the default policy when it is disallowed: rejected',
      { allowed_policies: 'a', disallowed_policies: 'default' },
      ['default', 'a'],
      undefined,
    ],
  ])('grants %s', async (_, rules, policies, expected) => {
    const role = await write(rules)
    const reply = await create(role, policies === undefined ? {} : { policies })
    expect([reply.status, reply.body.auth?.policies]).toEqual([expected ? 200 : 400, expected])
  })

  test("with lists may grant policies that its caller lacks, and without lists grants the caller's", async () => {
    const caller = await makerWith()
    const wide = await write({ allowed_policies: 'admin' })
    expect((await create(wide, {}, caller)).body.auth.policies).toEqual(['admin', 'default'])
    const open = await write({})
    expect((await create(open, {}, caller)).body.auth.policies).toEqual((await lookUp(caller))['policies'])
    expect((await create(open, { policies: ['admin'] }, caller)).status).toBe(400)
  })

  test('can be used only by tokens with permission on its path', async () => {
    const [mine, other] = [await write({ allowed_policies: 'a' }), await write({ allowed_policies: 'a' })]
    const token = await tokenWith(`path "auth/token/create/${mine}" { capabilities = ["update"] }`)
    expect((await create(mine, {}, token)).status).toBe(200)
    expect((await create(other, {}, token)).status).toBe(403)
    expect((await api('POST', '/auth/token/create', {}, { token })).status).toBe(403)
  })

  test('is recorded in its tokens with the path and suffix', async () => {
    const role = await write({ allowed_policies: 'a', path_suffix: 'ci.v1' })
    const { body } = await create(role)
    expect(await lookUp(body.auth.client_token)).toMatchObject({
      role,
      path: `auth/token/create/${role}/ci.v1`,
    })
  })

  test('with orphan keeps its tokens valid after the creator is revoked', async () => {
    const caller = await makerWith()
    const [kept, lost] = await Promise.all(
      [true, false].map(async orphan => (await create(await write({ orphan }), {}, caller)).body.auth),
    )
    expect([kept.orphan, lost.orphan]).toEqual([true, false])
    await done('POST', '/auth/token/revoke', { token: caller })
    expect([await lives(kept.client_token), await lives(lost.client_token)]).toEqual([true, false])
  })

  test.each<[string, Record<string, unknown>, Record<string, unknown>, Record<string, unknown>]>([
    ['renewable: false', { renewable: false }, { renewable: true }, { renewable: false }],
    ['type batch', { token_type: 'batch' }, { type: 'service' }, { type: 'batch' }],
    ['type service', { token_type: 'service' }, { type: 'batch' }, { type: 'service' }],
    ['type default', { token_type: 'default' }, { type: 'batch' }, { type: 'batch' }],
    ['type default-service', { token_type: 'default-service' }, {}, { type: 'service' }],
    [
      'type default-service, batch requested',
      { token_type: 'default-service' },
      { type: 'batch' },
      { type: 'batch' },
    ],
    ['type default-batch', { token_type: 'default-batch' }, {}, { type: 'batch' }],
    [
      'type default-batch, service requested',
      { token_type: 'default-batch' },
      { type: 'service' },
      { type: 'service' },
    ],
    ['a period', { token_period: '1h' }, { ttl: '5h' }, { period: 3600, creation_ttl: 3600 }],
    ['the shorter period', { token_period: '1h' }, { period: '30m' }, { period: 1800, creation_ttl: 1800 }],
    ['not the longer period', { token_period: '1h' }, { period: '2h' }, { period: 3600 }],
    [
      'an explicit maximum',
      { token_explicit_max_ttl: '1h' },
      { ttl: '5h' },
      { explicit_max_ttl: 3600, ttl: expect.any(Number), creation_ttl: 3600 },
    ],
    [
      'the shorter maximum',
      { token_explicit_max_ttl: '2h' },
      { explicit_max_ttl: '1h' },
      { explicit_max_ttl: 3600 },
    ],
    ['a use limit', { token_num_uses: 3 }, {}, { num_uses: 3 }],
    ['the smaller use limit', { token_num_uses: 3 }, { num_uses: 9 }, { num_uses: 3 }],
  ])('and the request give the token its settings: %s', async (_, rules, given, expected) => {
    const role = await write({ allowed_policies: 'a', ...rules })
    const reply = await create(role, given)
    expect(reply.status, reply.text).toBe(200)
    expect(await lookUp(reply.body.auth.client_token)).toMatchObject(expected)
  })

  test.each<[string, Record<string, unknown>]>([
    ['an unknown type', { token_type: 'SECRET' }],
    ['an unknown default type', { token_type: 'default-SECRET' }],
    ['a negative use limit', { token_num_uses: -1 }],
    ["a period above the system's maximum", { token_period: '769h' }],
    ['batch tokens with a period', { token_type: 'batch', token_period: '1h' }],
    ['batch tokens with a use limit', { token_type: 'batch', token_num_uses: 1 }],
    ['a path_suffix with dot segments', { path_suffix: '../x' }],
    ['a list of objects', { allowed_policies: [{ SECRET: 1 }] }],
    [
      'too many policies',
      { allowed_policies: Array.from({ length: 9000 }, (_, one) => `p${one}-${'x'.repeat(50)}`) },
    ],
  ])('with %s is rejected, and nothing is stored', async (_, given) => {
    const role = fresh('role')
    const reply = await api('POST', `/auth/token/roles/${role}`, given)
    expect([400, 413]).toContain(reply.status)
    expect(reply.text).not.toContain('SECRET')
    expect((await api('GET', `/auth/token/roles/${role}`)).status).toBe(404)
  })

  test.each(['__proto__', 'constructor', 'A.b-C_1'])('may have the name %s', async name => {
    const role = `${name}${fresh('x')}`
    await write({ allowed_policies: 'a' }, role)
    expect((await create(role)).status).toBe(200)
    expect(
      (await api('GET', `/auth/token/roles/${name === '__proto__' ? name : role.toUpperCase()}`)).status,
    ).toBe(404)
  })

  test.each(['a/b', 'a%2fb', '.a', 'a b', '%20', 'ä'])('cannot have the name %j', async name => {
    expect([400, 404]).toContain((await api('POST', `/auth/token/roles/${encodeURI(name)}`, {})).status)
  })
})
