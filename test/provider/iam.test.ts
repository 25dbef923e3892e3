import {
  CreateAccessKeyCommand,
  DeleteAccessKeyCommand,
  GetInstanceProfileCommand,
  GetRoleCommand,
  GetUserCommand,
  ListAccessKeysCommand,
} from '@aws-sdk/client-iam'
import { GetCallerIdentityCommand } from '@aws-sdk/client-sts'
import { describe, expect, test } from 'vitest'
import { account, clientsOf, providerWithUser } from './clients.ts'

const elsewhere = '222233334444'
const notFound = { name: 'NoSuchEntityException', $metadata: { httpStatusCode: 404 } }
const whoAmI = () => new GetCallerIdentityCommand()

describe('GetUser', () => {
  test('without a name returns the caller', async () => {
    const { url, key, user } = await providerWithUser()
    const { User } = await clientsOf(url, key).iam.send(new GetUserCommand({}))
    expect(User).toEqual({
      UserName: 'bob',
      UserId: user.userId,
      Path: '/team/',
      Arn: user.arn,
      CreateDate: expect.any(Date),
    })
  })

  test('of the root user has no UserName', async () => {
    const { url, control } = await providerWithUser()
    const { iam } = clientsOf(url, await control.rootKey({ account }))
    const { User } = await iam.send(new GetUserCommand({}))
    expect(User).toMatchObject({ UserId: account, Arn: `arn:aws:iam::${account}:root` })
    expect(User?.UserName).toBeUndefined()
  })

  test('of a session needs a name', async () => {
    const { url, control } = await providerWithUser()
    await control.putRole({ account, name: 'app' })
    const { iam } = clientsOf(url, await control.session({ account, role: 'app', session: 'one' }))
    await expect(iam.send(new GetUserCommand({}))).rejects.toMatchObject({ name: 'ValidationError' })
    await expect(iam.send(new GetUserCommand({ UserName: 'bob' }))).resolves.toBeDefined()
  })

  test('does not find users of another account, and a recreated user has another ID', async () => {
    const { url, key, control, user } = await providerWithUser()
    await control.putUser({ account: elsewhere, name: 'carol' })
    const { iam } = clientsOf(url, key)
    await expect(iam.send(new GetUserCommand({ UserName: 'carol' }))).rejects.toMatchObject(notFound)
    await control.deleteUser({ account, name: 'bob' })
    const again = await control.putUser({ account, name: 'bob', path: '/team/' })
    expect([again.arn === user.arn, again.userId === user.userId]).toEqual([true, false])
  })

  test('of a user that was put again has the same ID and keys', async () => {
    const { url, key, control, user } = await providerWithUser()
    const moved = await control.putUser({ account, name: 'bob', path: '/other/' })
    expect(moved.userId).toBe(user.userId)
    await expect(clientsOf(url, key).sts.send(whoAmI())).resolves.toMatchObject({ Arn: moved.arn })
  })
})

describe('GetRole', () => {
  test('returns path and unique ID, and a recreated role has another ID', async () => {
    const { url, key, control } = await providerWithUser()
    const role = await control.putRole({ account, name: 'app', path: '/a/b/' })
    const { iam } = clientsOf(url, key)
    const { Role } = await iam.send(new GetRoleCommand({ RoleName: 'app' }))
    expect(Role).toMatchObject({ RoleName: 'app', RoleId: role.roleId, Path: '/a/b/', Arn: role.arn })
    expect(role.roleId).toMatch(/^AROA[A-Z2-7]{17}$/)
    await control.deleteRole({ account, name: 'app' })
    await expect(iam.send(new GetRoleCommand({ RoleName: 'app' }))).rejects.toMatchObject(notFound)
    expect((await control.putRole({ account, name: 'app' })).roleId).not.toBe(role.roleId)
  })

  test('looks only into the account of the caller (CVE-2025-11621)', async () => {
    const { url, key, control } = await providerWithUser()
    await control.putRole({ account: elsewhere, name: 'app' })
    await expect(clientsOf(url, key).iam.send(new GetRoleCommand({ RoleName: 'app' }))).rejects.toMatchObject(
      notFound,
    )
  })
})

