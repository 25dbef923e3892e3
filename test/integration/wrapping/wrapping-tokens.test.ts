import { describe, expect, test } from 'vitest'
import { lives, make } from '../../support/requests/tokens.ts'
import { api, done, tokenWith } from '../../support/service/cluster.ts'

const TTL = { headers: { 'x-vault-wrap-ttl': '5m' } }

const wrap = async (options = {}): Promise<{ token: string; accessor: string }> =>
  (await done('POST', '/sys/wrapping/wrap', { a: 1 }, { ...TTL, ...options })).body.wrap_info

const unwrap = (token: string) => api('POST', '/sys/wrapping/unwrap', { token }, { token: '' })

describe('wrapping tokens and permission to wrap', () => {
  test('sys/wrapping/wrap needs the TTL header and a token with permission', async () => {
    expect((await api('POST', '/sys/wrapping/wrap', { a: 1 })).status).toBe(400)
    expect((await api('POST', '/sys/wrapping/wrap', { a: 1 }, { ...TTL, token: '' })).status).toBe(403)
    const { client_token: bare } = await make({ policies: 'none', no_default_policy: true })
    expect((await api('POST', '/sys/wrapping/wrap', { a: 1 }, { ...TTL, token: bare })).status).toBe(403)
    const { client_token: usual } = await make({ policies: 'default' })
    expect((await wrap({ token: usual })).token).toBeTypeOf('string')
  })

  test.each([
    ['GET', '/auth/token/lookup-self'],
    ['POST', '/auth/token/renew-self'],
    ['POST', '/auth/token/revoke-self'],
    ['POST', '/auth/token/create'],
    ['GET', '/sys/policies/acl/default'],
    ['GET', '/auth/token/accessors?list=true'],
    ['POST', '/sys/wrapping/wrap'],
    ['GET', '/auth/token/nothing'],
  ])('a wrapping token is not accepted by endpoints other than unwrapping: %s %s', async (method, path) => {
    const { token } = await wrap()
    const reply = await api(method, path, method === 'POST' ? {} : undefined, { token, ...TTL })
    expect(reply.status).toBe(403)
    expect((await unwrap(token)).status).toBe(200)
  })

  test('a wrapping token cannot be looked up, renewed or listed as a token', async () => {
    const { token, accessor } = await wrap()
    expect((await api('POST', '/auth/token/lookup', { token })).status).toBe(403)
    expect((await api('POST', '/auth/token/renew', { token })).status).toBe(400)
    expect((await api('POST', '/auth/token/lookup-accessor', { accessor })).status).toBe(400)
    const { body } = await done('GET', '/auth/token/accessors?list=true')
    expect(body.data.keys).not.toContain(accessor)
  })

  test.each<[string, (info: { token: string; accessor: string }) => [string, object]]>([
    ['its accessor', ({ accessor }) => ['revoke-accessor', { accessor }]],
    ['itself', ({ token }) => ['revoke', { token }]],
  ])('a wrapping token can be revoked by %s before the token is unwrapped', async (_, by) => {
    const info = await wrap()
    const [path, given] = by(info)
    expect((await done('POST', `/auth/token/${path}`, given)).status).toBe(204)
    expect((await unwrap(info.token)).status).toBe(400)
  })

  test('an ordinary token cannot be unwrapped', async () => {
    const { client_token: token, accessor } = await make({ policies: 'default' })
    for (const path of ['unwrap', 'lookup', 'rewrap'])
      for (const given of [
        { token },
        { token: accessor },
        { token: 'hvb.AAAA' },
        { token: '' },
        { token: '🔑' },
        { token: [token] },
      ])
        expect((await api('POST', `/sys/wrapping/${path}`, given, { token: '' })).status).toBe(400)
    expect(await lives(token)).toBe(true)
  })

  test('an answer too large to store cannot be wrapped', async () => {
    const reply = await api('POST', '/sys/wrapping/wrap', { a: 'x'.repeat(500_000) }, TTL)
    expect(reply.status).toBe(413)
  })

  test('a policy can require wrapping and limit its TTL', async () => {
    const policy = `path "sys/policies/acl/default" {
      capabilities = ["read"]
      min_wrapping_ttl = "1m"
      max_wrapping_ttl = "10m"
    }`
    const token = await tokenWith(policy)
    const read = (ttl?: string) =>
      api('GET', '/sys/policies/acl/default', undefined, {
        token,
        ...(ttl ? { headers: { 'x-vault-wrap-ttl': ttl } } : {}),
      })
    const statuses = await Promise.all(
      [undefined, '59s', '1m', '10m', '11m'].map(async ttl => (await read(ttl)).status),
    )
    expect(statuses).toEqual([403, 403, 200, 200, 403])
  })
})
