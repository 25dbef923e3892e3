import { beforeAll, describe, expect, test } from 'vitest'
import { filled, ways } from '../../support/requests/endpoints.ts'
import { iamRole, pem } from '../../support/requests/things.ts'
import { api, done, fresh, freshMount, tokenWith } from '../../support/service/cluster.ts'

const ALL = '["create", "read", "update", "delete", "list", "sudo"]'
const allow = (path: string) => `path "${path.slice(1)}" { capabilities = ${ALL} }\n`
const deny = (path: string) => `path "${path.slice(1)}" { capabilities = ["deny"] }\n`

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
})

describe('a policy applies to the path as the client sent the path', () => {
  const renamed = ways.flatMap(({ endpoint, path }) =>
    path === endpoint.formerly ? [{ title: `${endpoint.method} ${path}`, endpoint, former: path }] : [],
  )

  test.each(renamed)('$title', async ({ endpoint, former }) => {
    const [current, old] = [filled(endpoint.path, mount), filled(former, mount)]
    const token = await tokenWith(allow(current))
    expect((await api(endpoint.method, current, undefined, { token })).status).not.toBe(403)
    expect((await api(endpoint.method, old, undefined, { token })).status).toBe(403)
    expect(
      (await api(endpoint.method, old, undefined, { token: await tokenWith(allow(old)) })).status,
    ).not.toBe(403)
  })

  test('all six deprecated paths exist', () => {
    const former = renamed.map(one => one.former.replace('/auth/:mount/', '').replace(/\/:\w+$/, ''))
    expect([...new Set(former)].sort()).toEqual([
      'config/tidy/identity-whitelist',
      'config/tidy/roletag-blacklist',
      'identity-whitelist',
      'roletag-blacklist',
      'tidy/identity-whitelist',
      'tidy/roletag-blacklist',
    ])
  })
})

