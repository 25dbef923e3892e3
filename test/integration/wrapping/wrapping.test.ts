import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { errorsOf } from '../../support/requests/logins.ts'
import { lives } from '../../support/requests/tokens.ts'
import { workerOn } from '../../support/requests/workers.ts'
import type { CallOptions } from '../../support/service/api.ts'
import { clock } from '../../support/service/clock.ts'
import { api, cluster, done, fresh, freshMount } from '../../support/service/cluster.ts'

afterEach(clock.reset)

const TTL = { headers: { 'x-vault-wrap-ttl': '5m' } }

const wrapped = async (method: string, path: string, body?: unknown, options: CallOptions = {}) =>
  (await done(method, path, body, { ...TTL, ...options })).body.wrap_info

const unwrap = (token: string, options: CallOptions = { token: '' }) =>
  api('POST', '/sys/wrapping/unwrap', { token }, options)

/** Wraps an answer, and returns the wrapping token. */
const put = async (given: Record<string, unknown> = { a: 1 }): Promise<string> =>
  (await wrapped('POST', '/sys/wrapping/wrap', given)).token

describe('response wrapping of API answers', () => {
  test('the answer contains only the wrapping token', async () => {
    const { body, text } = await done('POST', '/sys/wrapping/wrap', { secret: 'TREASURE' }, TTL)
    expect(body).toEqual({
      request_id: expect.any(String),
      lease_id: '',
      renewable: false,
      lease_duration: 0,
      data: null,
      wrap_info: {
        token: expect.stringMatching(/^hvs\.[0-9A-Za-z]{24,}$/),
        accessor: expect.stringMatching(/^[0-9A-Za-z]{24}$/),
        ttl: 300,
        creation_time: expect.stringMatching(/^\d{4}-.*Z$/),
        creation_path: 'sys/wrapping/wrap',
      },
      warnings: null,
      auth: null,
      mount_type: 'system',
    })
    expect(text).not.toContain('TREASURE')
  })

  test.each<[string, (token: string) => ReturnType<typeof api>]>([
    ['in the body without another token', token => unwrap(token)],
    ['in the body with another token', token => unwrap(token, {})],
    ['as the token of the request', token => api('POST', '/sys/wrapping/unwrap', {}, { token })],
    [
      'as the token of the request, without a body',
      token => api('PUT', '/sys/wrapping/unwrap', undefined, { token }),
    ],
    [
      'as the token of the request, with the body null',
      token => api('PUT', '/sys/wrapping/unwrap', 'null', { token }),
    ],
    [
      'as a bearer token',
      token =>
        api('POST', '/sys/wrapping/unwrap', {}, { token: '', headers: { authorization: `Bearer ${token}` } }),
    ],
  ])('an answer is unwrapped once, with the wrapping token %s', async (_, open) => {
    const token = await put({ secret: 'x', list: [1, { two: null }] })
    const { status, body } = await open(token)
    expect([status, body.data]).toEqual([200, { secret: 'x', list: [1, { two: null }] }])
    expect(body.wrap_info).toBeNull()
    const again = await open(token)
    expect([again.status, errorsOf(again)]).toEqual([
      400,
      expect.stringContaining('wrapping token is not valid'),
    ])
  })

  test('only one of twenty concurrent unwraps succeeds', async () => {
    const token = await put()
    const replies = await Promise.all(Array.from({ length: 20 }, () => unwrap(token)))
    expect(replies.filter(reply => reply.status === 200)).toHaveLength(1)
    expect(new Set(replies.map(reply => reply.status))).toEqual(new Set([200, 400]))
  })

  test('only one of concurrent unwraps and rewraps succeeds', async () => {
    const token = await put()
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        api('POST', `/sys/wrapping/${index % 2 ? 'unwrap' : 'rewrap'}`, { token }, { token: '' }),
      ),
    )
    expect(replies.filter(reply => reply.status === 200)).toHaveLength(1)
  })

  test('a wrapped answer expires', async () => {
    const { token } = await wrapped(
      'POST',
      '/sys/wrapping/wrap',
      {},
      { headers: { 'x-vault-wrap-ttl': '10m' } },
    )
    const statusOf = async () => (await api('POST', '/sys/wrapping/lookup', { token }, { token: '' })).status
    expect(await statusOf()).toBe(200)
    clock.advance(600)
    expect(await statusOf()).toBe(400)
    expect((await unwrap(token)).status).toBe(400)
    expect((await api('POST', '/sys/wrapping/rewrap', { token })).status).toBe(400)
  })

  test('a lookup returns the creation path, and keeps the wrapping token valid', async () => {
    const { token, creation_time: time } = await wrapped('GET', '/sys/policies/acl/default')
    for (const options of [{ token: '' }, {}, { token }]) {
      const { body } = await done('POST', '/sys/wrapping/lookup', { token }, options)
      expect(body.data).toEqual({
        creation_path: 'sys/policies/acl/default',
        creation_time: time,
        creation_ttl: 300,
      })
    }
    expect((await unwrap(token)).body.data).toMatchObject({ name: 'default' })
  })

  test('rewrap invalidates the old wrapping token, and the new wrapping token unwraps the same answer', async () => {
    const first = await wrapped('GET', '/sys/policies/acl/default')
    const { body } = await done('POST', '/sys/wrapping/rewrap', { token: first.token }, { token: '' })
    expect(body.wrap_info).toMatchObject({ ttl: 300, creation_path: 'sys/policies/acl/default' })
    expect(body.wrap_info.token).not.toBe(first.token)
    expect((await unwrap(first.token)).status).toBe(400)
    expect((await unwrap(body.wrap_info.token)).body.data).toMatchObject({ name: 'default' })
  })

  test.each<[string, string, string, unknown?]>([
    ['a read', 'GET', '/sys/policies/acl/default'],
    ['a list', 'GET', '/sys/policies/acl?list=true'],
    ['a look-up', 'GET', '/auth/token/lookup-self'],
    ['a new token', 'POST', '/auth/token/create', { policies: 'default', ttl: '1h' }],
  ])('%s can be wrapped, and is complete when unwrapped', async (_, method, path, body) => {
    const { token } = await wrapped(method, path, body)
    const opened = (await unwrap(token)).body
    const plain = (await done(method, path, body)).body
    expect(Object.keys(opened)).toEqual(Object.keys(plain))
    expect(Object.keys(opened.data ?? opened.auth)).toEqual(Object.keys(plain.data ?? plain.auth))
  })

  test('a wrapped new token works, and the outer answer names its accessor', async () => {
    const { token, wrapped_accessor: accessor } = await wrapped('POST', '/auth/token/create', {
      policies: 'default',
    })
    const { auth } = (await unwrap(token)).body
    expect(auth.accessor).toBe(accessor)
    expect(await lives(auth.client_token)).toBe(true)
  })

  test('the token of a wrapped login appears neither in the answer nor in the audit log', async () => {
    const { path } = await freshMount()
    const worker = await workerOn(path)
    const reply = await done('POST', `${path}/login`, worker.signed(), { ...TTL, token: '' })
    expect(reply.body).toMatchObject({ auth: null, data: null, mount_type: 'cloud' })
    const { token, wrapped_accessor: accessor, creation_path: from } = reply.body.wrap_info
    expect(from).toBe(`${path.slice(1)}/login`)
    const { auth } = (await unwrap(token)).body
    expect([auth.accessor, await lives(auth.client_token)]).toEqual([accessor, true])
    const log = readFileSync(`${cluster.directory}/audit.log`, 'utf8')
    expect(reply.text + log).not.toContain(auth.client_token)
    expect(log).not.toContain(token)
    const entry = log.split('\n').find(line => line.includes(accessor) && line.includes('wrap_info'))
    expect(JSON.parse(entry ?? '{}')).toMatchObject({
      audit: 'response',
      response: {
        auth: { accessor, client_token: expect.stringMatching(/^hmac-sha256:/) },
        wrap_info: { token: expect.stringMatching(/^hmac-sha256:/), wrapped_accessor: accessor },
      },
    })
  })

  test('a failed login is not wrapped', async () => {
    const { path } = await freshMount()
    const worker = await workerOn(path)
    const given = { ...worker.signed(), role: 'none' }
    const { status, body } = await api('POST', `${path}/login`, given, { ...TTL, token: '' })
    expect([status, body.wrap_info]).toEqual([400, undefined])
  })

  test('an empty answer or an error is not wrapped', async () => {
    const name = fresh('p')
    const written = await api('POST', `/sys/policies/acl/${name}`, { policy: 'path "x" {}' }, TTL)
    expect([written.status, written.text]).toEqual([204, ''])
    const { path } = await freshMount()
    for (const missing of [`${path}/roles?list=true`, `${path}/role/none`]) {
      const reply = await api('GET', missing, undefined, TTL)
      expect([reply.status, reply.body]).toEqual([404, { errors: [] }])
    }
    expect((await api('POST', '/auth/token/create', { ttl: 'x' }, TTL)).body).not.toHaveProperty('wrap_info')
  })

  test.each<[string, string, boolean]>([
    ['POST', '/sys/wrapping/unwrap', true],
    ['POST', '/sys/wrapping/lookup', true],
    ['POST', '/sys/wrapping/rewrap', true],
    ['GET', '/sys/internal/ui/mounts', false],
  ])(
    'an endpoint without authentication rejects the wrap TTL header, and spends no wrapping token: %s %s',
    async (method, path, opens) => {
      const token = await put()
      for (const options of [{ token: '' }, {}])
        for (const ttl of ['1s', '768h', '769h']) {
          const headers = { 'x-vault-wrap-ttl': ttl }
          const reply = await api(method, path, opens ? { token } : undefined, { ...options, headers })
          expect([reply.status, errorsOf(reply)]).toEqual([400, expect.stringContaining('X-Vault-Wrap-TTL')])
        }
      expect((await unwrap(token)).status).toBe(200)
    },
  )

  test.each(['health', 'seal-status', 'leader', 'init'])(
    'the probe sys/%s ignores the wrap TTL header',
    async probe => {
      const plain = await api('GET', `/sys/${probe}`, undefined, { token: '' })
      for (const ttl of ['5m', '769h', 'soon']) {
        const headers = { 'x-vault-wrap-ttl': ttl }
        const reply = await api('GET', `/sys/${probe}`, undefined, { token: '', headers })
        expect([reply.status, Object.keys(reply.body)]).toEqual([plain.status, Object.keys(plain.body)])
      }
    },
  )

  test('the wrap TTL is at most 768 h', async () => {
    const of = (ttl: string) =>
      api('POST', '/sys/wrapping/wrap', { a: 1 }, { headers: { 'x-vault-wrap-ttl': ttl } })
    expect((await of('768h')).body.wrap_info).toMatchObject({ ttl: 2_764_800 })
    for (const ttl of ['769h', '2764801', '33d']) {
      const refused = await of(ttl)
      expect([refused.status, errorsOf(refused)]).toEqual([400, expect.stringContaining('768h')])
    }
  })

  test.each(['x', '-1s', '1.5', '5 m', '1h1', String(2 ** 31)])('the wrap TTL %j is rejected', async ttl => {
    const reply = await api('GET', '/sys/policies/acl/default', undefined, {
      headers: { 'x-vault-wrap-ttl': ttl },
    })
    expect([reply.status, reply.text]).toEqual([400, expect.not.stringContaining('"name"')])
  })

  test.each([
    ['0', false],
    ['60', true],
    ['1h', true],
  ])('the wrap TTL %j wraps the answer: %s', async (ttl, wraps) => {
    const headers = { 'x-vault-wrap-ttl': ttl }
    const { body } = await done('GET', '/sys/policies/acl/default', undefined, { headers })
    expect(body.data === null).toBe(wraps)
  })
})
