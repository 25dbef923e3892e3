import { beforeEach, describe, expect, test } from 'vitest'
import { errorsOf, HOME, launch, loginAs, satellite } from '../../support/requests/logins.ts'
import {
  api,
  aws,
  done,
  freshAccount,
  freshInstanceId,
  freshMount,
  localCertificate,
} from '../../support/service/cluster.ts'

const noRole = (account: string): string => `no STS role is configured for account ${account}`

describe('ec2 logins from other accounts and regions: CVE-2025-11621', () => {
  let mount = ''
  const login = (instance: Awaited<ReturnType<typeof launch>>) =>
    loginAs(mount, instance, { role: 'any', nonce: 'n' })

  beforeEach(async () => {
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await done('POST', `${mount}/role/any`, { auth_type: 'ec2', bound_region: 'us-east-1,eu-west-1' })
  })

  test('an instance of an account without an STS role is rejected', async () => {
    const account = freshAccount()
    const refused = await login(await launch({ account }))
    expect([refused.status, errorsOf(refused)]).toEqual([400, expect.stringContaining(noRole(account))])
    expect((await login(await launch())).status).toBe(200)
  })

  test('a login assumes the STS role of the account, with its external ID', async () => {
    const account = await satellite(mount, 'a shared secret')
    expect((await login(await launch({ account }))).status).toBe(200)
    const { calls } = await aws.calls()
    const assumed = calls.filter(call => call.action === 'AssumeRole' && call.body.includes(account))
    expect(assumed.map(call => Object.fromEntries(new URLSearchParams(call.body)))).toEqual([
      expect.objectContaining({
        RoleArn: `arn:aws:iam::${account}:role/cloud-auth-reader`,
        ExternalId: 'a shared secret',
        RoleSessionName: 'cloud-auth',
        DurationSeconds: '900',
      }),
    ])
    const described = calls.filter(call => call.action === 'DescribeInstances' && call.account === account)
    expect(described.map(call => call.principalArn)).toEqual([
      `arn:aws:sts::${account}:assumed-role/cloud-auth-reader/cloud-auth`,
    ])
  })

  test.each([
    ['a wrong external ID', { external_id: 'wrong' }],
    ['no external ID', { external_id: '' }],
    ['a missing role', { sts_role: 'arn:aws:iam::123456789012:role/cloud-auth-none' }],
  ])("with %s logins get 502 that names STS, and not the server's principal", async (_name, change) => {
    const account = await satellite(mount, 'right')
    await done('POST', `${mount}/config/sts/${account}`, change)
    const refused = await login(await launch({ account }))
    expect([refused.status, errorsOf(refused)]).toEqual([
      502,
      expect.stringContaining('STS refused the server’s own request: AccessDenied'),
    ])
    expect(refused.text).not.toMatch(/arn:|AKIA|ASIA|127\.0\.0\.1/)
  })

  test('a changed or deleted STS role applies from the next login on', async () => {
    const account = await satellite(mount)
    const instance = await launch({ account })
    expect((await login(instance)).status).toBe(200)
    await done('POST', `${mount}/config/sts/${account}`, {
      sts_role: `arn:aws:iam::${account}:role/cloud-auth-none`,
    })
    expect((await login(instance)).status).toBe(502)
    await done('DELETE', `${mount}/config/sts/${account}`)
    expect(errorsOf(await login(instance))).toContain(noRole(account))
    await satelliteAgain(account)
    expect((await login(instance)).status).toBe(200)
  })
  const satelliteAgain = (account: string) =>
    done('POST', `${mount}/config/sts/${account}`, {
      sts_role: `arn:aws:iam::${account}:role/cloud-auth-reader`,
    })

  test('a recreated role is assumed again at once', async () => {
    const account = await satellite(mount)
    const instance = await launch({ account })
    expect((await login(instance)).status).toBe(200)
    await aws.deleteRole({ account, name: 'cloud-auth-reader' })
    expect((await login(instance)).status).toBe(502)
    await aws.putRole({ account, name: 'cloud-auth-reader' })
    expect((await login(instance)).status).toBe(200)
  })

  test('an instance is not found with the credentials of another account', async () => {
    const [one, two] = [await satellite(mount), await satellite(mount)]
    const foreign = freshAccount()
    const instanceId = freshInstanceId()
    // the instances share an access-list entry, which rejects pending times before the last accepted pending
    // time
    const pendingTime = '2026-01-01T00:00:00Z'
    for (const account of [HOME.account, one, two, foreign])
      await launch({ account, instanceId, pendingTime })
    const claims = { [one]: 200, [two]: 200, [HOME.account]: 200, [foreign]: 400 }
    const instances = Object.keys(claims).map(account => ({ ...HOME, account, instanceId }))
    const outcome = async (order: typeof instances) =>
      Object.fromEntries(
        await Promise.all(
          order.map(async place => {
            const pkcs7 = (await aws.documents(place)).rsa2048
            const reply = await api('POST', `${mount}/login`, { role: 'any', pkcs7, nonce: instanceId })
            return [place.account, reply.status === 503 ? 200 : reply.status]
          }),
        ),
      )
    expect(await outcome(instances)).toEqual(claims)
    expect(await outcome(instances.toReversed())).toEqual(claims)
    await aws.deleteInstance({ account: two, region: HOME.region, instanceId })
    await aws.deleteInstance({ ...HOME, instanceId })
    const gone = await Promise.all(
      [two, HOME.account].map(account => loginGone({ ...HOME, account, instanceId })),
    )
    expect(gone).toEqual([400, 400])
  })
  const loginGone = async (place: { account: string; region: string; instanceId: string }) => {
    const text = JSON.stringify({
      accountId: place.account,
      region: place.region,
      instanceId: place.instanceId,
      pendingTime: '2026-01-01T00:00:00Z',
    })
    const { rsa2048 } = await aws.signDocument({ document: text })
    return (await api('POST', `${mount}/login`, { role: 'any', pkcs7: rsa2048, nonce: place.instanceId }))
      .status
  }

  test('an instance is looked up in the region of its document', async () => {
    const elsewhere = await launch({ region: 'eu-west-1' })
    expect((await login(elsewhere)).status).toBe(200)
    const { instanceId } = await launch({ region: 'eu-west-1' })
    expect(await loginGone({ ...HOME, instanceId })).toBe(400)
  })

  test('the account of config/client is the account of the server', async () => {
    const account = freshAccount()
    await aws.putUser({ account, name: 'server' })
    const key = await aws.createAccessKey({ account, user: 'server' })
    const [inside, outside] = [await launch({ account }), await launch()]
    expect((await login(outside)).status).toBe(200)
    await done('POST', `${mount}/config/client`, {
      access_key: key.accessKeyId,
      secret_key: key.secretAccessKey,
    })
    expect((await login(inside)).status).toBe(200)
    expect(errorsOf(await login(outside))).toContain(noRole(HOME.account))
    await done('DELETE', `${mount}/config/client`)
    expect(errorsOf(await login(inside))).toContain(noRole(account))
    expect((await login(outside)).status).toBe(200)
  })

  test('a wrong secret key gets 502, and the answer does not contain the key', async () => {
    const account = freshAccount()
    await aws.putUser({ account, name: 'server' })
    const { accessKeyId } = await aws.createAccessKey({ account, user: 'server' })
    await done('POST', `${mount}/config/client`, { access_key: accessKeyId, secret_key: 'not-the-secret' })
    const refused = await login(await launch({ account }))
    expect(refused.status).toBe(502)
    expect(errorsOf(refused)).toMatch(/STS refused the server’s own request: SignatureDoesNotMatch/)
    expect(refused.text).not.toMatch(/AKIA|not-the-secret/)
  })
})
