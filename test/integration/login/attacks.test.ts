import { beforeAll, describe, expect, test } from 'vitest'
import type { TestKey } from '../../provider/hand-signer.ts'
import {
  callWatch,
  errorsOf,
  HOME,
  launch,
  loginAs,
  loginWith,
  pkcs7Of,
  satellite,
  signedBy,
} from '../../support/requests/logins.ts'
import { api, aws, done, freshMount, localCertificate } from '../../support/service/cluster.ts'

describe('published attacks on logins fail', () => {
  let mount = ''
  let account = ''
  let bob: TestKey
  let arn = ''
  const prepared = async () => {
    const { path } = await freshMount()
    await done('POST', `${path}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await done('POST', `${path}/role/web`, { auth_type: 'ec2', bound_account_id: HOME.account })
    return path
  }

  beforeAll(async () => {
    mount = await prepared()
    account = await satellite(mount)
    ;({ arn } = await aws.putUser({ account, name: 'bob' }))
    bob = await aws.createAccessKey({ account, user: 'bob' })
    await done('POST', `${mount}/role/app`, { bound_iam_principal_arn: arn })
  })

  test('without a valid proof, existing and missing roles get the same answer (CVE-2020-35177, CVE-2025-6010, CVE-2025-6011)', async () => {
    const forged = (await aws.documents(await launch())).pkcs7
    const proofs = [
      { pkcs7: 'x' },
      { pkcs7: forged },
      { identity: 'e30=', signature: 'e30=' },
      signedBy({ ...bob, secretAccessKey: 'x' }),
      signedBy(bob, { host: 'evil.example' }),
      {},
    ]
    for (const proof of proofs) {
      const answers = await Promise.all(
        ['web', 'app', 'nothing-of-that-name', ''].map(role =>
          api('POST', `${mount}/login`, { ...proof, role }, { token: '' }),
        ),
      )
      expect(answers[0]?.status).toBe(400)
      expect(new Set(answers.map(one => `${one.status} ${one.text}`)).size).toBe(1)
    }
  })

  test('an ec2 proof cannot use an iam role, nor an iam proof an ec2 role', async () => {
    const instance = await launch({ account })
    expect(errorsOf(await loginAs(mount, instance, { role: 'app' }))).toMatch(/^ec2 login is not allowed/)
    expect(errorsOf(await loginWith(mount, bob, { role: 'web' }))).toMatch(/^iam login is not allowed/)
  })

  test('a role name matches in any letter case, and in no other spelling (CVE-2025-6004)', async () => {
    const instance = await launch()
    const login = (role: string) => loginAs(mount, instance, { role, nonce: 'n' })
    const entities = await Promise.all(
      ['web', 'WEB', 'wEb'].map(async role => (await login(role)).body.auth.entity_id),
    )
    expect(new Set(entities).size).toBe(1)
    for (const role of [' web', 'web ', 'web\t', 'web%20', 'w\u0435b', 'web/', 'web\u0000']) {
      expect((await login(role)).status, JSON.stringify(role)).toBe(400)
    }
  })

  test("the client's address comes only from the connection, never from a header", async () => {
    await done('POST', `${mount}/role/inside`, {
      auth_type: 'ec2',
      bound_account_id: HOME.account,
      token_bound_cidrs: '10.0.0.0/8',
    })
    const pkcs7 = await pkcs7Of(await launch())
    for (const name of ['X-Forwarded-For', 'X-Real-IP', 'Forwarded', 'True-Client-IP', 'CF-Connecting-IP']) {
      const headers = { [name]: name === 'Forwarded' ? 'for=10.0.0.1' : '10.0.0.1' }
      const reply = await api('POST', `${mount}/login`, { role: 'inside', pkcs7 }, { token: '', headers })
      expect([reply.status, errorsOf(reply)]).toEqual([403, 'permission denied'])
    }
  })

  test.each(['root', 'ROOT', ' root ', 'dev,Root'])(
    'no role grants the policy %j (CVE-2025-5999)',
    async policies => {
      for (const field of ['token_policies', 'policies']) {
        const role = { auth_type: 'ec2', bound_account_id: HOME.account, [field]: policies }
        const written = await api('POST', `${mount}/role/super`, role)
        const login = await loginAs(mount, await launch(), { role: 'super' })
        expect([login.status, written.status === 204 || written.status === 400]).toEqual([400, true])
        expect(login.text).not.toContain('client_token')
      }
    },
  )

  test('an instance cannot log in with the nonce of another instance', async () => {
    const [one, two] = [await launch(), await launch()]
    await loginAs(mount, one, { role: 'web', nonce: 'of one' })
    await loginAs(mount, two, { role: 'web', nonce: 'of two' })
    expect(errorsOf(await loginAs(mount, one, { role: 'web', nonce: 'of two' }))).toBe('nonce does not match')
  })

  test('one principal on two mounts is two entities with separate metadata (CVE-2022-40186)', async () => {
    const mounts = [await prepared(), await prepared()]
    const seen = []
    for (const [index, path] of mounts.entries()) {
      await done('POST', `${path}/config/identity`, {
        iam_alias: 'full_arn',
        iam_metadata: index === 0 ? 'client_arn' : 'account_id',
      })
      await done('POST', `${path}/role/app`, { bound_iam_principal_arn: arn, resolve_aws_unique_ids: false })
      seen.push((await loginWith(path, bob, { role: 'app' })).body.auth)
    }
    const [first, second] = seen
    expect(first.entity_id).not.toBe(second.entity_id)
    await loginWith(mounts[1] ?? '', bob, { role: 'app' })
    const { data } = (await done('GET', `/identity/entity/id/${first.entity_id}`)).body
    expect(data.aliases).toEqual([expect.objectContaining({ name: arn, metadata: { client_arn: arn } })])
  })

  test("the client's own token is never sent to EC2 or IAM (CVE-2026-4525)", async () => {
    const { instanceProfileArn } = await launch({
      instanceProfileArn: (
        await aws.putInstanceProfile({ account: HOME.account, name: 'attacks', roles: [] })
      ).arn,
    })
    await done('POST', `${mount}/role/deep`, { auth_type: 'ec2', bound_iam_role_arn: '*' })
    const instance = await launch({ ...(instanceProfileArn ? { instanceProfileArn } : {}) })
    const watch = callWatch()
    await watch()
    const headers = { authorization: 'Bearer hvs.callers-own', 'x-vault-token': 'hvs.callers-own' }
    const pkcs7 = await pkcs7Of(instance)
    await api('POST', `${mount}/login`, { role: 'deep', pkcs7 }, { token: '', headers })
    const calls = await watch()
    expect(calls.map(call => call.action)).toEqual(
      expect.arrayContaining(['DescribeInstances', 'GetInstanceProfile']),
    )
    expect(JSON.stringify(calls)).not.toContain('callers-own')
  })

  test('a wrapped login returns only the wrapping token', async () => {
    const headers = { 'x-vault-wrap-ttl': '60s' }
    const pkcs7 = await pkcs7Of(await launch())
    const { body } = await api('POST', `${mount}/login`, { role: 'web', pkcs7 }, { token: '', headers })
    expect([body.auth, body.data]).toEqual([null, null])
    expect(body.wrap_info).toMatchObject({ ttl: 60, creation_path: `${mount.slice(1)}/login` })
    const { body: inner } = await done('POST', '/sys/wrapping/unwrap', {}, { token: body.wrap_info.token })
    expect(inner.auth.accessor).toBe(body.wrap_info.wrapped_accessor)
    expect(inner.auth.metadata.nonce).toMatch(/^[0-9a-f-]{36}$/)
  })
})
