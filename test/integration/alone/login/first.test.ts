import { beforeEach, expect, test } from 'vitest'
import { remoteControl } from '../../../../infra/local/provider/control.ts'
import { HOME } from '../../../../infra/local/provider/home.ts'
import { signedBy } from '../../../support/requests/logins.ts'
import { ownHost } from '../../../support/service/own-host.ts'

// What the first login of a new environment costs: it remembers nothing yet.

let host: Awaited<ReturnType<typeof ownHost>>
let aws: ReturnType<typeof remoteControl>
beforeEach(async () => {
  host = await ownHost()
  aws = remoteControl(host.provider_url, host.control_token)
})

/** Operations at the tables of a login that succeeds. */
async function callsOf(body: object): Promise<string[]> {
  host.tap?.tap.reset()
  const { status, text } = await host.api('POST', '/auth/cloud/login', body, { token: '' })
  expect(status, text).toBe(200)
  return (host.tap?.tap.calls() ?? []).map(({ operation }) => operation)
}

const READ = 'BatchGetItem'

test('of iam: record, mounts and keyring together, settings, all again behind STS, the alias', async () => {
  const { account } = HOME
  const { arn } = await aws.putUser({ account, name: 'first' })
  const key = await aws.createAccessKey({ account, user: 'first' })
  await host.api('POST', '/auth/cloud/role/first', { bound_iam_principal_arn: arn })
  const login = () => callsOf({ role: 'first', ...signedBy(key) })
  // the caller is new too, and gets an alias
  expect(await login()).toEqual([READ, READ, READ, READ, 'TransactWriteItems'])
  expect(await login(), 'the environment is warm').toEqual([READ, READ, 'PutItem'])
})

test('of ec2: record, mounts and keyring together, certificates, settings, the alias, all again behind EC2', async () => {
  const certificate = Buffer.from((await aws.authority()).rsa2048).toString('base64')
  await host.api('POST', '/auth/cloud/config/certificate/local', { cloud_public_cert: certificate })
  await host.api('POST', '/auth/cloud/role/first', { auth_type: 'ec2', bound_account_id: HOME.account })
  const { rsa2048 } = await aws.documents(await aws.putInstance({ ...HOME }))
  const login = () => callsOf({ role: 'first', pkcs7: rsa2048.replaceAll('\n', ''), nonce: 'n' })
  expect(await login()).toEqual([READ, 'Query', READ, READ, READ, 'TransactWriteItems'])
  expect(await login(), 'the environment is warm').toEqual([READ, READ, 'TransactWriteItems'])
})
