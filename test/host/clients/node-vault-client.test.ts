import VaultClient from 'node-vault-client'
import { afterAll, describe, expect, test } from 'vitest'
import { HOME_ACCOUNT } from '../../../infra/local/provider/home.ts'
import { aws, cluster, done, fresh } from '../../support/service/cluster.ts'

// Tests a third-party client, which signs with its own library, names the server in a signed header, signs
// Content-Length too, and renews its token by a timer.

const SERVER = 'https://login.example.com'
afterAll(() => VaultClient.clear())

describe('node-vault-client', () => {
  test('logs in with iam, reads, lists and renews', async () => {
    const mount = fresh('timed-')
    const user = await aws.putUser({ account: HOME_ACCOUNT.account, name: 'timed-worker' })
    const key = await aws.createAccessKey({ account: HOME_ACCOUNT.account, user: 'timed-worker' })
    await done('POST', `/sys/auth/${mount}`, { type: 'aws' })
    await done('POST', `/auth/${mount}/config/client`, { iam_server_id_header_value: SERVER })
    await done('POST', '/sys/policies/acl/timed-reader', {
      policy: `path "auth/${mount}/role*" { capabilities = ["read", "list"] }`,
    })
    await done('POST', `/auth/${mount}/role/worker`, {
      bound_iam_principal_arn: user.arn,
      policies: 'timed-reader',
      token_ttl: '8s',
    })

    const client = new VaultClient({
      api: { url: cluster.base_url.replace(/\/v1$/, '') },
      logger: false,
      auth: {
        type: 'iam',
        mount,
        config: {
          role: 'worker',
          iam_server_id_header_value: SERVER,
          credentials: { accessKeyId: key.accessKeyId, secretAccessKey: key.secretAccessKey },
        },
      },
    })
    const role = await client.read(`auth/${mount}/role/worker`)
    expect(role.getValue('bound_iam_principal_arn')).toEqual([user.arn])
    expect((await client.list(`auth/${mount}/roles`)).getValue('keys')).toEqual(['worker'])

    // the client renews after four of eight seconds; without a renewal the token would have expired
    await new Promise(resolve => setTimeout(resolve, 9000))
    expect((await client.read(`auth/${mount}/role/worker`)).getValue('auth_type')).toBe('iam')
    const logins = (await aws.calls()).calls.filter(one => one.principalArn === user.arn)
    expect(logins.map(({ action }) => action)).toEqual(['GetCallerIdentity'])
  })
})
