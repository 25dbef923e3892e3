import { describe, expect, test } from 'vitest'
import { lives, lookUp, make } from '../../support/requests/tokens.ts'
import { api, done, fresh, tokenWith } from '../../support/service/cluster.ts'

const self = (token: string) => api('GET', '/auth/token/lookup-self', undefined, { token })

describe('a token with a use limit', () => {
  test('of ten succeeds exactly ten times in fifty concurrent requests', async () => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 10 })
    const replies = await Promise.all(Array.from({ length: 50 }, () => self(token)))
    expect(replies.filter(reply => reply.status === 200)).toHaveLength(10)
    expect(new Set(replies.map(reply => reply.status))).toEqual(new Set([200, 403]))
    expect(await lives(token)).toBe(false)
  })

  test('shows the remaining uses in a lookup', async () => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 3 })
    expect(await lookUp(token)).toMatchObject({ num_uses: 3 })
    const left = []
    for (let use = 0; use < 3; use++) left.push((await self(token)).body.data.num_uses)
    expect(left).toEqual([2, 1, 0])
    expect((await self(token)).status).toBe(403)
    expect((await api('POST', '/auth/token/lookup', { token })).status).toBe(403)
  })

  test.each<[string, (token: string) => Promise<unknown>]>([
    ['a denied request', token => api('GET', '/sys/policy', undefined, { token })],
    ['a request to an unknown path', token => api('GET', '/auth/token/nothing', undefined, { token })],
    [
      'a request to a missing mount',
      token => api('GET', '/auth/nowhere/roles?list=true', undefined, { token }),
    ],
    [
      'a request with an invalid parameter',
      token => api('POST', '/auth/token/renew-self', { increment: 'x' }, { token }),
    ],
  ])('loses a use by %s', async (_, request) => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 2 })
    await request(token)
    expect((await self(token)).body.data.num_uses).toBe(0)
    expect(await lives(token)).toBe(false)
  })

  test('loses no use by a request that needs no token', async () => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 1 })
    await api('GET', '/sys/health', undefined, { token })
    await api('POST', '/auth/cloud/login', {}, { token })
    expect(await lives(token)).toBe(true)
  })

  test('succeeds with a write on its last use', async () => {
    const policy = 'path "sys/policies/acl/*" { capabilities = ["create", "update"] }'
    const token = await tokenWith(policy, { num_uses: 1 })
    await done('POST', '/sys/policies/acl/last-use', { policy }, { token })
    expect((await api('POST', '/sys/policies/acl/last-use', { policy }, { token })).status).toBe(403)
  })

  test('succeeds on its last use even when the write conflicts', async () => {
    const name = fresh('p')
    const policy = `path "sys/policies/acl/${name}" { capabilities = ["create", "update"] }`
    await done('POST', `/sys/policies/acl/${name}`, { policy })
    // a request tries four times, and the last of four concurrent writes loses at most three conflicts
    const tokens = await Promise.all(
      Array.from({ length: 4 }, () => make({ policies: name, num_uses: 1, no_default_policy: true })),
    )
    const write = ({ client_token: token }: (typeof tokens)[number]) =>
      api('POST', `/sys/policies/acl/${name}`, { policy }, { token })
    const statuses = async () => (await Promise.all(tokens.map(write))).map(({ status }) => status)
    expect(await statuses()).toEqual([204, 204, 204, 204])
    expect(await statuses()).toEqual([403, 403, 403, 403])
  })

  test('loses a use by a renewal, and cannot be renewed on its last use', async () => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 3, ttl: '1h' })
    const renewed = await done('POST', '/auth/token/renew-self', { increment: '2h' }, { token })
    expect(renewed.body.auth).toMatchObject({ lease_duration: 7200, num_uses: 2 })
    expect(await lives(token)).toBe(true)
    expect((await api('POST', '/auth/token/renew-self', {}, { token })).status).toBe(400)
    expect(await lives(token)).toBe(false)
  })

  test('can be looked up by itself on its last use', async () => {
    const token = await tokenWith('path "auth/token/lookup" { capabilities = ["update"] }', { num_uses: 1 })
    const { body } = await done('POST', '/auth/token/lookup', { token }, { token })
    expect(body.data).toMatchObject({ id: token, num_uses: 0 })
  })
})
