import { beforeAll, describe, expect, test } from 'vitest'
import { launch, pkcs7Of } from '../../support/requests/logins.ts'
import { lives, lookUp, make } from '../../support/requests/tokens.ts'
import { workerOn } from '../../support/requests/workers.ts'
import { api, done, fresh, freshMount, localCertificate } from '../../support/service/cluster.ts'

const ELSEWHERE = '127.0.0.9'

/** Creates a token role whose tokens are bound to networks. */
async function boundRole(networks: string | string[], more: Record<string, unknown> = {}): Promise<string> {
  const role = fresh('bound')
  const allowed = ['default', 'root-like']
  await done('POST', `/auth/token/roles/${role}`, {
    allowed_policies: allowed,
    token_bound_cidrs: networks,
    ...more,
  })
  return role
}

const tokenOf = async (role: string, given = {}): Promise<string> =>
  (await done('POST', `/auth/token/create/${role}`, given)).body.auth.client_token

const from = (token: string, address: string, method = 'GET', path = '/auth/token/lookup-self') =>
  api(method, path, method === 'POST' ? {} : undefined, { token, from: address })

describe('tokens bound to networks', () => {
  let bound = ''
  beforeAll(async () => {
    bound = await boundRole('127.0.0.9/32')
  })

  test.each([
    ['GET', '/auth/token/lookup-self'],
    ['POST', '/auth/token/renew-self'],
    ['POST', '/auth/token/revoke-self'],
    ['POST', '/sys/capabilities-self'],
    ['GET', '/auth/token/nothing'],
  ])('from another address %s %s is 403, and changes nothing', async (method, path) => {
    const token = await tokenOf(bound)
    const refused = await from(token, '127.0.0.1', method, path)
    expect([refused.status, refused.body.errors]).toEqual([403, ['permission denied']])
    const { status, body } = await from(token, ELSEWHERE)
    expect([status, body.data.bound_cidrs]).toEqual([200, ['127.0.0.9/32']])
  })

  test('an address in a header is ignored', async () => {
    const token = await tokenOf(bound)
    for (const name of ['x-forwarded-for', 'x-real-ip', 'forwarded']) {
      const headers = { [name]: name === 'forwarded' ? `for=${ELSEWHERE}` : ELSEWHERE }
      const refused = await api('GET', '/auth/token/lookup-self', undefined, { token, headers })
      expect(refused.status, name).toBe(403)
    }
  })

  test.each<[string, string | string[], boolean]>([
    ['a single address', ELSEWHERE, true],
    ['a network with host bits', '127.0.0.77/24', true],
    ['one of several networks', ['10.0.0.0/8', '127.0.0.8/31'], true],
    ['only neighbouring networks', ['127.0.0.8/32', '127.0.0.10/31'], false],
    ['everything', '0.0.0.0/0', true],
  ])('a client address and %s: admitted $2', async (_, networks, admitted) => {
    const token = await tokenOf(await boundRole(networks))
    expect((await from(token, ELSEWHERE)).status).toBe(admitted ? 200 : 403)
  })

  test('batch tokens are bound to networks too', async () => {
    const token = await tokenOf(await boundRole('127.0.0.9', { token_type: 'batch' }))
    expect(token).toMatch(/^hvb\./)
    expect((await from(token, '127.0.0.1')).status).toBe(403)
    expect((await from(token, ELSEWHERE)).status).toBe(200)
  })

  test('a request from a denied address does not count as a use', async () => {
    const token = await tokenOf(await boundRole('127.0.0.9', { token_num_uses: 1 }))
    await from(token, '127.0.0.1')
    expect((await from(token, ELSEWHERE)).status).toBe(200)
  })

  test("a login's token is bound to the CIDRs of its role", async () => {
    const { path } = await freshMount()
    const worker = await workerOn(path, { token_bound_cidrs: '127.0.0.9/32', token_policies: 'dev' })
    const from = (address: string) =>
      api('POST', `${path}/login`, worker.signed(), { token: '', from: address })
    const refused = await from('127.0.0.1')
    expect([refused.status, refused.body.errors]).toEqual([403, ['permission denied']])
    const { body } = await from(ELSEWHERE)
    const token: string = body.auth.client_token
    expect([await lives(token), (await lookUp(token))['bound_cidrs']]).toEqual([false, ['127.0.0.9/32']])
    expect((await api('POST', '/auth/token/renew-self', {}, { token })).status).toBe(403)
    expect((await api('POST', '/auth/token/renew-self', {}, { token, from: ELSEWHERE })).status).toBe(200)
  })

  const strictly = { token_strictly_bind_ip: true, token_policies: 'dev' }

  test.each<[type: string, logins: (path: string) => Promise<{ login: object; role: string }>]>([
    [
      'ec2',
      async path => {
        const instance = await launch()
        await done('POST', `${path}/config/certificate/local`, {
          cloud_public_cert: await localCertificate(),
        })
        const role = fresh('strict')
        const bound = { auth_type: 'ec2', bound_ec2_instance_id: instance.instanceId }
        await done('POST', `${path}/role/${role}`, { ...bound, ...strictly })
        return { login: { pkcs7: await pkcs7Of(instance), role }, role }
      },
    ],
    [
      'iam',
      async path => {
        const worker = await workerOn(path, strictly)
        return { login: worker.signed(), role: worker.role }
      },
    ],
  ])("the token of an %s login is bound to the client's address if its role is strict", async (_, logins) => {
    const { path } = await freshMount()
    const { login, role } = await logins(path)
    const read = (await done('GET', `${path}/role/${role}`)).body.data
    expect(read).toMatchObject({ token_strictly_bind_ip: true, token_bound_cidrs: [] })
    const { status, body, text } = await api('POST', `${path}/login`, login, { token: '', from: ELSEWHERE })
    expect(status, text).toBe(200)
    const token: string = body.auth.client_token
    expect((await lookUp(token))['bound_cidrs']).toEqual([`${ELSEWHERE}/32`])
    for (const address of ['127.0.0.1', '127.0.0.8']) {
      const refused = await from(token, address)
      expect([refused.status, refused.body.errors]).toEqual([403, ['permission denied']])
    }
    expect((await from(token, ELSEWHERE)).status).toBe(200)
  })

  test("a strict token role binds tokens to the client's address", async () => {
    const role = fresh('strict')
    await done('POST', `/auth/token/roles/${role}`, {
      allowed_policies: 'default',
      token_strictly_bind_ip: true,
    })
    const token = await tokenOf(role)
    expect((await from(token, '127.0.0.1')).body.data.bound_cidrs).toEqual(['127.0.0.1/32'])
    expect((await from(token, ELSEWHERE)).status).toBe(403)
    await done('POST', `/auth/token/roles/${role}`, { token_bound_cidrs: ELSEWHERE })
    expect((await api('POST', `/auth/token/create/${role}`)).status).toBe(403)
  })

  test('child tokens have the bounds of their parents', async () => {
    const maker = fresh('maker')
    await done('POST', `/sys/policies/acl/${maker}`, {
      policy: 'path "auth/token/create" { capabilities = ["update"] }',
    })
    const role = await boundRole('127.0.0.9', { allowed_policies: [maker] })
    const parent = await tokenOf(role)
    const child = await make({}, { token: parent, from: ELSEWHERE })
    expect(await lookUp(child.client_token)).toMatchObject({ bound_cidrs: ['127.0.0.9'] })
    expect(await lives(child.client_token)).toBe(false)
    expect((await from(child.client_token, ELSEWHERE)).status).toBe(200)
  })

  test('orphans, batch tokens and tokens of an open role have the bounds of their creator, unless the creator has sudo', async () => {
    const maker = fresh('maker')
    const open = fresh('open')
    await done('POST', `/auth/token/roles/${open}`, { orphan: true })
    const pathOf = (how: string) => `/auth/token/create${how}`
    const makes = async (capabilities: string, how: string, given: Record<string, unknown> = {}) => {
      const policy = `path "auth/token/create*" { capabilities = [${capabilities}] }`
      await done('POST', `/sys/policies/acl/${maker}`, { policy })
      const role = await boundRole('127.0.0.9', { allowed_policies: [maker] })
      const options = { token: await tokenOf(role), from: ELSEWHERE }
      const { body } = await done('POST', pathOf(how), { ttl: '1h', ...given }, options)
      return (await lookUp(body.auth.client_token))['bound_cidrs']
    }
    for (const how of ['-orphan', `/${open}`])
      expect(await makes('"update"', how), how).toEqual(['127.0.0.9'])
    expect(await makes('"update"', '', { type: 'batch' })).toEqual(['127.0.0.9'])
    const other = await boundRole('127.0.0.8', { allowed_policies: ['default'] })
    expect(await makes('"update"', `/${other}`)).toEqual(['127.0.0.8'])
    for (const how of ['', '-orphan', `/${open}`])
      expect(await makes('"update", "sudo"', how), how).toBeUndefined()
    expect(await makes('"update", "sudo"', `/${other}`)).toEqual(['127.0.0.8'])
  })

  test('a root token without expiration is not bound by a token role, and gets a warning', async () => {
    const role = fresh('open')
    await done('POST', `/auth/token/roles/${role}`, { token_bound_cidrs: '127.0.0.9' })
    const { body } = await done('POST', `/auth/token/create/${role}`)
    expect(body.warnings).toEqual([expect.stringContaining('never expires')])
    expect(await lookUp(body.auth.client_token)).not.toHaveProperty('bound_cidrs')
    expect(await lives(body.auth.client_token)).toBe(true)
  })

  test.each(['10.0.0.0/33', 'here', '10.0.0.0/8/8', '1.2.3', '::1%lo', '10.0.0.0/-1'])(
    'a role with the CIDR %s is rejected',
    async networks => {
      const reply = await api('POST', `/auth/token/roles/${fresh('r')}`, { token_bound_cidrs: networks })
      expect(reply.status).toBe(400)
    },
  )
})