describe('GetInstanceProfile', () => {
  test('returns the profile with its existing roles', async () => {
    const { url, key, control } = await providerWithUser()
    const role = await control.putRole({ account, name: 'app', path: '/x/' })
    const profile = await control.putInstanceProfile({
      account,
      name: 'p',
      path: '/y/',
      roles: ['app', 'gone'],
    })
    const { iam } = clientsOf(url, key)
    const found = await iam.send(new GetInstanceProfileCommand({ InstanceProfileName: 'p' }))
    expect(found.InstanceProfile).toMatchObject({
      Arn: `arn:aws:iam::${account}:instance-profile/y/p`,
      InstanceProfileId: profile.profileId,
      Roles: [{ Arn: role.arn, RoleId: role.roleId }],
    })
    await expect(iam.send(new GetInstanceProfileCommand({ InstanceProfileName: 'q' }))).rejects.toMatchObject(
      notFound,
    )
  })
})

describe('access keys', () => {
  test('a second access key of a user works too, a third key is refused with LimitExceeded', async () => {
    const { url, key } = await providerWithUser()
    const { iam } = clientsOf(url, key)
    const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName: 'bob' }))
    const second = {
      accessKeyId: AccessKey?.AccessKeyId ?? '',
      secretAccessKey: AccessKey?.SecretAccessKey ?? '',
    }
    expect(AccessKey).toMatchObject({ UserName: 'bob', Status: 'Active' })
    await expect(clientsOf(url, second).sts.send(whoAmI())).resolves.toMatchObject({ Account: account })
    await expect(iam.send(new CreateAccessKeyCommand({ UserName: 'bob' }))).rejects.toMatchObject({
      name: 'LimitExceededException',
      $metadata: { httpStatusCode: 409 },
    })
    const { AccessKeyMetadata } = await iam.send(new ListAccessKeysCommand({}))
    expect(AccessKeyMetadata?.map(one => one.AccessKeyId)).toEqual([key.accessKeyId, second.accessKeyId])
  })

  test('a deleted access key is unknown at once, and another key can be created', async () => {
    const { url, key, control } = await providerWithUser()
    const second = await control.createAccessKey({ account, user: 'bob' })
    const { iam } = clientsOf(url, second)
    await iam.send(new DeleteAccessKeyCommand({ UserName: 'bob', AccessKeyId: key.accessKeyId }))
    await expect(clientsOf(url, key).sts.send(whoAmI())).rejects.toMatchObject({
      name: 'InvalidClientTokenId',
    })
    await expect(iam.send(new CreateAccessKeyCommand({}))).resolves.toBeDefined()
    await expect(
      iam.send(new DeleteAccessKeyCommand({ AccessKeyId: key.accessKeyId })),
    ).rejects.toMatchObject(notFound)
  })

  test('a key of another user or account cannot be deleted', async () => {
    const { url, key, control } = await providerWithUser()
    await control.putUser({ account, name: 'carol' })
    await control.putUser({ account: elsewhere, name: 'bob' })
    const { iam } = clientsOf(url, key)
    const others = [
      await control.createAccessKey({ account, user: 'carol' }),
      await control.createAccessKey({ account: elsewhere, user: 'bob' }),
    ]
    for (const { accessKeyId } of others) {
      await expect(
        iam.send(new DeleteAccessKeyCommand({ UserName: 'bob', AccessKeyId: accessKeyId })),
      ).rejects.toMatchObject(notFound)
    }
  })

  test('a new key is unknown during the delay that control sets', async () => {
    const { url, key, control } = await providerWithUser()
    await control.keyDelay({ milliseconds: 60_000 })
    await expect(clientsOf(url, key).sts.send(whoAmI())).rejects.toMatchObject({
      name: 'InvalidClientTokenId',
    })
    await control.advance({ seconds: 61 })
    await expect(clientsOf(url, key).sts.send(whoAmI())).resolves.toMatchObject({ Account: account })
  })

  test('deleting a user deletes its keys', async () => {
    const { url, key, control } = await providerWithUser()
    await control.deleteUser({ account, name: 'bob' })
    await control.putUser({ account, name: 'bob' })
    await expect(clientsOf(url, key).sts.send(whoAmI())).rejects.toMatchObject({
      name: 'InvalidClientTokenId',
    })
  })
})