describe('another spelling of a path does not bypass a deny rule: GHSA-xp3c-3jw3-4vcr, CVE-2026-63131, CVE-2026-12624, HCSEC-2026-26, CVE-2026-3605, HCSEC-2026-05, CVE-2026-89322, GHSA-fg5x-7whg-6c28', () => {
  beforeAll(async () => {
    await done('POST', `${mount}/role/prod`, iamRole.body)
  })

  const listings: [method: string, path: string][] = [
    ['LIST', '/roles'],
    ['LIST', '/roles/'],
    ['GET', '/roles?list=true'],
    ['GET', '/roles/?list=1'],
  ]

  test.each([
    ['/roles', '/roles/'],
    ['/roles/', '/roles'],
  ])('for the listing at %s, although a rule allows %s', async (denied, allowed) => {
    const open = await tokenWith(allow(`${mount}/*`))
    const closed = await tokenWith(allow(`${mount}/*`) + allow(mount + allowed) + deny(mount + denied))
    for (const [method, path] of listings) {
      expect((await api(method, `${mount}${path}`, undefined, { token: open })).body.data).toEqual({
        keys: ['prod'],
      })
      expect((await api(method, `${mount}${path}`, undefined, { token: closed })).status, path).toBe(403)
    }
  })

  const asking = allow('/sys/capabilities-self')
  const told = async (path: string, token: string) =>
    (await api('POST', '/sys/capabilities-self', { paths: [mount + path] }, { token })).body.data.capabilities

  const names = ['prod', 'PROD', 'Prod', 'pro%64', '%50rod']
  test.each(names)('for a role requested as %s', async name => {
    const open = await tokenWith(allow(`${mount}/*`))
    const closed = await tokenWith(allow(`${mount}/*`) + deny(`${mount}/role/prod`))
    expect((await api('GET', `${mount}/role/${name}`, undefined, { token: open })).status).toBe(200)
    expect((await api('GET', `${mount}/role/${name}`, undefined, { token: closed })).status).toBe(403)
  })

  // CVE-2026-93335: the same holds for path segments that are case-sensitive
  test.each([
    ['CONFIG/Client', '/config/client'],
    ['ROLE/*', '/role/prod'],
    ['+/CLIENT', '/config/client'],
  ])('for a path whose rule is spelled %s', async (rule, path) => {
    const closed = await tokenWith(allow(`${mount}/*`) + asking + deny(`${mount}/${rule}`))
    for (const method of ['GET', 'DELETE'])
      expect((await api(method, mount + path, undefined, { token: closed })).status, method).toBe(403)
    expect(await told(path, closed)).toEqual(['deny'])
  })

  test.each(['Prod', 'PR*', 'pROD'])('for a role whose rule is spelled %s', async rule => {
    const closed = await tokenWith(allow(`${mount}/*`) + asking + deny(`${mount}/role/${rule}`))
    for (const path of ['/role/prod', '/role/PROD']) expect(await told(path, closed), path).toEqual(['deny'])
    for (const name of names)
      for (const method of ['GET', 'POST', 'DELETE'])
        expect((await api(method, `${mount}/role/${name}`, {}, { token: closed })).status, name).toBe(403)
  })

  test.each([
    ['a role', () => `${mount}/role/PROD`, () => `${mount}/role/prod`],
    ['a policy', () => '/sys/policies/acl/Default', () => '/sys/policies/acl/default'],
    ['a mount with a trailing slash', () => `/sys${mount}/`, () => `/sys${mount}`],
  ])('an allow rule for %s applies to every spelling', async (_, rule, path) => {
    const token = await tokenWith(allow(rule()))
    for (const one of [path(), rule()])
      expect((await api('GET', one, undefined, { token })).status, one).toBe(200)
  })

  test.each([
    ['a policy', () => '/sys/policies/acl/DEFAULT', () => '/sys/policies/acl/default'],
    ['a mount with a trailing slash', () => `/sys${mount}/`, () => `/sys${mount}`],
  ])('for %s', async (_, rule, path) => {
    const token = await tokenWith(allow('/*') + deny(rule()))
    for (const one of [path(), rule()])
      expect((await api('GET', one, undefined, { token })).status, one).toBe(403)
  })

  test.each(['/role/+', '/role/', '/role'])('for the listing of roles, denied as %s', async rule => {
    const token = await tokenWith(allow(`${mount}/*`) + asking + deny(mount + rule))
    for (const [method, path] of [
      ['LIST', '/role'],
      ['LIST', '/role/'],
      ['GET', '/role?list=true'],
    ] as const)
      expect((await api(method, mount + path, undefined, { token })).status, path).toBe(403)
    for (const path of ['/role', '/role/']) expect(await told(path, token), path).not.toContain('list')
  })

  const winding = [
    '/role/x/../../config/client',
    '/role/../config/client',
    '/role/%2e%2e/config/client',
    '/role/%2E%2E%2Fconfig/client',
    '/role/./../config/client',
    '/role//../config/client',
    '/role/x\\..\\..\\config\\client',
    '/role/..;/config/client',
    '/role/%252e%252e/config/client',
    '/role/x%00/../../config/client',
  ]
  test.each(winding)('for a path with dot segments: %s', async path => {
    await done('POST', `${mount}/config/client`, { access_key: 'SEEN' })
    const token = await tokenWith(allow(`${mount}/role/*`))
    const reply = await api('GET', `${mount}${path}`, undefined, { token })
    expect([400, 403, 404]).toContain(reply.status)
    expect(reply.text).not.toContain('SEEN')
  })
})

