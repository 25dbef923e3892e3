import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { HOME, launch, loginAs } from '../../support/requests/logins.ts'
import { make, tryMake } from '../../support/requests/tokens.ts'
import {
  api,
  aws,
  cluster,
  done,
  fresh,
  freshMount,
  localCertificate,
} from '../../support/service/cluster.ts'

const logs = () =>
  ['audit.log', 'functions.log'].map(name => readFileSync(`${cluster.directory}/${name}`, 'utf8')).join('\n')

describe('secrecy of tokens', () => {
  test('no log contains a token after any request with that token (CVE-2024-0831, CVE-2024-8365)', async () => {
    const id = fresh('chosen-secret-')
    const { client_token: token, accessor } = await make({ policies: 'default', ttl: '1h' })
    const { client_token: batch } = await make({ policies: 'default', type: 'batch' })
    await make({ id, policies: 'default' })
    await tryMake({ id, policies: 'default' })
    await api('GET', `/auth/token/lookup?token=${token}`)
    for (const path of ['lookup', 'renew', 'revoke-orphan', 'revoke'])
      for (const one of [token, batch, id]) await api('POST', `/auth/token/${path}`, { token: one })
    await api('POST', '/auth/token/renew-self', { token, increment: { token } }, { token })
    await api('POST', '/sys/wrapping/unwrap', { token })
    await api('GET', '/auth/token/nothing', undefined, { token: id })
    const text = logs()
    expect(text).toContain(accessor)
    for (const [index, secret] of [token, batch, id, cluster.root_token].entries())
      expect(
        text.split('\n').filter(line => line.includes(secret)),
        `secret ${index}`,
      ).toEqual([])
  })

  test('a bearer token is not sent to AWS (CVE-2026-4525)', async () => {
    const { path } = await freshMount()
    await done('POST', `${path}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await done('POST', `${path}/role/fleet`, { auth_type: 'ec2', bound_region: HOME.region })
    const instance = await launch()
    const { body } = await loginAs(path, instance, { role: 'fleet' })
    const token: string = body.auth.client_token
    const headers = { authorization: `Bearer ${token}` }
    const renewed = await api('POST', '/auth/token/renew-self', {}, { token: '', headers })
    expect(renewed.status).toBe(200)
    const { calls } = await aws.calls()
    expect(calls.filter(call => call.body.includes(instance.instanceId)).length).toBeGreaterThan(1)
    expect(JSON.stringify(calls)).not.toContain(token)
  })

  test.each([
    ['POST', '/sys/renew'],
    ['POST', '/sys/renew/lease'],
    ['POST', '/sys/leases/renew'],
    ['POST', '/sys/leases/lookup'],
    ['POST', '/sys/leases/revoke'],
    ['POST', '/sys/revoke/lease'],
    ['POST', '/sys/revoke-prefix/auth'],
    ['POST', '/sys/revoke-force/auth'],
    ['GET', '/auth/token/lookup/token'],
    ['POST', '/auth/token/revoke-prefix/auth'],
  ])(
    'old lease endpoints do not exist: %s %s (CVE-2026-45808, GHSA-v8v8-cm84-m686, GHSA-c36x-h252-g9x2)',
    async (method, path) => {
      const reply = await api(method, path, method === 'POST' ? { lease_id: 'x' } : undefined)
      expect([404, 405]).toContain(reply.status)
    },
  )

  test('the policy default allows only requests about the token itself', async () => {
    const { client_token: token } = await make({ policies: 'default' })
    const reach = async (method: string, path: string) => {
      const headers = path.endsWith('wrap') ? { 'x-vault-wrap-ttl': '1m' } : {}
      const reply = await api(method, path, method === 'POST' ? { path: 'x' } : undefined, { token, headers })
      return reply.status !== 403
    }
    const allowed = [
      ['GET', '/auth/token/lookup-self'],
      ['POST', '/auth/token/renew-self'],
      ['POST', '/sys/capabilities-self'],
      ['POST', '/sys/wrapping/wrap'],
      ['POST', '/sys/wrapping/lookup'],
      ['POST', '/sys/wrapping/unwrap'],
      ['POST', '/auth/token/revoke-self'],
    ]
    const refused = [
      ['POST', '/auth/token/create'],
      ['POST', '/auth/token/create-orphan'],
      ['POST', '/auth/token/lookup'],
      ['POST', '/auth/token/lookup-self'],
      ['POST', '/auth/token/renew'],
      ['POST', '/auth/token/revoke'],
      ['POST', '/auth/token/lookup-accessor'],
      ['GET', '/auth/token/accessors?list=true'],
      ['GET', '/auth/token/roles?list=true'],
      ['GET', '/sys/auth'],
      ['GET', '/sys/policy'],
      ['GET', '/sys/policies/acl/default'],
      ['GET', '/identity/entity/id?list=true'],
      ['GET', '/auth/cloud/roles?list=true'],
    ]
    for (const [method = '', path = ''] of refused) expect(await reach(method, path), path).toBe(false)
    for (const [method = '', path = ''] of allowed) expect(await reach(method, path), path).toBe(true)
  })
})
