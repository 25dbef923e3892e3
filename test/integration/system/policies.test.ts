import { describe, expect, test } from 'vitest'
import { api, done, fresh, freshMount, tokenWith } from '../../support/service/cluster.ts'

const TEXT = '# mine\npath "a/b" {\n  capabilities = ["read"]\n}\n'
const at = (name: string) => `/sys/policies/acl/${name}`
const older = (name: string) => `/sys/policy/${name}`

describe('sys/policies/acl and sys/policy', () => {
  test.each([
    ['HCL', TEXT, TEXT],
    ['JSON', '{"path":{"a/b":{"capabilities":["read"]}}}', '{"path":{"a/b":{"capabilities":["read"]}}}'],
    ['base64', Buffer.from(TEXT).toString('base64'), TEXT],
  ])(
    'a policy in %s is stored as written, and read at sys/policies/acl and sys/policy',
    async (_, policy, text) => {
      const name = fresh('p')
      expect((await api('PUT', at(name), { policy })).status).toBe(204)
      expect((await done('GET', at(name))).body.data).toEqual({ name, policy: text })
      const { body } = await done('GET', older(name))
      expect([body.data, body.rules]).toEqual([{ name, rules: text }, text])
      const token = await tokenWith('path "x" {}', { policies: [name] })
      expect((await api('GET', '/a/b', undefined, { token })).status).toBe(404)
      expect((await api('DELETE', older(name))).status).toBe(204)
      expect((await api('GET', at(name))).status).toBe(404)
      expect((await api('DELETE', at(name))).status).toBe(204)
    },
  )

  test('the older field is accepted at the older path', async () => {
    const name = fresh('p')
    await done('POST', older(name), { rules: TEXT })
    expect((await done('GET', at(name))).body.data.policy).toBe(TEXT)
  })

  test('listings are sorted and include the built-in policies', async () => {
    const name = fresh('p')
    await done('POST', at(name), { policy: TEXT })
    const { keys } = (await done('LIST', '/sys/policies/acl')).body.data
    expect(keys).toEqual(expect.arrayContaining(['default', name, 'root']))
    expect(keys).toEqual([...keys].sort())
    for (const method of ['GET', 'LIST']) {
      const { body } = await done(method, '/sys/policy')
      expect(body.data.keys).toEqual(expect.arrayContaining(['default', name, 'root']))
      expect(body.policies).toEqual(body.data.keys)
    }
  })

  test('policy names may contain blanks in paths, roles and tokens', async () => {
    const name = `${fresh('the team')} of two`
    await done('POST', at(name.replaceAll(' ', '%20')), { policy: TEXT })
    expect((await done('GET', at(name.replaceAll(' ', '%20').toUpperCase()))).body.data.name).toBe(name)
    expect((await done('LIST', '/sys/policies/acl')).body.data.keys).toContain(name)
    const token = await tokenWith('path "x" {}', { policies: ` ${name} ,other` })
    const { data } = (await done('POST', '/auth/token/lookup', { token })).body
    expect(data.policies).toEqual([name, 'other'].sort())
    expect((await api('GET', '/a/b', undefined, { token })).status).toBe(404)
    const governed = await tokenWith(
      `path "sys/policies/acl/${name.toUpperCase()}" { capabilities = ["read"] }`,
    )
    const asked = (one: string) => api('GET', at(one.replaceAll(' ', '%20')), undefined, { token: governed })
    expect([(await asked(name)).status, (await asked('the other')).status]).toEqual([200, 403])
    expect((await api('POST', at(`${fresh('n')}%20`), { policy: TEXT })).status).toBe(400)
  })

  test('policy names are lower-cased', async () => {
    const name = fresh('p')
    await done('POST', at(name.toUpperCase()), { policy: TEXT })
    expect((await done('GET', at(name))).body.data).toEqual({ name, policy: TEXT })
  })

  const bad: [title: string, policy: unknown, message: RegExp][] = [
    ['none', undefined, /^policy is required$/],
    ['nothing', ' \n', /^policy is required$/],
    ['an open block', 'path "a" {', /^failed to parse policy: line 1: /],
    ['an unknown capability', 'path "a" { capabilities = ["fly"] }', /unknown capability/],
    ['an unknown argument', 'path "a" { capability = ["read"] }', /"capability" is not supported/],
    ['a block other than path', 'role "a" {}', /"role" is not supported at the top of a policy/],
    ['a template', 'path "a/{{identity.entity.id}}" {}', /templates are not supported/],
    ['a wildcard in the middle', 'path "a/*/b" {}', /only at the end/],
    ['a plus sign in part of a segment', 'path "a/+b/c" {}', /whole segment/],
    ['a number', 7, /failed to parse policy/],
    ['a list of objects in JSON', '{"path":[{"a":1}]}', /a path’s rules must be an object/],
    [
      'deep nesting',
      `path "a" { allowed_parameters = ${'{ x = '.repeat(50)}1${'}'.repeat(50)} }`,
      /nested too deeply/,
    ],
  ]
  test.each(bad)('a policy with %s is rejected, and the stored policy stays', async (_, policy, message) => {
    const name = fresh('p')
    await done('POST', at(name), { policy: TEXT })
    const { status, body } = await api('POST', at(name), { policy })
    expect([status, body.errors[0]]).toEqual([400, expect.stringMatching(message)])
    expect((await done('GET', at(name))).body.data.policy).toBe(TEXT)
  })

  test('root cannot be changed or deleted, and default cannot be deleted', async () => {
    for (const name of ['root', 'ROOT', '%72oot']) {
      expect((await api('POST', at(name), { policy: TEXT })).body.errors).toEqual([
        'the policy root cannot be changed',
      ])
      expect((await api('DELETE', at(name))).body.errors).toEqual(['the policy root cannot be deleted'])
    }
    expect((await api('DELETE', older('default'))).body.errors).toEqual([
      'the policy default cannot be deleted',
    ])
    expect((await done('GET', at('default'))).body.data.policy).toContain('auth/token/lookup-self')
  })

  test.each(['a%2Cb', 'a:b', 'caf%C3%A9', 'a%20', '%20a', '%20'])(
    'the policy name %s is rejected',
    async name => {
      const reply = await api('POST', at(name), { policy: TEXT })
      expect([reply.status, reply.body.errors[0]]).toEqual([
        400,
        expect.stringContaining('a policy name may contain'),
      ])
    },
  )

  test('a changed policy applies from the next request on', async () => {
    const name = fresh('p')
    const token = await tokenWith('path "x" {}', { policies: [name] })
    const statusNow = async () => (await api('GET', '/sys/auth', undefined, { token })).status
    expect(await statusNow()).toBe(403)
    await done('POST', at(name), { policy: 'path "sys/auth" { capabilities = ["read"] }' })
    expect(await statusNow()).toBe(200)
    await done('POST', at(name), { policy: 'path "sys/auth" { capabilities = ["deny"] }' })
    expect(await statusNow()).toBe(403)
    await done('DELETE', at(name))
    expect(await statusNow()).toBe(403)
  })
})

