import { describe, expect, test } from 'vitest'
import { errorsOf } from '../../support/requests/logins.ts'
import { api, done, fresh, freshMount, insist, tokenWith } from '../../support/service/cluster.ts'

const enable = (path: string, given: unknown = { type: 'cloud' }) => api('POST', `/sys/auth/${path}`, given)
const read = async (name: string) => (await done('GET', `/sys/auth/${name}`)).body.data
const tuning = async (name: string) => (await done('GET', `/sys/auth/${name}/tune`)).body.data

/** Plugin fields of a mount that clients read. */
const plugin = { plugin_version: '', running_plugin_version: 'v1.19.5+builtin', running_sha256: '' }

describe('sys/auth', () => {
  test.each(['cloud', 'aws', 'cloud-ec2', 'aws-ec2'])(
    'a mount of type %s gets the defaults, and reads the same at its own path and in the list',
    async type => {
      const name = fresh('m.x-')
      const reply = await enable(name, { type, description: 'for tests', local: true, seal_wrap: true })
      expect([reply.status, reply.text]).toEqual([204, ''])
      const mount = {
        accessor: expect.stringMatching(new RegExp(`^auth_${type}_[0-9a-f]{12}$`)),
        type,
        description: 'for tests',
        uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        config: {
          default_lease_ttl: 0,
          max_lease_ttl: 0,
          force_no_cache: false,
          token_type: 'default-service',
        },
        local: false,
        seal_wrap: false,
        external_entropy_access: false,
        options: {},
        ...plugin,
      }
      expect(await read(name)).toEqual(mount)
      const listed = await done('GET', '/sys/auth')
      expect(listed.body.data[`${name}/`]).toEqual(mount)
      expect(listed.body[`${name}/`], 'older clients look outside data').toEqual(mount)
      const role = { bound_account_id: '111122223333' }
      const legacy = await api('POST', `/auth/${name}/role/r`, role)
      expect(legacy.status, 'an old type’s roles are of type ec2').toBe(type.endsWith('-ec2') ? 204 : 400)
    },
  )

  test('the token store and the first mount exist', async () => {
    const { body } = await done('GET', '/sys/auth')
    expect(body.data).toMatchObject({ 'token/': { type: 'token' }, 'cloud/': { type: 'cloud' } })
    expect(Object.keys(body.data)).toEqual(Object.keys(body.data).sort())
  })

  const refusalOf = (path: string): string => {
    if (path === '')
      return 'the path names no mount; use GET sys/auth, without a trailing slash, to list all mounts'
    return /\/|%2F/.test(path)
      ? 'the path of a mount must be one segment, without "/"'
      : 'the path of a mount may hold letters, digits, "_", "-" and "."'
  }

  test.each<[string, string]>([
    ['nested', 'a/b'],
    ['nested and encoded', 'a%2Fb'],
    ['with a space', 'a%20b'],
    ['starting with a dot', '.a'],
    ['ending with a dash', 'a-'],
    ['with non-ASCII letters', 'm%C3%A4'],
    ['with a wildcard', 'a*'],
    ['with a plus sign', 'a+b'],
    ['nothing', ''],
  ])('a %s path is rejected, and no mount is created', async (_, path) => {
    const mounts = async () => (await done('GET', '/sys/auth')).body.data
    const before = await mounts()
    const reply = await enable(path)
    expect([reply.status, errorsOf(reply)]).toEqual([400, refusalOf(path)])
    expect(await mounts()).toEqual(before)
  })

  test('a path in use, or of the token store, is rejected', async () => {
    const { path } = await freshMount()
    for (const taken of [path.slice('/auth/'.length), 'token', 'cloud', 'cloud/'])
      expect(errorsOf(await enable(taken))).toContain('in use')
  })

  test('only one of ten concurrent requests enables a path', async () => {
    const name = fresh('m')
    const replies = await Promise.all(Array.from({ length: 10 }, () => enable(name)))
    const statuses = replies.map(reply => reply.status)
    expect(statuses.filter(status => status === 204)).toHaveLength(1)
    expect(statuses.filter(status => ![204, 400, 503].includes(status))).toEqual([])
  })

  test('several mounts enabled concurrently all exist', async () => {
    const names = Array.from({ length: 8 }, () => fresh('m'))
    const replies = await Promise.all(
      names.map(name => insist('POST', `/sys/auth/${name}`, { type: 'cloud' })),
    )
    expect(replies.map(reply => reply.status)).toEqual(names.map(() => 204))
    for (const name of names) expect(await read(name)).toMatchObject({ type: 'cloud' })
  })

  test.each<[string, Record<string, unknown>]>([
    ['no type', {}],
    ['an unknown type', { type: 'SECRET' }],
    ['the type of the token store', { type: 'token' }],
    ['a type named like a built-in object property', { type: 'constructor' }],
    ['a type of the wrong type', { type: { SECRET: 1 } }],
    ['a config of the wrong type', { type: 'cloud', config: 'SECRET' }],
    ['an invalid lease TTL', { type: 'cloud', config: { default_lease_ttl: 'SECRET' } }],
    ['a negative lease TTL', { type: 'cloud', config: { max_lease_ttl: -1 } }],
    [
      'a default TTL above the maximum',
      { type: 'cloud', config: { default_lease_ttl: '2h', max_lease_ttl: '1h' } },
    ],
    ["a default TTL above the system's maximum", { type: 'cloud', config: { default_lease_ttl: '769h' } }],
    ['an unknown token type', { type: 'cloud', config: { token_type: 'SECRET' } }],
    ['a token type in a list', { type: 'cloud', config: { token_type: ['batch'] } }],
    ['an unknown visibility', { type: 'cloud', config: { listing_visibility: 'SECRET' } }],
    ['an oversized description', { type: 'cloud', description: 'x'.repeat(500_000) }],
  ])('%s is rejected, and no mount is created', async (_, given) => {
    const name = fresh('m')
    const reply = await enable(name, given)
    expect([400, 413], reply.text).toContain(reply.status)
    expect(reply.text).not.toContain('SECRET')
    expect((await api('GET', `/sys/auth/${name}`)).status).toBe(400)
    expect((await api('GET', `/auth/${name}/roles?list=true`)).status).toBe(404)
  })

  test('a missing mount cannot be read or tuned, and deleting a missing mount succeeds; the token store cannot be disabled', async () => {
    const name = fresh('m')
    expect((await api('GET', `/sys/auth/${name}`)).status).toBe(400)
    expect((await api('GET', `/sys/auth/${name}/tune`)).status).toBe(400)
    expect((await api('POST', `/sys/auth/${name}/tune`, {})).status).toBe(400)
    expect((await api('DELETE', `/sys/auth/${name}`)).status).toBe(204)
    expect((await api('DELETE', '/sys/auth/token')).status).toBe(400)
  })

  test.each(['/sys/auth/:m/tune', '/sys/mounts/auth/:m/tune'])(
    '%s reads and writes settings',
    async template => {
      const { path, accessor } = await freshMount('cloud', { default_lease_ttl: '1h' })
      const name = path.slice('/auth/'.length)
      const place = template.replace(':m', name)
      const reply = await done('POST', place, {
        max_lease_ttl: '5h',
        token_type: 'batch',
        description: 'tuned',
        listing_visibility: 'unauth',
      })
      expect(reply.status).toBe(204)
      const { body } = await done('GET', place)
      expect(body.data).toEqual({
        default_lease_ttl: 3600,
        max_lease_ttl: 18000,
        token_type: 'batch',
        description: 'tuned',
        force_no_cache: false,
        listing_visibility: 'unauth',
      })
      expect(body).toMatchObject(body.data)
      expect(await read(name)).toMatchObject({
        accessor,
        config: { max_lease_ttl: 18000, token_type: 'batch' },
      })
      await done('POST', place, { default_lease_ttl: 0, max_lease_ttl: 0, token_type: '' })
      expect(await tuning(name)).toMatchObject({
        default_lease_ttl: 768 * 3600,
        max_lease_ttl: 768 * 3600,
        token_type: 'default-service',
      })
    },
  )

  test('settings without effect are stored with a warning, and unsupported settings are rejected', async () => {
    const { path } = await freshMount()
    const place = `/sys${path}/tune`
    const lists = { passthrough_request_headers: ['X-One'], allowed_response_headers: ['X-Two'] }
    const { status, body } = await done('POST', place, { ...lists, surprise: 1, options: null })
    expect([status, body.data]).toEqual([200, null])
    expect(body.warnings).toEqual([
      'passthrough_request_headers is stored, but has no effect',
      'allowed_response_headers is stored, but has no effect',
      'unknown parameters were ignored: surprise',
    ])
    expect((await done('GET', place)).body.data).toMatchObject(lists)
    const refused = await api('POST', place, { description: 'x', plugin_version: 'v1' })
    expect([refused.status, errorsOf(refused)]).toEqual([
      400,
      'Field validation failed: plugin_version must be empty: this service does not support it',
    ])
    expect((await done('GET', place)).body.data.description).toBe('')
  })

  test.each<Record<string, unknown>>([
    { default_lease_ttl: '2h', max_lease_ttl: '1h' },
    { default_lease_ttl: 'x' },
    { token_type: 'x' },
    { listing_visibility: 'x' },
    { description: 'changed', token_type: 'x' },
    { description: 'x'.repeat(500_000) },
  ])('an invalid setting changes nothing: %j', async given => {
    const { path } = await freshMount('cloud', { default_lease_ttl: '1h', max_lease_ttl: '5h' })
    const name = path.slice('/auth/'.length)
    const before = await tuning(name)
    expect([400, 413]).toContain((await api('POST', `/sys/auth/${name}/tune`, given)).status)
    expect(await tuning(name)).toEqual(before)
  })

  test('sys/mounts lists the secrets engines to tokens with read permission', async () => {
    const { body } = await done('GET', '/sys/mounts')
    expect(body.data).toMatchObject({
      'sys/': { type: 'system', options: {}, ...plugin },
      'identity/': { type: 'identity', options: {}, ...plugin },
    })
    expect(Object.keys(body.data)).toHaveLength(2)
    expect(body, 'older clients look outside data').toMatchObject(body.data)
    expect((await done('GET', '/sys/mounts')).body.data).toEqual(body.data)
    const [reader, other] = await Promise.all([
      tokenWith('path "sys/mounts" { capabilities = ["read"] }'),
      tokenWith('path "sys/mounts" { capabilities = ["update"] }'),
    ])
    expect((await api('GET', '/sys/mounts', undefined, { token: reader })).status).toBe(200)
    expect((await api('GET', '/sys/mounts', undefined, { token: other })).status).toBe(403)
  })

  test('only mounts with listing_visibility unauth are listed for every client', async () => {
    const [open, hidden] = [await freshMount('cloud', { listing_visibility: 'unauth' }), await freshMount()]
    for (const options of [{ token: '' }, {}]) {
      const { body } = await done('GET', '/sys/internal/ui/mounts', undefined, options)
      const name = `${open.path.slice('/auth/'.length)}/`
      expect(body.data.auth[name]).toEqual({ type: 'cloud', description: '', options: {} })
      expect(JSON.stringify(body)).not.toContain(hidden.path.slice('/auth/'.length))
    }
  })

  test('enabling and disabling a mount need sudo too', async () => {
    const name = fresh('m')
    const allowed = async (words: string) =>
      tokenWith(`path "sys/auth/${name}" { capabilities = ["create", "read", "update", "delete"${words}] }`)
    const [plain, sudo] = [await allowed(''), await allowed(', "sudo"')]
    for (const [method, status] of [
      ['POST', 204],
      ['GET', 200],
      ['DELETE', 204],
    ] as const) {
      const body = method === 'POST' ? { type: 'cloud' } : undefined
      expect((await api(method, `/sys/auth/${name}`, body, { token: plain })).status, method).toBe(403)
      expect((await api(method, `/sys/auth/${name}`, body, { token: sudo })).status, method).toBe(status)
    }
  })
})
