import { describe, expect, test } from 'vitest'
import { lives, lookUp, make } from '../../support/requests/tokens.ts'
import { workerOn } from '../../support/requests/workers.ts'
import { api, cluster, done, freshMount, tokenWith } from '../../support/service/cluster.ts'

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

describe('looking up a token', () => {
  test('returns the same fields by every endpoint, and the token itself only to the client that sent that token', async () => {
    const policy = 'path "auth/token/*" { capabilities = ["read", "update"] }'
    const token = await tokenWith(policy, { ttl: '1h', meta: { a: 'b' }, explicit_max_ttl: '2h' })
    const accessor = (await lookUp(token))['accessor']
    const ways = await Promise.all([
      done('POST', '/auth/token/lookup', { token }),
      done('GET', `/auth/token/lookup?token=${token}`),
      done('POST', '/auth/token/lookup', {}, { token }),
      done('GET', '/auth/token/lookup', undefined, { token }),
      done('GET', '/auth/token/lookup-self', undefined, { token }),
      done('POST', '/auth/token/lookup-self', {}, { token }),
      done('POST', '/auth/token/lookup-accessor', { accessor }),
    ])
    const shown = ways.map(({ body: { data } }) => ({ ...data, ttl: 0 }))
    expect(shown[0]).toEqual({
      id: token,
      accessor: expect.any(String),
      type: 'service',
      path: 'auth/token/create',
      display_name: 'token',
      policies: [expect.any(String)],
      identity_policies: [],
      meta: { a: 'b' },
      entity_id: '',
      orphan: true,
      num_uses: 0,
      renewable: true,
      creation_time: expect.any(Number),
      issue_time: expect.stringMatching(MOMENT),
      creation_ttl: 3600,
      ttl: 0,
      expire_time: expect.stringMatching(MOMENT),
      explicit_max_ttl: 7200,
    })
    for (const other of shown.slice(0, 6)) expect(other).toEqual(shown[0])
    expect(shown[6]).toEqual({ ...shown[0], id: '' })
  })

  test('returns times that agree with each other', async () => {
    const before = Math.floor(Date.now() / 1000)
    const { client_token: token } = await make({ policies: 'default', ttl: '1h' })
    const shown = await lookUp(token)
    const created = Number(shown['creation_time'])
    expect(created).toBeGreaterThanOrEqual(before)
    expect(Math.floor(Date.parse(String(shown['issue_time'])) / 1000)).toBe(created)
    const issued = Date.parse(String(shown['issue_time']))
    const lasts = Date.parse(String(shown['expire_time'])) - issued
    expect(lasts).toBeGreaterThanOrEqual(3600_000)
    expect(lasts).toBeLessThan(3601_100)
  })

  test('returns renewal times, period, role and CIDRs only if the token has them', async () => {
    const { client_token: token } = await make({ policies: 'default', period: '1h' })
    const fresh = await lookUp(token)
    for (const name of ['last_renewal', 'last_renewal_time', 'role', 'bound_cidrs'])
      expect(fresh).not.toHaveProperty(name)
    expect(fresh).toMatchObject({ period: 3600 })
    await done('POST', '/auth/token/renew', { token })
    expect(await lookUp(token)).toMatchObject({
      last_renewal: expect.stringMatching(MOMENT),
      last_renewal_time: expect.any(Number),
      creation_time: fresh['creation_time'],
    })
  })

  test('shows a root token without expiration', async () => {
    const { body } = await done('GET', '/auth/token/lookup-self')
    expect(body.data).toMatchObject({
      policies: ['root'],
      ttl: 0,
      creation_ttl: 0,
      expire_time: null,
      renewable: false,
      orphan: true,
    })
    expect((await api('POST', '/auth/token/renew-self', {})).status).toBe(400)
  })

  test('does not return the parent', async () => {
    const { client_token: child } = await make({ policies: 'default', ttl: '1h' })
    const text = JSON.stringify(await lookUp(child))
    const { body } = await done('GET', '/auth/token/lookup-self')
    expect(text).not.toContain(body.data.accessor)
    expect(text).not.toContain(cluster.root_token)
  })

  test("shows the entity and role of a login's token", async () => {
    const { path } = await freshMount()
    const worker = await workerOn(path, { token_policies: 'Dev', token_ttl: '1h' })
    const auth = await worker.login()
    expect(await lookUp(auth.client_token)).toMatchObject({
      path: `${path.slice(1)}/login`,
      display_name: `${path.slice('/auth/'.length)}-worker`,
      entity_id: auth.entity_id,
      meta: { account_id: worker.account, auth_type: 'iam', role_id: expect.any(String) },
      policies: ['default', 'dev'],
      orphan: true,
    })
  })

  test('fails for a token without the policy `default` that looks up itself', async () => {
    const { client_token: token } = await make({ policies: 'dev', no_default_policy: true })
    for (const [method, path] of [
      ['GET', '/auth/token/lookup-self'],
      ['POST', '/auth/token/renew-self'],
      ['POST', '/auth/token/revoke-self'],
      ['POST', '/sys/capabilities-self'],
    ] as const)
      expect((await api(method, path, method === 'POST' ? {} : undefined, { token })).status, path).toBe(403)
    expect(await lookUp(token)).toMatchObject({ policies: ['dev'] })
  })

  test('renew-accessor does not return the token, and renew-self ignores a token in the body', async () => {
    const [mine, other] = await Promise.all([
      make({ policies: 'default', ttl: '1h' }),
      make({ policies: 'default', ttl: '1h' }),
    ])
    const byAccessor = await done('POST', '/auth/token/renew-accessor', {
      accessor: other.accessor,
      increment: '2h',
    })
    expect(byAccessor.body.auth).toMatchObject({
      client_token: '',
      accessor: other.accessor,
      lease_duration: 7200,
    })
    expect(byAccessor.text).not.toContain(other.client_token)
    await done('POST', '/auth/token/renew-self', { token: other.client_token }, { token: mine.client_token })
    expect(await lookUp(mine.client_token)).toHaveProperty('last_renewal')
    expect(await lookUp(other.client_token)).toMatchObject({ creation_ttl: 3600, ttl: expect.any(Number) })
  })

  test('a renewal returns the same auth object as the creation', async () => {
    const made = await make({ policies: 'default', ttl: '1h', meta: { a: 'b' } })
    const { body } = await done('POST', '/auth/token/renew', { token: made.client_token })
    expect(body).toMatchObject({ data: null, wrap_info: null, warnings: null, mount_type: 'token' })
    expect(body.auth).toEqual(made)
  })

  test('a token that is not renewable gets the same error from every renewal endpoint', async () => {
    const { client_token: token, accessor } = await make({ policies: 'default', renewable: false })
    const { client_token: batch } = await make({ policies: 'default', type: 'batch', ttl: '1h' })
    const replies = await Promise.all([
      api('POST', '/auth/token/renew', { token }),
      api('POST', '/auth/token/renew-accessor', { accessor }),
      api('POST', '/auth/token/renew-self', {}, { token }),
      api('POST', '/auth/token/renew-self', {}),
      api('POST', '/auth/token/renew-self', {}, { token: batch }),
      api('POST', '/auth/token/renew', { token: batch }),
    ])
    for (const { status, body } of replies)
      expect([status, body.errors]).toEqual([400, ['lease is not renewable']])
    expect(await lives(token)).toBe(true)
  })

  test('Authorization accepts only "Bearer" and one blank before the token', async () => {
    const { client_token: token } = await make({ policies: 'default' })
    const as = (authorization: string) =>
      api('GET', '/auth/token/lookup-self', undefined, { token: '', headers: { authorization } })
    expect((await as(`Bearer ${token}`)).status).toBe(200)
    for (const other of [`bearer ${token}`, `Bearer  ${token}`, `Basic ${token}`, token])
      expect((await as(other)).status, other).toBe(403)
  })
})

