import { describe, expect, test } from 'vitest'
import { lives, lookUp, make } from '../../support/requests/tokens.ts'
import { api, done, fresh, tokenWith } from '../../support/service/cluster.ts'

const self = (token: string) => api('GET', '/auth/token/lookup-self', undefined, { token })

describe('tokens of limited uses', () => {
  test('fifty requests at once with ten uses: exactly ten succeed', async () => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 10 })
    const replies = await Promise.all(Array.from({ length: 50 }, () => self(token)))
    expect(replies.filter(reply => reply.status === 200)).toHaveLength(10)
    expect(new Set(replies.map(reply => reply.status))).toEqual(new Set([200, 403]))
    expect(await lives(token)).toBe(false)
  })

  test('a look-up shows what is left', async () => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 3 })
    expect(await lookUp(token)).toMatchObject({ num_uses: 3 })
    const left = []
    for (let use = 0; use < 3; use++) left.push((await self(token)).body.data.num_uses)
    expect(left).toEqual([2, 1, 0])
    expect((await self(token)).status).toBe(403)
    expect((await api('POST', '/auth/token/lookup', { token })).status).toBe(403)
  })

  test.each<[string, (token: string) => Promise<unknown>]>([
    ['a refusal', token => api('GET', '/sys/policy', undefined, { token })],
    ['a path that is none', token => api('GET', '/auth/token/nothing', undefined, { token })],
    ['a mount that is none', token => api('GET', '/auth/nowhere/roles?list=true', undefined, { token })],
    ['a bad parameter', token => api('POST', '/auth/token/renew-self', { increment: 'x' }, { token })],
  ])('%s takes a use, too', async (_, request) => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 2 })
    await request(token)
    expect((await self(token)).body.data.num_uses).toBe(0)
    expect(await lives(token)).toBe(false)
  })

  test('what needs no token takes no use', async () => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 1 })
    await api('GET', '/sys/health', undefined, { token })
    await api('POST', '/auth/cloud/login', {}, { token })
    expect(await lives(token)).toBe(true)
  })

  test('the request that takes the last use succeeds, also when it writes', async () => {
    const policy = 'path "sys/policies/acl/*" { capabilities = ["create", "update"] }'
    const token = await tokenWith(policy, { num_uses: 1 })
    await done('POST', '/sys/policies/acl/last-use', { policy }, { token })
    expect((await api('POST', '/sys/policies/acl/last-use', { policy }, { token })).status).toBe(403)
  })

  test('the request that takes the last use succeeds, also when it loses a race for what it writes', async () => {
    const name = fresh('p')
    const policy = `path "sys/policies/acl/${name}" { capabilities = ["create", "update"] }`
    await done('POST', `/sys/policies/acl/${name}`, { policy })
    // a request tries four times: the last of four has lost to three others at most
    const tokens = await Promise.all(
      Array.from({ length: 4 }, () => make({ policies: name, num_uses: 1, no_default_policy: true })),
    )
    const write = ({ client_token: token }: (typeof tokens)[number]) =>
      api('POST', `/sys/policies/acl/${name}`, { policy }, { token })
    const statuses = async () => (await Promise.all(tokens.map(write))).map(({ status }) => status)
    expect(await statuses()).toEqual([204, 204, 204, 204])
    expect(await statuses()).toEqual([403, 403, 403, 403])
  })

  test('renewing takes a use and keeps the count; on its last use a token is not renewable', async () => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 3, ttl: '1h' })
    const renewed = await done('POST', '/auth/token/renew-self', { increment: '2h' }, { token })
    expect(renewed.body.auth).toMatchObject({ lease_duration: 7200, num_uses: 2 })
    expect(await lives(token)).toBe(true)
    expect((await api('POST', '/auth/token/renew-self', {}, { token })).status).toBe(400)
    expect(await lives(token)).toBe(false)
  })

  test('looking up one’s own token by its text works on the last use', async () => {
    const token = await tokenWith('path "auth/token/lookup" { capabilities = ["update"] }', { num_uses: 1 })
    const { body } = await done('POST', '/auth/token/lookup', { token }, { token })
    expect(body.data).toMatchObject({ id: token, num_uses: 0 })
  })
})
