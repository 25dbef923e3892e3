import { beforeAll, describe, expect, test } from 'vitest'
import { ec2Role, iamRole } from '../support/requests/things.ts'
import type { Reply } from '../support/service/api.ts'
import { api, done, fresh, freshMount } from '../support/service/cluster.ts'

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
  await done('POST', `${mount}/role/one`, { ...ec2Role.body, bound_ami_id: [] })
})

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const envelope = (over: Record<string, unknown>) => ({
  request_id: expect.stringMatching(UUID),
  lease_id: '',
  renewable: false,
  lease_duration: 0,
  data: null,
  wrap_info: null,
  warnings: null,
  auth: null,
  mount_type: 'cloud',
  ...over,
})

const expectHeaders = ({ headers }: Reply, type: string | undefined) => {
  expect(headers['cache-control']).toBe('no-store')
  expect(headers['content-type']).toBe(type)
  expect(headers['x-content-type-options']).toBe('nosniff')
  expect(headers['strict-transport-security']).toMatch(/max-age=\d+/)
}

describe('a successful answer', () => {
  test('has its data in the envelope', async () => {
    const reply = await api('GET', `${mount}/config/identity`)
    expect([reply.status, reply.body]).toEqual([
      200,
      envelope({ data: expect.objectContaining({ iam_alias: 'role_id' }) }),
    ])
    expectHeaders(reply, 'application/json')
  })

  test('of a listing has the names as keys', async () => {
    const { body } = await api('LIST', `${mount}/roles`)
    expect(body).toEqual(envelope({ data: { keys: ['one'] } }))
  })

  test('without data is 204 without content and content type', async () => {
    const reply = await api('POST', `${mount}/role/${fresh('r')}`, iamRole.body)
    expect([reply.status, reply.text]).toEqual([204, ''])
    expectHeaders(reply, undefined)
  })

  test('with only warnings is 200', async () => {
    const { status, body } = await api('POST', `${mount}/config/client`, { sts_region: 'eu-west-1' })
    expect([status, body]).toEqual([
      200,
      envelope({ warnings: ['sts_endpoint and sts_region should be set together'] }),
    ])
  })

  test('to started background work is 202 with a warning', async () => {
    const reply = await api('POST', `${mount}/tidy/roletag-denylist`)
    expect([reply.status, reply.body]).toEqual([
      202,
      envelope({ warnings: [expect.stringContaining('started')] }),
    ])
  })

  test('has a new token in auth', async () => {
    const { status, body } = await api('POST', '/auth/token/create', { policies: ['default'], ttl: '1h' })
    const auth = {
      client_token: expect.stringMatching(/^hvs\.[\w-]{24,}$/),
      accessor: expect.stringMatching(/^\S+$/),
      policies: ['default'],
      token_policies: ['default'],
      metadata: null,
      lease_duration: 3600,
      renewable: true,
      entity_id: '',
      token_type: 'service',
      orphan: false,
      mfa_requirement: null,
      num_uses: 0,
    }
    expect([status, body]).toEqual([200, envelope({ auth, mount_type: 'token' })])
  })

  test('has its own request ID', async () => {
    const ids = await Promise.all([1, 2, 3].map(async () => (await api('GET', '/sys/auth')).body.request_id))
    expect(new Set(ids).size).toBe(3)
  })
})

describe('warnings', () => {
  test('name unknown and overridden body parameters, without their values', async () => {
    const { body } = await api('POST', `${mount}/role/one/tag`, {
      role: 'SECRET',
      foo: 'SECRET',
      ttl: 'SECRET',
    })
    expect(body.warnings).toEqual([
      'path parameters replaced these parameters of the body: role',
      'unknown parameters were ignored: foo, ttl',
    ])
    expect(body.data.tag_value).toContain(':r=one:')
  })

  test('name the nearest field for a misspelt field, and the write answers 200', async () => {
    const { status, body } = await api('POST', `${mount}/role/${fresh('r')}`, {
      ...iamRole.body,
      token_bound_cidr: '10.0.0.0/8',
    })
    expect([status, body.data, body.auth]).toEqual([200, null, null])
    expect(body.warnings).toEqual([
      'unknown parameters were ignored: token_bound_cidr (did you mean token_bound_cidrs?)',
    ])
    const client = await api('POST', `${mount}/config/client`, { iam_server_id_header_valu: 'x' })
    expect(client.status).toBe(200)
    expect(client.body.warnings).toContain(
      'unknown parameters were ignored: iam_server_id_header_valu (did you mean iam_server_id_header_value?)',
    )
  })

  test('are not given for path parameters in a body, so the answer stays 204', async () => {
    const { status } = await api('POST', `${mount}/role/${fresh('r')}`, { ...iamRole.body, role: 'x' })
    expect(status).toBe(204)
  })

  test('name unknown and overridden query parameters', async () => {
    const { body } = await api('GET', `${mount}/role/one?foo=1&role=two`)
    expect(body.warnings).toHaveLength(2)
    expect(body.data.role_tag).toBe('CloudRole')
  })
})

describe('error answers', () => {
  const rows: [
    title: string,
    method: string,
    path: string,
    body: unknown,
    status: number,
    errors: string[],
  ][] = [
    ['a missing item', 'GET', '/role/none', undefined, 404, []],
    ['an empty list', 'LIST', '/config/certificates', undefined, 404, []],
    ['a listing without names after a point', 'LIST', '/roles?after=zzz', undefined, 404, []],
    ['an unknown path', 'GET', '/nothing', undefined, 404, ['unsupported path']],
    ['an unsupported operation', 'DELETE', '/config/identity', undefined, 405, ['unsupported operation']],
    [
      'a value of the wrong type',
      'POST',
      '/role/x',
      { token_ttl: 'SECRET' },
      400,
      ['Field validation failed: token_ttl must be a duration'],
    ],
    [
      'a secret of the wrong type',
      'POST',
      '/config/client',
      { secret_key: { a: 'SECRET' } },
      400,
      ['Field validation failed: secret_key must be a string'],
    ],
    [
      'a value of the wrong type under an old name',
      'POST',
      '/config/certificate/x',
      { aws_public_cert: ['SECRET'] },
      400,
      ['Field validation failed: aws_public_cert must be a string'],
    ],
  ]
  test.each(rows)('%s: %s %s', async (_, method, path, body, status, errors) => {
    const reply = await api(method, mount + path, body)
    expect([reply.status, reply.body]).toEqual([status, { errors }])
    expectHeaders(reply, 'application/json')
  })

  test('a listing accepts after and limit, and rejects a limit that is not an integer', async () => {
    const { path } = await freshMount()
    for (const name of ['a', 'b', 'c', 'd']) await done('POST', `${path}/role/${name}`, iamRole.body)
    const keys = async (query: string) => (await api('LIST', `${path}/roles${query}`)).body.data?.keys
    expect(await keys('')).toEqual(['a', 'b', 'c', 'd'])
    expect(await keys('?limit=2')).toEqual(['a', 'b'])
    expect(await keys('?after=b')).toEqual(['c', 'd'])
    expect(await keys('?after=b&limit=1')).toEqual(['c'])
    for (const limit of ['0', '-1']) expect(await keys(`?limit=${limit}`)).toEqual(['a', 'b', 'c', 'd'])
    for (const limit of ['x', '1.5'])
      expect((await api('LIST', `${path}/roles?limit=${limit}`)).status).toBe(400)
  })
})
