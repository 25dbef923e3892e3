import { AssumeRoleCommand, GetCallerIdentityCommand } from '@aws-sdk/client-sts'
import { describe, expect, test } from 'vitest'
import { account, clientsOf, nowOf, providerWithUser } from './clients.ts'

describe('AssumeRole', () => {
  const target = (name: string, inAccount = '222233334444') => `arn:aws:iam::${inAccount}:role/${name}`
  const order = { RoleArn: target('satellite'), RoleSessionName: 'login' }

  async function satellite(more: { trusts?: string[]; externalId?: string } = {}) {
    const aws = await providerWithUser()
    const role = await aws.control.putRole({ account: '222233334444', name: 'satellite', ...more })
    return { ...aws, role, sts: clientsOf(aws.url, aws.key).sts }
  }

  test('returns working credentials of the other account', async () => {
    const { url, control, sts, role } = await satellite()
    const before = await nowOf({ control })
    const { Credentials, AssumedRoleUser } = await sts.send(new AssumeRoleCommand(order))
    const after = await nowOf({ control })
    expect(AssumedRoleUser).toEqual({
      Arn: 'arn:aws:sts::222233334444:assumed-role/satellite/login',
      AssumedRoleId: `${role.roleId}:login`,
    })
    // an hour, in whole seconds
    const made = (Credentials?.Expiration?.getTime() ?? 0) - 3_600_000
    expect(made).toBeGreaterThan(before - 1000)
    expect(made).toBeLessThanOrEqual(after)
    const key = {
      accessKeyId: Credentials?.AccessKeyId ?? '',
      secretAccessKey: Credentials?.SecretAccessKey ?? '',
      sessionToken: Credentials?.SessionToken ?? '',
    }
    expect(key.accessKeyId).toMatch(/^ASIA[A-Z2-7]{16}$/)
    const who = await clientsOf(url, key).sts.send(new GetCallerIdentityCommand())
    expect(who.Arn).toBe(AssumedRoleUser?.Arn)
  })

  test.each([
    ['its ARN', [`arn:aws:iam::${account}:user/team/bob`], true],
    ['its account', [account], true],
    ['the root of its account', [`arn:aws:iam::${account}:root`], true],
    ['everyone', ['*'], true],
    ['nobody', [], false],
    ['somebody else', [`arn:aws:iam::${account}:user/bob`], false],
    ['another account', ['222233334444'], false],
  ])('a trust policy that names %s admits the caller: $2', async (_name, principals, trusted) => {
    const { sts } = await satellite({ trusts: principals })
    const assumed = sts.send(new AssumeRoleCommand(order))
    if (trusted) await expect(assumed).resolves.toMatchObject({ $metadata: { httpStatusCode: 200 } })
    else
      await expect(assumed).rejects.toMatchObject({
        name: 'AccessDenied',
        $metadata: { httpStatusCode: 403 },
      })
  })

  test.each([
    ['the right external ID', 'blue', true],
    ['another', 'green', false],
    ['none', undefined, false],
  ])('a role with an external ID admits a caller with %s: $2', async (_name, ExternalId, trusted) => {
    const { sts } = await satellite({ externalId: 'blue' })
    const assumed = sts.send(new AssumeRoleCommand({ ...order, ...(ExternalId && { ExternalId }) }))
    if (trusted) await expect(assumed).resolves.toBeDefined()
    else await expect(assumed).rejects.toMatchObject({ name: 'AccessDenied' })
  })

  test('a missing role, a role of the wrong account, and a role without its path are denied', async () => {
    const { sts, control } = await satellite()
    await control.putRole({ account: '222233334444', name: 'deep', path: '/a/' })
    for (const RoleArn of [target('other'), target('satellite', account), target('deep')]) {
      await expect(sts.send(new AssumeRoleCommand({ ...order, RoleArn }))).rejects.toMatchObject({
        name: 'AccessDenied',
        message: `User: arn:aws:iam::${account}:user/team/bob is not authorized to perform: sts:AssumeRole on resource: ${RoleArn}`,
      })
    }
  })

  test('a trust policy that names a role admits its sessions', async () => {
    const { url, control } = await satellite()
    const { arn } = await control.putRole({ account, name: 'server' })
    await control.putRole({ account: '222233334444', name: 'satellite', trusts: [arn] })
    const { sts } = clientsOf(url, await control.session({ account, role: 'server', session: 'one' }))
    await expect(sts.send(new AssumeRoleCommand(order))).resolves.toBeDefined()
    await control.putRole({ account: '222233334444', name: 'satellite', trusts: [`${arn}x`] })
    await expect(sts.send(new AssumeRoleCommand(order))).rejects.toMatchObject({ name: 'AccessDenied' })
  })

  test('a role of another partition is denied', async () => {
    const { sts, control } = await satellite()
    const { arn } = await control.putRole({ account: '222233334444', name: 'far', partition: 'aws-cn' })
    await expect(sts.send(new AssumeRoleCommand({ ...order, RoleArn: arn }))).rejects.toMatchObject({
      name: 'AccessDenied',
    })
  })

  test('is denied for the root user and for a caller with a denial', async () => {
    const { url, control, user, sts } = await satellite()
    const root = clientsOf(url, await control.rootKey({ account })).sts
    await expect(root.send(new AssumeRoleCommand(order))).rejects.toMatchObject({ name: 'AccessDenied' })
    await control.deny({ principalArn: user.arn, action: 'sts:AssumeRole' })
    await expect(sts.send(new AssumeRoleCommand(order))).rejects.toMatchObject({ name: 'AccessDenied' })
    await control.allow({ principalArn: user.arn, action: 'sts:AssumeRole' })
    await expect(sts.send(new AssumeRoleCommand(order))).resolves.toBeDefined()
  })

  test.each([
    [{ DurationSeconds: 899 }],
    [{ DurationSeconds: 43_201 }],
    [{ RoleSessionName: 'x' }],
    [{ RoleSessionName: 'a b' }],
    [{ RoleArn: 'arn:aws:iam::1:role/x' }],
  ])('%o is a ValidationError', async change => {
    const { sts } = await satellite()
    await expect(sts.send(new AssumeRoleCommand({ ...order, ...change }))).rejects.toMatchObject({
      name: 'ValidationError',
      $metadata: { httpStatusCode: 400 },
    })
  })
})
