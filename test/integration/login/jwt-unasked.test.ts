import { expect, test } from 'vitest'
import { claimBindingNames } from '../../../shared/auth-method/roles/claim-bindings.ts'
import { callWatch } from '../../support/requests/logins.ts'
import { acceptTokens, tokenAccount, tokenOf } from '../../support/requests/web-tokens.ts'
import { api, done, freshMount } from '../../support/service/cluster.ts'

// A mount that nobody configured for tokens of AWS answers as if these logins did not exist.

const identityOf = async (path: string): Promise<string[]> =>
  Object.keys((await done('GET', `${path}/config/identity`)).body.data)

test('config/identity shows fields of jwt logins only while config/jwt exists', async () => {
  const { path } = await freshMount()
  const fields = ['jwt_alias', 'jwt_metadata']
  const usual = await identityOf(path)
  expect(usual).not.toEqual(expect.arrayContaining([fields[0]]))
  await acceptTokens(path)
  expect(await identityOf(path)).toEqual([...usual, ...fields])
  await done('DELETE', `${path}/config/jwt`)
  expect(await identityOf(path)).toEqual(usual)
})

test.each(['iam', 'ec2'])('a role of type %s shows no field of jwt logins', async auth_type => {
  const { path } = await freshMount()
  await acceptTokens(path)
  await done('POST', `${path}/role/other`, {
    auth_type,
    ...(auth_type === 'iam'
      ? { bound_iam_principal_arn: 'arn:aws:iam::111122223333:role/x', resolve_aws_unique_ids: false }
      : { bound_account_id: '111122223333' }),
  })
  const { data } = (await done('GET', `${path}/role/other`)).body
  for (const name of [...claimBindingNames, 'cap_to_session']) expect(data).not.toHaveProperty(name)
  const refused = await api('POST', `${path}/role/other`, { bound_source_identity: 'x' })
  expect(refused.body.errors).toEqual(['bound_source_identity applies only to jwt roles'])
})

test('a mount without config/jwt fetches nothing for a token, and learns no issuer', async () => {
  const { path } = await freshMount()
  const from = await tokenAccount()
  const jwt = await tokenOf(from)
  const calls = callWatch()
  await calls()
  const { status, body } = await api('POST', `${path}/login`, { jwt, role: 'app' }, { token: '' })
  expect([status, body.errors]).toEqual([400, ['jwt logins are not configured']])
  // a new environment asks KMS for its keyring
  expect((await calls()).filter(({ service }) => service !== 'kms')).toEqual([])
  expect((await api('LIST', `${path}/config/jwt/issuers`)).status).toBe(404)
})

test('after config/jwt is deleted, nobody logs in by token or renews such a login', async () => {
  const { path } = await freshMount()
  await acceptTokens(path)
  const from = await tokenAccount()
  const { body } = await api(
    'POST',
    `${path}/login`,
    { jwt: await tokenOf(from), role: 'app' },
    { token: '' },
  )
  const token = body.auth.client_token
  expect((await api('POST', '/auth/token/renew-self', {}, { token })).status).toBe(200)
  await done('DELETE', `${path}/config/jwt`)
  expect((await api('POST', '/auth/token/renew-self', {}, { token })).status).toBe(403)
  const again = await api('POST', `${path}/login`, { jwt: await tokenOf(from), role: 'app' }, { token: '' })
  expect(again.body.errors).toEqual(['jwt logins are not configured'])
})
