import { beforeEach, expect, test } from 'vitest'
import { createRemoteControl } from '../../../../infra/local/provider/control.ts'
import { HOME_ACCOUNT } from '../../../../infra/local/provider/home.ts'
import { signedBy } from '../../../support/requests/logins.ts'
import { ownHost } from '../../../support/service/own-host.ts'

// Storage calls of the first login in a new environment, whose caches are empty.

let host: Awaited<ReturnType<typeof ownHost>>
let aws: ReturnType<typeof createRemoteControl>
beforeEach(async () => {
  host = await ownHost()
  aws = createRemoteControl(host.provider_url, host.control_token)
})

/** Logs in, and returns the storage operations of the login. */
async function callsOf(body: object): Promise<string[]> {
  host.tap?.tap.reset()
  const { status, text } = await host.api('POST', '/auth/cloud/login', body, { token: '' })
  expect(status, text).toBe(200)
  return (host.tap?.tap.calls() ?? []).map(({ operation }) => operation)
}

const READ = 'BatchGetItem'

test('the first iam login reads record, mounts and keyring together, then settings; after the STS call it reads these again, then the alias', async () => {
  const { account } = HOME_ACCOUNT
  const { arn } = await aws.putUser({ account, name: 'first' })
  const key = await aws.createAccessKey({ account, user: 'first' })
  await host.api('POST', '/auth/cloud/role/first', { bound_iam_principal_arn: arn })
  const login = () => callsOf({ role: 'first', ...signedBy(key) })
  // the caller is new, so this login also creates an alias
  expect(await login()).toEqual([READ, READ, READ, READ, 'TransactWriteItems'])
  expect(await login(), 'the environment is warm').toEqual([READ, READ, 'PutItem'])
})

test('the first ec2 login reads record, mounts and keyring together, then certificates, settings and the alias; after the EC2 call it reads these again', async () => {
  const certificate = Buffer.from((await aws.authority()).rsa2048).toString('base64')
  await host.api('POST', '/auth/cloud/config/certificate/local', { cloud_public_cert: certificate })
  await host.api('POST', '/auth/cloud/role/first', {
    auth_type: 'ec2',
    bound_account_id: HOME_ACCOUNT.account,
  })
  const { rsa2048 } = await aws.documents(await aws.putInstance({ ...HOME_ACCOUNT }))
  const login = () => callsOf({ role: 'first', pkcs7: rsa2048.replaceAll('\n', ''), nonce: 'n' })
  expect(await login()).toEqual([READ, 'Query', READ, READ, READ, 'TransactWriteItems'])
  expect(await login(), 'the environment is warm').toEqual([READ, READ, 'TransactWriteItems'])
})