describe('sys/capabilities-self', () => {
  const POLICY = `
    path "a/*" { capabilities = ["read", "list"] }
    path "a/b" { capabilities = ["update", "create"] }
    path "a/c" { capabilities = ["deny"] }
    path "sys/capabilities-self" { capabilities = ["update"] }
  `
  const ask = async (body: unknown, token?: string) =>
    api('POST', '/sys/capabilities-self', body, token === undefined ? {} : { token })

  test('returns the capabilities on several paths, or on one path', async () => {
    const token = await tokenWith(POLICY)
    const many = await ask({ paths: ['a/b', '/a/x', 'a/c', 'z'] }, token)
    const expected = { 'a/b': ['create', 'update'], 'a/x': ['list', 'read'], 'a/c': ['deny'], z: ['deny'] }
    expect(many.body.data).toEqual(expected)
    expect(many.body).toMatchObject(expected)
    for (const body of [{ paths: 'a/b' }, { path: 'a/b' }])
      expect((await ask(body, token)).body.data).toEqual({
        'a/b': ['create', 'update'],
        capabilities: ['create', 'update'],
      })
  })

  test('returns root on every path for a root token, also on names of built-in object properties', async () => {
    expect((await ask({ paths: ['x', '__proto__', 'constructor'] })).body.data).toEqual(
      JSON.parse('{"x":["root"],"__proto__":["root"],"constructor":["root"]}'),
    )
  })

  test.each([{}, { paths: [] }, { paths: '' }])('rejects a request without paths: %j', async body => {
    expect((await ask(body)).status).toBe(400)
  })
})