test('the error for looking up a wrapping token names the wrapping endpoints', async () => {
  const { body } = await done(
    'POST',
    '/auth/token/create',
    { ttl: '1h' },
    { headers: { 'X-Vault-Wrap-TTL': '60' } },
  )
  const reply = await api('POST', '/auth/token/lookup', { token: body.wrap_info.token })
  expect([reply.status, reply.body.errors]).toEqual([
    403,
    ['bad token: the accessor belongs to a wrapping token: use sys/wrapping/lookup or sys/wrapping/unwrap'],
  ])
  const other = await api('POST', '/auth/token/lookup', { token: 'hvs.unknown' })
  expect([other.status, other.body.errors]).toEqual([403, ['bad token']])
})

test('a temporary access key in the client configuration is stored with a warning', async () => {
  const { path } = await freshMount()
  const { body } = await done('POST', `${path}/config/client`, { access_key: 'ASIAEXAMPLE', secret_key: 'x' })
  expect(body.warnings.join()).toContain('access_key is a temporary key')
})

test('the error for sys/auth/ names the listing', async () => {
  const { status, body } = await api('GET', '/sys/auth/')
  expect([status, body.errors.join()]).toEqual([
    400,
    expect.stringContaining('GET sys/auth, without a trailing slash'),
  ])
})
