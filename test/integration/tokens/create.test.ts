import { describe, expect, test } from 'vitest'
import { accessorOfHash, tokenHashOf } from '../../../shared/model/token.ts'
import { errorsOf } from '../../support/requests/logins.ts'
import { lives, lookUp, make, makerWith, tryMake } from '../../support/requests/tokens.ts'
import { api, done, fresh, tokenWith } from '../../support/service/cluster.ts'

describe('auth/token/create', () => {
  test('returns the auth object of the new token', async () => {
    const { body } = await done('POST', '/auth/token/create', {
      policies: 'Dev, ops',
      meta: { team: 'a', __proto__: 'x' },
      ttl: '1h',
      display_name: 'build 7',
    })
    expect(body).toMatchObject({ data: null, wrap_info: null, mount_type: 'token' })
    expect(body.auth).toEqual({
      client_token: expect.stringMatching(/^hvs\.[0-9A-Za-z]{24,}$/),
      accessor: expect.stringMatching(/^[0-9A-Za-z]{24}$/),
      policies: ['default', 'dev', 'ops'],
      token_policies: ['default', 'dev', 'ops'],
      metadata: { team: 'a' },
      lease_duration: 3600,
      renewable: true,
      entity_id: '',
      token_type: 'service',
      orphan: false,
      mfa_requirement: null,
      num_uses: 0,
    })
    expect(body.warnings).toEqual(['policy "dev" does not exist', 'policy "ops" does not exist'])
    expect(await lookUp(body.auth.client_token)).toMatchObject({
      display_name: 'token-build-7',
      path: 'auth/token/create',
    })
  })

  test("without policies copies the parent's; a child of root is root without expiration", async () => {
    const parent = await makerWith()
    const inherited = await make({}, { token: parent })
    expect(inherited.policies).toEqual((await lookUp(parent))['policies'])
    const root = await make()
    expect(root).toMatchObject({ policies: ['root'], lease_duration: 0, renewable: false })
    expect(await lookUp(root.client_token)).toMatchObject({ ttl: 0, expire_time: null })
  })

  test.each<[string, string[] | string]>([
    ['written as root', ['root']],
    ['in upper case', ['ROOT']],
    ['with blanks', [' root ']],
    ['with a tab and a line end', ['\troot\n']],
    ['in a comma-separated string', 'dev, Root ,'],
    ['among other policies', ['default', 'rOOt']],
  ])('the policy root, %s, needs a root token (CVE-2024-9180, CVE-2025-5999)', async (_, policies) => {
    for (const token of [await makerWith(), await makerWith('"update", "sudo"')]) {
      const refused = await tryMake({ policies }, { token })
      expect(refused.status, refused.text).toBe(400)
      expect(errorsOf(refused)).toContain('root')
    }
  })

  test('the policy root replaces all other policies in every spelling', async () => {
    expect((await make({ policies: [' ROOT ', 'dev'], ttl: '1m' })).policies).toEqual(['root'])
  })

  test('an expiring root token cannot create a root token without expiration', async () => {
    const ending = await make({ policies: 'root', ttl: '1h' })
    expect(ending).toMatchObject({ lease_duration: 3600, renewable: true })
    const options = { token: ending.client_token }
    expect((await tryMake({ policies: 'root' }, options)).status).toBe(400)
    expect((await make({ policies: 'root', ttl: '2h' }, options)).lease_duration).toBe(7200)
  })

  test("policies must be a subset of the parent's unless the parent has sudo", async () => {
    const own = fresh('own')
    const parent = await makerWith('"update"', {})
    const wanted = { policies: [own] }
    expect(errorsOf(await tryMake(wanted, { token: parent }))).toContain('subset')
    const sudo = await makerWith('"update", "sudo"')
    expect((await make(wanted, { token: sudo })).policies).toEqual(['default', own])
  })

  test('the policy `default` is added only if the parent token has that policy', async () => {
    const policy = 'path "auth/token/create" { capabilities = ["update"] }'
    const bare = await tokenWith(policy)
    const child = await make({}, { token: bare })
    expect(child.policies).not.toContain('default')
    const [own] = child.policies
    expect((await make({ policies: own }, { token: bare })).policies).toEqual([own])
    expect((await tryMake({ policies: [own, 'default'] }, { token: bare })).status).toBe(400)
    const full = await tokenWith(policy, { no_default_policy: false })
    const [, name] = (await lookUp(full))['policies'] as string[]
    expect((await make({ policies: name }, { token: full })).policies).toEqual(['default', name])
    expect((await make({ policies: name, no_default_policy: true }, { token: full })).policies).toEqual([
      name,
    ])
  })

  test.each([
    ['no_parent', { no_parent: true }],
    ['id', { id: 'chosen' }],
    ['period', { period: '1h' }],
  ])('%s needs root or sudo', async (field, given) => {
    const refused = await tryMake(given, { token: await makerWith() })
    expect(refused.status).toBe(400)
    expect(errorsOf(refused)).toContain(field)
  })

  test('no_parent, id and period are allowed with sudo', async () => {
    const token = await makerWith('"update", "sudo"')
    const id = fresh('chosen')
    const made = await make({ no_parent: true, id, period: '1h', policies: 'default' }, { token })
    expect(made).toMatchObject({ client_token: id, orphan: true, lease_duration: 3600 })
    expect(await lives(id)).toBe(true)
  })

  test('create-orphan needs no sudo, and the orphan stays valid after its creator is revoked', async () => {
    const token = await makerWith()
    const { body } = await done('POST', '/auth/token/create-orphan', {}, { token })
    expect(body.auth.orphan).toBe(true)
    const { client_token: child } = await make({}, { token })
    await done('POST', '/auth/token/revoke', { token })
    expect(await lives(body.auth.client_token)).toBe(true)
    expect(await lives(child)).toBe(false)
  })

  test('the capabilities `create` and `update` are each sufficient; without either capability the answer is 403', async () => {
    const token = await makerWith('"create"')
    expect((await make({}, { token })).policies).toContain('default')
    const reader = await makerWith('"read", "list", "sudo"')
    expect((await tryMake({}, { token: reader })).status).toBe(403)
  })

  test.each([
    ['a dot', 'a.b'],
    ['the prefix of service tokens', 'hvs.abc'],
    ['the prefix of batch tokens', 'hvb.abc'],
    ['the old prefix', 's.abc'],
  ])('a chosen ID with %s is rejected', async (_, id) => {
    expect((await tryMake({ id })).status).toBe(400)
  })

  test('a chosen ID that exists is rejected, and the token stays unchanged', async () => {
    const id = fresh('chosen')
    await make({ id, policies: 'default', ttl: '1h' })
    const again = await tryMake({ id, policies: 'root' })
    expect(again.status, again.text).toBe(400)
    expect(await lookUp(id)).toMatchObject({ policies: ['default'], creation_ttl: 3600 })
  })

  test('only one of ten concurrent requests gets a chosen ID', async () => {
    const id = fresh('chosen')
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => tryMake({ id, policies: 'default', ttl: '1h' })),
    )
    const statuses = replies.map(reply => reply.status).sort()
    expect(statuses).toEqual([200, ...Array.from({ length: 9 }, () => 400)])
  })

  test('the accessor of a chosen ID is random, and works like any other', async () => {
    const id = fresh('chosen')
    const { accessor } = await make({ id, policies: 'default', ttl: '1h' })
    expect(accessor).toMatch(/^[0-9A-Za-z]{24}$/)
    expect(accessor).not.toBe(accessorOfHash(tokenHashOf(id)))
    expect(await lookUp(id)).toMatchObject({ id, accessor })
    const { body } = await done('POST', '/auth/token/renew-accessor', { accessor, increment: '2h' })
    expect(body.auth).toMatchObject({ client_token: '', accessor, lease_duration: 7200 })
    for (const path of ['renew', 'revoke']) await done('POST', `/auth/token/${path}`, { token: id })
    expect(await lives(id)).toBe(false)
    const random = await make({ policies: 'default', ttl: '1h' })
    expect(random.accessor).toBe(accessorOfHash(tokenHashOf(random.client_token)))
  })

  test('a token with a use limit cannot create tokens', async () => {
    const token = await makerWith('"update", "sudo"', { num_uses: 5 })
    for (const path of ['create', 'create-orphan']) {
      const refused = await api('POST', `/auth/token/${path}`, {}, { token })
      expect(refused.status).toBe(400)
      expect(errorsOf(refused)).toContain('restricted use')
    }
  })

  test('entity_alias is rejected by name', async () => {
    expect(errorsOf(await tryMake({ entity_alias: 'x' }))).toContain('entity_alias')
  })
})