describe('a parameter rule applies to all names of the parameter', () => {
  const ruled = (rule: string, at: string) =>
    tokenWith(`path "${mount.slice(1)}/${at}/*" { capabilities = ${ALL}\n${rule} }`)
  const bound = { bound_iam_principal_arn: 'arn:aws:iam::111122223333:role/app*' }
  const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  const rows: [rule: string, at: string, body: unknown, allowed: boolean][] = [
    ['denied_parameters = { "token_policies" = [] }', 'role', { ...bound, token_policies: 'dev' }, false],
    ['denied_parameters = { "token_policies" = [] }', 'role', { ...bound, policies: 'dev' }, false],
    ['denied_parameters = { "token_policies" = [] }', 'role', { ...bound, token_ttl: 5 }, true],
    ['denied_parameters = { "token_ttl" = ["1h"] }', 'role', { ...bound, ttl: '1h' }, false],
    ['denied_parameters = { "token_ttl" = ["1h"] }', 'role', { ...bound, ttl: '2h' }, true],
    ['denied_parameters = { "token_ttl" = ["1h"] }', 'role', { ...bound, ttl: ' 3600 ' }, false],
    ['denied_parameters = { "ttl" = ["1h"] }', 'role', { ...bound, token_ttl: '60m' }, false],
    ['denied_parameters = { "token_ttl" = ["1h"] }', 'role', { ...bound, ttl: 'soon' }, false],
    ['denied_parameters = { "token_policies" = ["ops"] }', 'role', { ...bound, policies: 'dev, OPS' }, false],
    ['denied_parameters = { "token_policies" = ["*op*"] }', 'role', { ...bound, policies: [' Ops'] }, false],
    ['denied_parameters = { "token_policies" = ["ops"] }', 'role', { ...bound, policies: 'devops' }, true],
    [
      'allowed_parameters = { "*" = [], "token_policies" = ["ops", "dev"] }',
      'role',
      { ...bound, policies: 'dev, ops' },
      true,
    ],
    [
      'allowed_parameters = { "*" = [], "token_policies" = ["ops", "dev"] }',
      'role',
      { ...bound, policies: 'dev, root-like' },
      false,
    ],
    [
      'allowed_parameters = { "*" = [], "token_policies" = ["*"] }',
      'role',
      { ...bound, token_policies: [] },
      false,
    ],
    ['denied_parameters = { "*" = [] }', 'role', bound, false],
    ['allowed_parameters = { "bound_iam_principal_arn" = [] }', 'role', bound, true],
    ['allowed_parameters = { "bound_iam_principal_arn" = [] }', 'role', { ...bound, token_ttl: 5 }, false],
    ['allowed_parameters = { "bound_iam_principal_arn" = [] }', 'role', { ...bound, surplus: 5 }, false],
    ['required_parameters = ["token_ttl"]', 'role', bound, false],
    ['required_parameters = ["token_ttl"]', 'role', { ...bound, ttl: 5 }, true],
    [
      'denied_parameters = { "cloud_public_cert" = [] }',
      'config/certificate',
      { aws_public_cert: pem.rsa },
      false,
    ],
    ['required_parameters = ["cloud_public_cert"]', 'config/certificate', { aws_public_cert: pem.rsa }, true],
  ]

  test.each(rows)('%s: a write to %s/…, row %$, is allowed: $3', async (rule, at, body, allowed) => {
    const { status, text } = await api('POST', `${mount}/${at}/${fresh('n')}`, body, {
      token: await ruled(rule, at),
    })
    expect(status, text).toBe(allowed ? 204 : 403)
  })

  test('a rule about `policy` compares the decoded policy, plain or base64', async () => {
    const token = await tokenWith(
      `path "sys/policies/acl/*" { capabilities = ${ALL} denied_parameters = { policy = ["*sudo*"] } }`,
    )
    const policy = (word: string) => `path "a" { capabilities = ["${word}"] }`
    const base64 = (given: string) => Buffer.from(given).toString('base64')
    const writes = async (body: Record<string, string>) =>
      (await api('POST', `/sys/policies/acl/${fresh('p')}`, body, { token })).status
    expect(await writes({ policy: base64(policy('read')) })).toBe(204)
    for (const one of [policy('sudo'), base64(policy('sudo'))])
      for (const field of ['policy', 'rules']) expect(await writes({ [field]: one }), field).toBe(403)
  })

  test('a parameter rule applies to form bodies', async () => {
    const token = await ruled('denied_parameters = { "token_policies" = [] }', 'role')
    const body = new URLSearchParams({ ...bound, policies: 'dev' }).toString()
    expect((await api('POST', `${mount}/role/${fresh('n')}`, body, { token, ...form })).status).toBe(403)
  })
})
