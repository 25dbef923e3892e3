import VaultClient from 'node-vault-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOME } from '../../../infra/local/home.ts'
import { type Host, startHost } from '../../../infra/local/host.ts'
import { call } from '../../support/api.ts'

// A second client that nobody here wrote: it signs with a library of its own, names the server in a signed
// header, sends Content-Length among the signed headers, and renews its token by a timer.

const SERVER = 'https://login.example.com'
let host: Host
beforeAll(async () => {
  host = await startHost({ cluster: 'vault-client', port: 0, memory: true })
})
afterAll(() => {
  VaultClient.clear()
  return host.close()
})

const admin = async (method: string, path: string, body?: unknown) => {
  const reply = await call(host.base_url, method, path, body, { token: host.root_token })
  expect(reply.status, reply.text).toBeLessThan(300)
  return reply.body
}

describe('node-vault-client, a client that nobody here wrote', () => {
  test('logs in with iam, reads, lists and renews', async () => {
    const user = await host.control.putUser({ account: HOME.account, name: 'worker' })
    const key = await host.control.createAccessKey({ account: HOME.account, user: 'worker' })
    await admin('POST', '/sys/auth/aws', { type: 'aws' })
    await admin('POST', '/auth/aws/config/client', { iam_server_id_header_value: SERVER })
    await admin('POST', '/sys/policies/acl/reader', {
      policy: 'path "auth/aws/role*" { capabilities = ["read", "list"] }',
    })
    await admin('POST', '/auth/aws/role/worker', {
      bound_iam_principal_arn: user.arn,
      policies: 'reader',
      token_ttl: '8s',
    })

    const client = new VaultClient({
      api: { url: host.base_url.replace(/\/v1$/, '') },
      logger: false,
      auth: {
        type: 'iam',
        config: {
          role: 'worker',
          iam_server_id_header_value: SERVER,
          credentials: { accessKeyId: key.accessKeyId, secretAccessKey: key.secretAccessKey },
        },
      },
    })
    const role = await client.read('auth/aws/role/worker')
    expect(role.getValue('bound_iam_principal_arn')).toEqual([user.arn])
    expect((await client.list('auth/aws/roles')).getValue('keys')).toEqual(['worker'])

    // it renews half-way through the eight seconds: without that the token would be dead by now
    await new Promise(resolve => setTimeout(resolve, 9000))
    const calls = (await host.control.calls()).calls.filter(one => one.action === 'GetCallerIdentity')
    expect((await client.read('auth/aws/role/worker')).getValue('auth_type')).toBe('iam')
    expect((await host.control.calls()).calls.filter(one => one.action === 'GetCallerIdentity')).toHaveLength(
      calls.length,
    )
  })
})