describe("a trailing slash after a mount's path means the same mount", () => {
  test('for allowed and for denied tokens', async () => {
    const { path } = await freshMount()
    const name = path.slice('/auth/'.length)
    const all = '{ capabilities = ["create", "read", "update", "delete", "sudo"] }'
    const allowed = await tokenWith(`path "sys/auth/${name}" ${all}`)
    const denied = await tokenWith(`path "sys/*" ${all} path "sys/auth/${name}" { capabilities = ["deny"] }`)
    for (const spelt of [name, `${name}/`]) {
      expect((await api('GET', `/sys/auth/${spelt}`, undefined, { token: allowed })).status).toBe(200)
      for (const method of ['GET', 'POST', 'DELETE'])
        expect((await api(method, `/sys/auth/${spelt}`, undefined, { token: denied })).status, spelt).toBe(
          403,
        )
    }
    expect((await api('DELETE', `/sys/auth/${name}/`, undefined, { token: allowed })).status).toBe(204)
    expect((await done('GET', '/sys/auth')).body.data).not.toHaveProperty(`${name}/`)
  })
})

describe('sys/capabilities and sys/capabilities-accessor', () => {
  const POLICY = `
    path "a/*" { capabilities = ["read", "list"] }
    path "a/c" { capabilities = ["deny"] }
  `
  const expected = { 'a/x': ['list', 'read'], 'a/c': ['deny'] }
  const paths = Object.keys(expected)
  const asking = () =>
    tokenWith(`
      path "sys/capabilities" { capabilities = ["update"] }
      path "sys/capabilities-accessor" { capabilities = ["update"] }
    `)

  test.each(['service', 'batch'])('return the capabilities of a %s token', async type => {
    const [other, token] = [await tokenWith(POLICY, { type, ttl: '1h' }), await asking()]
    const { body } = await done('POST', '/sys/capabilities', { token: other, paths }, { token })
    expect(body.data).toEqual(expected)
    expect(body).toMatchObject(expected)
    const one = await done('POST', '/sys/capabilities', { token: other, path: 'a/x' }, { token })
    expect(one.body.capabilities).toEqual(expected['a/x'])
  })

  test('return the capabilities for an accessor', async () => {
    const [other, token] = [await tokenWith(POLICY), await asking()]
    const { accessor } = (await done('POST', '/auth/token/lookup', { token: other })).body.data
    const { body } = await done('POST', '/sys/capabilities-accessor', { accessor, paths }, { token })
    expect(body.data).toEqual(expected)
  })

  test('are denied to tokens without permission', async () => {
    const token = await tokenWith(POLICY)
    for (const [path, body] of [
      ['/sys/capabilities', { token, paths }],
      ['/sys/capabilities-accessor', { accessor: 'x', paths }],
    ] as const)
      expect((await api('POST', path, body, { token })).status, path).toBe(403)
  })

  test('reject unknown and revoked tokens and accessors', async () => {
    const gone = await tokenWith(POLICY)
    const { accessor } = (await done('POST', '/auth/token/lookup', { token: gone })).body.data
    await done('POST', '/auth/token/revoke', { token: gone })
    for (const token of [gone, 'hvs.nobody', 'hvb.nobody', 'x']) {
      const { status, body } = await api('POST', '/sys/capabilities', { token, paths })
      expect([status, body.errors]).toEqual([400, ['invalid token']])
    }
    for (const one of [accessor, 'nobody']) {
      const { status, body } = await api('POST', '/sys/capabilities-accessor', { accessor: one, paths })
      expect([status, body.errors]).toEqual([400, ['invalid accessor']])
    }
    expect((await api('POST', '/sys/capabilities', { paths })).status).toBe(400)
    expect((await api('POST', '/sys/capabilities-accessor', { paths })).status).toBe(400)
  })

  test('accept at most 1000 paths of at most 1024 bytes', async () => {
    const token = await tokenWith(POLICY)
    const { accessor } = (await done('POST', '/auth/token/lookup', { token })).body.data
    const all = {
      '/sys/capabilities-self': {},
      '/sys/capabilities': { token },
      '/sys/capabilities-accessor': { accessor },
    }
    const names = (count: number) => Array.from({ length: count }, (_, index) => `a/${index}`)
    for (const [path, whom] of Object.entries(all)) {
      const status = async (asked: string[]) => (await api('POST', path, { ...whom, paths: asked })).status
      expect(await status(names(1000)), path).toBe(200)
      expect(await status(names(1001)), path).toBe(400)
      expect(await status(['é'.repeat(512)]), path).toBe(200)
      expect(await status([`${'é'.repeat(512)}x`]), path).toBe(400)
    }
  })
})
