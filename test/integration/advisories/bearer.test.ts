import { beforeAll, describe, expect, test } from 'vitest'
import type { ResponseAuth } from '../../../shared/api/call.ts'
import { callWatch, launch, pkcs7Of, signedBy } from '../../support/requests/logins.ts'
import { make } from '../../support/requests/tokens.ts'
import type { Reply } from '../../support/service/api.ts'
import { auditOf } from '../../support/service/audit.ts'
import {
  api,
  aws,
  done,
  fresh,
  freshAccount,
  freshMount,
  localCertificate,
} from '../../support/service/cluster.ts'

describe("calls to AWS never carry the client's bearer token: CVE-2026-4525, HCSEC-2026-07", () => {
  const account = freshAccount()
  let mount = ''
  let token = ''
  let machine: { pkcs7: string; nonce: string }
  const send = (path: string, body: unknown): Promise<Reply> =>
    api('POST', path, body, { token: '', headers: { authorization: `Bearer ${token}` } })

  beforeAll(async () => {
    token = (await make({ policies: 'root', ttl: '1h' })).client_token
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await aws.putUser({ account, name: 'server' })
    const own = await aws.createAccessKey({ account, user: 'server' })
    const { accessKeyId: access_key, secretAccessKey: secret_key } = own
    await done('POST', `${mount}/config/client`, { access_key, secret_key })
    const { arn } = await aws.putRole({ account, name: 'app' })
    const { arn: instanceProfileArn } = await aws.putInstanceProfile({ account, name: 'app', roles: ['app'] })
    await done('POST', `${mount}/role/web`, { auth_type: 'ec2', bound_iam_role_arn: arn })
    await done('POST', `${mount}/role/job`, { bound_iam_principal_arn: `${arn}*` })
    machine = { pkcs7: await pkcs7Of(await launch({ account, instanceProfileArn })), nonce: 'n' }
  })

  const rows: [name: string, asks: string[], request: () => Promise<[path: string, body: unknown]>][] = [
    [
      'writing a role',
      ['GetRole'],
      async () => [`${mount}/role/exact`, { bound_iam_principal_arn: `arn:aws:iam::${account}:role/app` }],
    ],
    [
      'an ec2 login',
      ['DescribeInstances', 'GetInstanceProfile'],
      async () => [`${mount}/login`, { ...machine, role: 'web' }],
    ],
    [
      'an iam login',
      ['GetCallerIdentity', 'GetRole'],
      async () => {
        const session = await aws.session({ account, role: 'app', session: 'one' })
        return [`${mount}/login`, { ...signedBy(session), role: 'job' }]
      },
    ],
    ['explaining a login', ['DescribeInstances'], async () => [`${mount}/role/web/explain`, machine]],
    [
      'renewing a token',
      ['DescribeInstances'],
      async () => {
        const { body } = await done('POST', `${mount}/login`, { ...machine, role: 'web' })
        return ['/auth/token/renew', { token: (body.auth as ResponseAuth).client_token }]
      },
    ],
    [
      'rotating the root key',
      ['CreateAccessKey', 'DeleteAccessKey'],
      async () => [`${mount}/config/rotate-root`, undefined],
    ],
  ]
  test.each(rows)('%s calls %j without the token', async (_name, asks, request) => {
    const [path, body] = await request()
    const watch = callWatch()
    await watch()
    const reply = await send(path, body)
    expect([200, 204], reply.text).toContain(reply.status)
    const calls = await watch()
    const actions = calls.filter(call => call.account === account).map(call => call.action)
    expect(actions).toEqual(expect.arrayContaining(asks))
    expect(JSON.stringify(calls)).not.toContain(token)
  })
})

test('the audit log records the same hash of a token for each header that can carry a token (CVE-2026-46358, GHSA-q8cj-789h-vg24)', async () => {
  const { client_token: token } = await make({ policies: 'default', meta: { team: 'a' } })
  const path = `/sys/policies/acl/${fresh('p')}`
  for (const headers of [
    { 'X-Vault-Token': token },
    { 'X-Service-Token': token },
    { Authorization: `Bearer ${token}` },
  ])
    await api('GET', path, undefined, { token: '', headers })
  const told = auditOf(path).map(({ time, request: { id, gateway_id, ...request }, ...entry }) =>
    JSON.stringify({ ...entry, request }),
  )
  expect(told).toHaveLength(6)
  expect(new Set(told).size).toBe(2)
  const { hash } = (await done('POST', '/sys/audit-hash/file', { input: token })).body.data
  for (const entry of told) expect(entry).toContain(hash)
})
