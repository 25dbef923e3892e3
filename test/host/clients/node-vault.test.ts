import nodeVault from 'node-vault'
import { describe, expect, test } from 'vitest'
import { signLogin } from '../../../infra/command/login/signed-login.ts'
import { HOME_ACCOUNT } from '../../../infra/local/provider/home.ts'
import { acceptTokens, tokenAccount, tokenOf } from '../../support/requests/web-tokens.ts'
import { aws, cluster } from '../../support/service/cluster.ts'

// The third-party client node-vault works unmodified against the running host: the client administers, logs
// in at the mount path that it expects, reads, lists with the verb LIST, and renews.

const client = (token?: string) =>
  nodeVault({ endpoint: cluster.base_url.replace(/\/v1$/, ''), ...(token ? { token } : {}) })

describe('node-vault', () => {
  test('reads health, and manages mounts, policies and roles with its own commands', async () => {
    const admin = client(cluster.root_token)
    expect(await admin.health()).toMatchObject({ initialized: true, sealed: false })
    await admin.enableAuth({ mount_point: 'aws', type: 'aws', description: 'as the client expects it' })
    expect(await admin.auths()).toMatchObject({ 'aws/': { type: 'aws' }, 'cloud/': { type: 'cloud' } })
    await admin.addPolicy({
      name: 'reader',
      rules: 'path "auth/aws/role*" { capabilities = ["read", "list"] }',
    })
    expect(await admin.getPolicy({ name: 'reader' })).toMatchObject({
      rules: expect.stringContaining('auth/aws/role*'),
    })
    const role = await aws.putRole({ account: HOME_ACCOUNT.account, name: 'worker' })
    await admin.write('auth/aws/role/worker', {
      auth_type: 'iam',
      bound_iam_principal_arn: role.arn,
      token_policies: 'reader',
      token_ttl: '1h',
    })
  })

  test('logs in with iam at its default path, then reads, lists, looks up and renews', async () => {
    const session = await aws.session({ account: HOME_ACCOUNT.account, role: 'worker', session: 'job-1' })
    const workload = client()
    const login = await workload.awsIamLogin({ role: 'worker', ...signLogin(session) })
    expect(login.auth).toMatchObject({
      policies: ['default', 'reader'],
      lease_duration: 3600,
      renewable: true,
    })
    workload.token = login.auth.client_token
    expect((await workload.read('auth/aws/role/worker')).data).toMatchObject({
      auth_type: 'iam',
      token_policies: ['reader'],
    })
    expect((await workload.list('auth/aws/roles')).data.keys).toEqual(['worker'])
    expect((await workload.tokenLookupSelf()).data).toMatchObject({
      path: 'auth/aws/login',
      ttl: expect.any(Number),
    })
    expect((await workload.tokenRenewSelf()).auth).toMatchObject({ lease_duration: 3600 })
    await expect(workload.write('auth/aws/role/worker', {})).rejects.toMatchObject({
      response: { statusCode: 403 },
    })
    await workload.tokenRevokeSelf()
    await expect(workload.tokenLookupSelf()).rejects.toMatchObject({ response: { statusCode: 403 } })
  })

  test('logs in with ec2, and again with the nonce', async () => {
    const admin = client(cluster.root_token)
    const instance = await aws.putInstance({ ...HOME_ACCOUNT })
    const { rsa2048 } = await aws.documents(instance)
    const { rsa2048: certificate } = await aws.authority()
    await admin.write('auth/aws/config/certificate/local', {
      aws_public_cert: Buffer.from(certificate).toString('base64'),
    })
    await admin.write('auth/aws/role/fleet', {
      auth_type: 'ec2',
      bound_account_id: HOME_ACCOUNT.account,
      policies: 'reader',
    })
    const proof = { role: 'fleet', pkcs7: rsa2048.replaceAll('\n', '') }
    const first = await client().write('auth/aws/login', proof)
    const { nonce } = first.auth.metadata
    await expect(client().write('auth/aws/login', proof)).rejects.toMatchObject({
      response: { statusCode: 400 },
    })
    const again = await client().write('auth/aws/login', { ...proof, nonce })
    expect(again.auth.metadata).not.toHaveProperty('nonce')
    expect((await admin.list('auth/aws/identity-whitelist')).data.keys).toContain(instance.instanceId)
  })

  test('logs in with a token that AWS signs, by a plain write with the fields of Vault’s JWT method', async () => {
    await acceptTokens('/auth/aws')
    const proof = { role: 'app', jwt: await tokenOf(await tokenAccount()) }
    const login = await client().write('auth/aws/login', proof)
    expect(login.auth).toMatchObject({ policies: ['default', 'dev'], renewable: true })
    const workload = client(login.auth.client_token)
    expect((await workload.tokenRenewSelf()).auth.client_token).toBe(login.auth.client_token)
    await expect(client().write('auth/aws/login', proof)).rejects.toMatchObject({
      response: { statusCode: 400, body: { errors: ['the token has been used; ask AWS for a new one'] } },
    })
  })
})
