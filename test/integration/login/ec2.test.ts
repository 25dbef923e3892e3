import { beforeAll, describe, expect, test } from 'vitest'
import { api, aws, done, freshInstanceId, freshMount, localCertificate } from '../../support/cluster.ts'

const HOME = { account: '111122223333', region: 'us-east-1' }

describe('ec2 login: auth-behaviour 4.2', () => {
  let mount = ''
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await done('POST', `${mount}/role/web`, {
      auth_type: 'ec2',
      bound_account_id: HOME.account,
      token_policies: 'dev',
    })
  })

  test('a signed document of a running instance gets a token', async () => {
    const instance = { ...HOME, instanceId: freshInstanceId() }
    await aws.putInstance(instance)
    const { rsa2048 } = await aws.documents(instance)
    const login = await api('POST', `${mount}/login`, { role: 'web', pkcs7: rsa2048.replaceAll('\n', '') })
    expect(login.status, login.text).toBe(200)
    expect(login.body.auth).toMatchObject({
      policies: ['default', 'dev'],
      token_type: 'service',
      orphan: true,
      metadata: { role: 'web', auth_type: 'ec2' },
    })
    expect(login.body.auth.metadata.nonce).toMatch(/^[0-9a-f-]{36}$/)
  })
})
