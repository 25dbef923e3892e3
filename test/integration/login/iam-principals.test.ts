import { beforeAll, describe, expect, test } from 'vitest'
import type { TestKey } from '../../provider/hand-signer.ts'
import { errorsOf, HOME, loginWith, NOT_ACCEPTED, satellite } from '../../support/requests/logins.ts'
import { aws, done, fresh, freshAccount, freshMount } from '../../support/service/cluster.ts'

const notBound = (role: string): string => `principal is not bound to role "${role}"`

describe('a role with bound_iam_principal_arn', () => {
  let mount = ''
  let account = ''
  let bob: TestKey
  const session = (role: string, name = 'worker') => aws.session({ account, role, session: name })
  const roleWith = async (arns: string | string[], values: object = {}) => {
    const role = fresh('r')
    await done('POST', `${mount}/role/${role}`, { bound_iam_principal_arn: arns, ...values })
    return role
  }
  const byName = { resolve_aws_unique_ids: false }

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    account = await satellite(mount)
    await aws.putUser({ account, name: 'bob', path: '/team/' })
    bob = await aws.createAccessKey({ account, user: 'bob' })
    await aws.putRole({ account, name: 'app', path: '/svc/' })
    await aws.putRole({ account, name: 'plain' })
  })

  const arn = (resource: string): string => `arn:aws:iam::${account}:${resource}`
  const rows: [string, () => string | string[], object, 'bob' | 'app', number][] = [
    ["a user's ARN with path", () => arn('user/team/bob'), {}, 'bob', 200],
    ["a role's ARN with path", () => arn('role/svc/app'), {}, 'app', 200],
    ['one of several ARNs', () => [arn('role/plain'), arn('user/team/bob')], {}, 'bob', 200],
    ["a user's ARN without ID resolution", () => arn('user/bob'), byName, 'bob', 200],
    ["a role's ARN without its path, without ID resolution", () => arn('role/app'), byName, 'app', 200],
    [
      "a role's ARN with its path, without ID resolution: no match",
      () => arn('role/svc/app'),
      byName,
      'app',
      400,
    ],
    [
      "a user's ARN with its path, without ID resolution: no match",
      () => arn('user/team/bob'),
      byName,
      'bob',
      400,
    ],
    ['another user', () => arn('user/alice'), byName, 'bob', 400],
    ["a role with the user's name", () => arn('role/bob'), byName, 'bob', 400],
    ['a part of the name', () => arn('user/bo'), byName, 'bob', 400],
    ['the same name in another account', () => `arn:aws:iam::${HOME.account}:user/bob`, byName, 'bob', 400],
    ['the ARN of the session', () => `arn:aws:sts::${account}:assumed-role/app/worker`, byName, 'app', 400],
    ['a wildcard after the path', () => arn('user/team/*'), {}, 'bob', 200],
    ['a wildcard for all users', () => arn('user/*'), {}, 'bob', 200],
    ['a wildcard for the account', () => arn('*'), {}, 'app', 200],
    ['a wildcard inside the name', () => arn('role/svc/ap*'), {}, 'app', 200],
    ['a wildcard after the name', () => arn('role/svc/app*'), {}, 'app', 200],
    ['a wildcard and another ARN', () => [arn('user/team/*'), arn('role/plain')], {}, 'bob', 200],
    ['a wildcard after another path', () => arn('role/other/*'), {}, 'app', 400],
    ['a wildcard after the name without its path', () => arn('role/app*'), {}, 'app', 400],
    ['a wildcard in the middle', () => arn('role/*/app'), byName, 'app', 400],
    ['a wildcard before the name', () => arn('role/*app'), byName, 'app', 400],
  ]
  test.each(rows)('%s', async (_name, arns, values, who, status) => {
    const role = await roleWith(arns(), values)
    const answer = await loginWith(mount, who === 'bob' ? bob : await session('app'), { role })
    expect([answer.status, errorsOf(answer)]).toEqual([status, status === 200 ? '' : notBound(role)])
  })

  test('a recreated principal is rejected until the role is written again', async () => {
    const name = fresh('u')
    const user = await aws.putUser({ account, name })
    const role = await roleWith(user.arn)
    const key = await aws.createAccessKey({ account, user: name })
    expect((await loginWith(mount, key, { role })).status).toBe(200)
    await aws.deleteUser({ account, name })
    await aws.putUser({ account, name })
    const again = await aws.createAccessKey({ account, user: name })
    expect(errorsOf(await loginWith(mount, again, { role }))).toBe(notBound(role))
    await done('POST', `${mount}/role/${role}`, { bound_iam_principal_arn: user.arn })
    expect((await loginWith(mount, again, { role })).status).toBe(200)
  })

  test('a recreated principal is accepted without ID resolution (the documented risk)', async () => {
    const name = fresh('u')
    const user = await aws.putUser({ account, name })
    const role = await roleWith(user.arn, byName)
    await aws.deleteUser({ account, name })
    await aws.putUser({ account, name })
    const key = await aws.createAccessKey({ account, user: name })
    expect((await loginWith(mount, key, { role })).status).toBe(200)
  })

  test('a wildcard is compared with the current path of a recreated principal', async () => {
    const name = fresh('u')
    await aws.putUser({ account, name, path: '/out/' })
    const role = await roleWith(arn('user/in/*'))
    const key = await aws.createAccessKey({ account, user: name })
    expect(errorsOf(await loginWith(mount, key, { role }))).toBe(notBound(role))
    await aws.deleteUser({ account, name })
    await aws.putUser({ account, name, path: '/in/' })
    const moved = await aws.createAccessKey({ account, user: name })
    expect((await loginWith(mount, moved, { role })).status).toBe(200)
  })

  test('a session of a deleted and recreated role is rejected by STS', async () => {
    const name = fresh('app-')
    await aws.putRole({ account, name })
    const old = await session(name)
    const role = await roleWith(arn(`role/${name}`), byName)
    await aws.deleteRole({ account, name })
    await aws.putRole({ account, name })
    expect(errorsOf(await loginWith(mount, old, { role }))).toBe(NOT_ACCEPTED)
  })

  test('a wildcard does not look up principals of accounts without an STS role (CVE-2025-11621)', async () => {
    const foreign = freshAccount()
    const name = fresh('app-')
    for (const one of [HOME.account, foreign, account]) await aws.putRole({ account: one, name })
    const role = fresh('r')
    await done('POST', `${mount}/role/${role}`, {
      bound_iam_principal_arn: [HOME.account, foreign].map(one => `arn:aws:iam::${one}:role/app*`),
    })
    const as = (one: string) => aws.session({ account: one, role: name, session: 'worker' })
    const statuses = async (accounts: string[]) =>
      Promise.all(accounts.map(async one => (await loginWith(mount, await as(one), { role })).status))
    const accounts = [HOME.account, foreign, account]
    expect(await statuses(accounts)).toEqual([200, 400, 400])
    expect(await statuses(accounts.toReversed())).toEqual([400, 400, 200])
    const refused = await loginWith(mount, await as(foreign), { role })
    expect(errorsOf(refused)).toContain(`no STS role is configured for account ${foreign}`)
  })

  test.each<[string, { arn?: string; id?: string }, [number, string]?]>([
    ['another unique ID', { id: 'AIDAOTHER' }],
    ['another account', { arn: `arn:aws:iam::${HOME.account}:user/team/NAME` }],
    ['another partition', { arn: 'arn:aws-cn:iam::ACCOUNT:user/team/NAME' }],
    ['another name', { arn: 'arn:aws:iam::ACCOUNT:user/team/other' }],
    ['another type', { arn: 'arn:aws:iam::ACCOUNT:role/team/NAME' }],
    ['no unique ID', { id: '' }, [502, 'IAM could not answer']],
    ['the right principal', {}, [200, '']],
  ])(
    'a wildcard checks the principal that IAM returns; this answer has %s (CVE-2025-11621)',
    async (_name, forged, expected = [400, 'the principal could not be looked up']) => {
      const name = fresh('u')
      const user = await aws.putUser({ account, name, path: '/team/' })
      const key = await aws.createAccessKey({ account, user: name })
      const { arn: told = user.arn, id = user.userId } = forged
      const found = told.replace('ACCOUNT', account).replace('NAME', name)
      const body = `<GetUserResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><GetUserResult><User><UserName>${name}</UserName><Path>/team/</Path><UserId>${id}</UserId><Arn>${found}</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate></User></GetUserResult></GetUserResponse>`
      await aws.fault({
        service: 'iam',
        action: 'GetUser',
        account,
        kind: 'answer',
        answer: { status: 200, contentType: 'text/xml', body },
      })
      const patterns = [account, HOME.account].map(one => `arn:aws:iam::${one}:user/team/*`)
      const role = await roleWith([...patterns, `arn:aws-cn:iam::${account}:user/*`])
      const answer = await loginWith(mount, key, { role })
      expect([answer.status, errorsOf(answer)]).toEqual(expected)
    },
  )

  test('a role of the same name in another account is rejected, one by one and concurrently (CVE-2025-11621, HCSEC-2025-30, GHSA-9g4h-h484-3578, CVE-2025-59048, GHSA-jp7h-4f3c-9rc7)', async () => {
    const name = fresh('app-')
    // the STS roles of both satellite accounts have the same name too
    const accounts = [HOME.account, await satellite(mount), await satellite(mount)]
    for (const one of accounts) await aws.putRole({ account: one, name })
    const as = async (one: string, role: string) =>
      (await loginWith(mount, await aws.session({ account: one, role: name, session: 'w1' }), { role }))
        .status
    for (const bound of accounts) {
      const role = await roleWith(`arn:aws:iam::${bound}:role/app*`)
      const expected = accounts.map(one => (one === bound ? 200 : 400))
      const oneByOne = []
      for (const one of accounts) oneByOne.push(await as(one, role))
      expect(oneByOne).toEqual(expected)
      const atOnce = await Promise.all(accounts.toReversed().map(one => as(one, role)))
      expect(atOnce.toReversed()).toEqual(expected)
    }
  })

  test('resolved unique IDs need no call to IAM, so a login works without the STS role', async () => {
    const name = fresh('u')
    const user = await aws.putUser({ account, name })
    const key = await aws.createAccessKey({ account, user: name })
    const { path } = await freshMount()
    const sts_role = `arn:aws:iam::${account}:role/cloud-auth-reader`
    await done('POST', `${path}/config/sts/${account}`, { sts_role })
    await done('POST', `${path}/role/app`, { bound_iam_principal_arn: user.arn })
    await done('DELETE', `${path}/config/sts/${account}`)
    await done('POST', `${path}/config/client`, { access_key: 'AKIAGONE', secret_key: 'gone' })
    expect((await loginWith(path, key, { role: 'app' })).status).toBe(200)
  })
})
