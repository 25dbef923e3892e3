import { beforeAll, describe, expect, test } from 'vitest'
import { iamRole } from '../../support/requests/things.ts'
import { api, aws, done, fresh, freshAccount, freshMount } from '../../support/service/cluster.ts'

const HOME = '111122223333'
let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
})

const freshPath = () => `${mount}/role/${fresh('r')}`
const read = async (path: string) => (await done('GET', path)).body.data
const principal = (name: string, account = HOME) => ({
  bound_iam_principal_arn: `arn:aws:iam::${account}:role/${name}`,
})

async function madePrincipal(account = HOME): Promise<{ name: string; id: string }> {
  const name = fresh('app')
  const { roleId } = await aws.putRole({ account, name })
  return { name, id: roleId }
}

describe('a role write resolves unique IDs', () => {
  test('of users and roles in the order of their ARNs, and not of wildcards', async () => {
    const role = await madePrincipal()
    const user = fresh('user')
    const { userId } = await aws.putUser({ account: HOME, name: user })
    const path = freshPath()
    const arns = [
      `arn:aws:iam::${HOME}:user/${user}`,
      'arn:aws:iam::111122223333:role/x*',
      `arn:aws:iam::${HOME}:role/${role.name}`,
    ]
    await done('POST', path, { bound_iam_principal_arn: arns, resolve_aws_unique_ids: true })
    expect(await read(path)).toMatchObject({
      bound_iam_principal_arn: arns,
      bound_iam_principal_id: [userId, role.id],
    })
  })

  test('of a satellite account through its STS role', async () => {
    const account = freshAccount()
    const { name, id } = await madePrincipal(account)
    const path = freshPath()
    const early = await api('POST', path, principal(name, account))
    expect([early.status, early.body.errors]).toEqual([
      400,
      [expect.stringContaining(`cannot resolve unique ID of arn:aws:iam::${account}:role/${name}`)],
    ])
    expect((await api('GET', path)).status).toBe(404)
    await aws.putRole({ account, name: 'cloud-auth-reader' })
    await done('POST', `${mount}/config/sts/${account}`, {
      sts_role: `arn:aws:iam::${account}:role/cloud-auth-reader`,
    })
    await done('POST', path, principal(name, account))
    expect((await read(path)).bound_iam_principal_id).toEqual([id])
  })

  test('of a recreated principal only when the ARN is written again', async () => {
    const { name, id } = await madePrincipal()
    const path = freshPath()
    await done('POST', path, principal(name))
    await aws.deleteRole({ account: HOME, name })
    const refused = await api('POST', path, principal(name))
    expect([refused.status, refused.body.errors[0]]).toEqual([
      400,
      expect.stringContaining('cannot resolve unique ID'),
    ])
    expect((await read(path)).bound_iam_principal_id).toEqual([id])
    const { roleId } = await aws.putRole({ account: HOME, name })
    await done('POST', path, { token_ttl: 60 })
    expect((await read(path)).bound_iam_principal_id).toEqual([id])
    await done('POST', path, principal(name))
    expect((await read(path)).bound_iam_principal_id).toEqual([roleId])
    expect(roleId).not.toBe(id)
  })

  test('when resolve_aws_unique_ids is turned on, and leaves the setting off when the resolution fails', async () => {
    const { name, id } = await madePrincipal()
    const path = freshPath()
    await done('POST', path, { ...principal(name), resolve_aws_unique_ids: false })
    expect(await read(path)).toMatchObject({ bound_iam_principal_id: [], resolve_aws_unique_ids: false })
    await done('POST', path, { resolve_aws_unique_ids: true })
    expect(await read(path)).toMatchObject({ bound_iam_principal_id: [id], resolve_aws_unique_ids: true })

    const other = freshPath()
    await done('POST', other, { ...principal(fresh('gone')), resolve_aws_unique_ids: false })
    expect((await api('POST', other, { resolve_aws_unique_ids: true })).status).toBe(400)
    expect(await read(other)).toMatchObject({ bound_iam_principal_id: [], resolve_aws_unique_ids: false })
  })

  test.each([
    ['nobody', `arn:aws:iam::${HOME}:role/gone`],
    ['a session ARN', `arn:aws:sts::${HOME}:assumed-role/x/y`],
    ["an account's root ARN", `arn:aws:iam::${HOME}:root`],
    ['a malformed ARN', ':::::'],
  ])('and rejects %s', async (_, arn) => {
    const reply = await api('POST', freshPath(), { bound_iam_principal_arn: [arn] })
    expect([reply.status, reply.body.errors[0]]).toEqual([
      400,
      expect.stringContaining('cannot resolve unique ID of '),
    ])
  })

  test('and ignores IDs that the client sends', async () => {
    const path = freshPath()
    await done('POST', path, {
      ...iamRole.body,
      bound_iam_principal_id: ['AROAX'],
      role_id: 'x',
      hmac_key: 'x',
    })
    const role = await read(path)
    expect(role.bound_iam_principal_id).toEqual([])
    expect(role.role_id).not.toBe('x')
  })

  test('and without resolution warns about an ARN that matches no principal', async () => {
    const path = freshPath()
    const bound = `arn:aws:iam::${HOME}:role/some/path/app`
    const { body } = await done('POST', path, {
      bound_iam_principal_arn: bound,
      resolve_aws_unique_ids: false,
    })
    expect(body.warnings).toEqual([
      `bound_iam_principal_arn: ${bound} matches nobody; use arn:aws:iam::${HOME}:role/app`,
    ])
    expect((await read(path)).bound_iam_principal_arn).toEqual([bound])
  })
})

describe('a role', () => {
  test('has one name in any letter case', async () => {
    const name = fresh('R')
    await done('POST', `${mount}/role/${name.toUpperCase()}`, iamRole.body)
    await done('POST', `${mount}/role/${name}`, { token_ttl: 7 })
    expect((await read(`${mount}/role/${name.toLowerCase()}`)).token_ttl).toBe(7)
    const { keys } = (await done('LIST', `${mount}/roles`)).body.data
    expect(keys.filter((one: string) => one.toLowerCase() === name.toLowerCase())).toEqual([
      name.toLowerCase(),
    ])
    await done('DELETE', `${mount}/role/${name.toUpperCase()}`)
    expect((await api('GET', `${mount}/role/${name}`)).status).toBe(404)
  })

  test('keeps its ID until the role is deleted, and gets another ID when the role is recreated', async () => {
    const path = freshPath()
    const ids = []
    for (const body of [iamRole.body, { token_ttl: 1 }, undefined, iamRole.body]) {
      if (body) await done('POST', path, body)
      else await done('DELETE', path)
      if (body) ids.push((await read(path)).role_id)
    }
    expect(ids[1]).toBe(ids[0])
    expect(ids[2]).not.toBe(ids[0])
  })

  test.each(['cloud-ec2', 'aws-ec2'])('of a mount of type %s is of type ec2 by default', async type => {
    const { path } = await freshMount(type)
    await done('POST', `${path}/role/a`, { bound_region: 'eu-west-1' })
    expect((await read(`${path}/role/a`)).auth_type).toBe('ec2')
    await done('POST', `${path}/role/b`, { ...iamRole.body, auth_type: 'iam' })
    expect((await read(`${path}/role/b`)).auth_type).toBe('iam')
  })

  test('concurrent writes are all applied', async () => {
    const path = freshPath()
    await done('POST', path, iamRole.body)
    const parts = [
      { token_policies: 'x' },
      { token_num_uses: 3 },
      { token_no_default_policy: true },
      { token_bound_cidrs: '127.0.0.1' },
    ]
    await Promise.all(parts.map(part => done('POST', path, part)))
    expect(await read(path)).toMatchObject({
      token_policies: ['x'],
      token_num_uses: 3,
      token_no_default_policy: true,
      token_bound_cidrs: ['127.0.0.1'],
    })
  })

  test("a TTL above the mount's maximum is stored with a warning", async () => {
    const path = freshPath()
    const { body } = await done('POST', path, { ...iamRole.body, token_max_ttl: '1000h' })
    expect(body.warnings).toEqual([expect.stringContaining('exceeds the mount’s maximum')])
    expect((await read(path)).token_max_ttl).toBe(3_600_000)
  })

  test('list values are trimmed and deduplicated, and keep their letter case', async () => {
    const path = freshPath()
    await done('POST', path, {
      auth_type: 'ec2',
      bound_ami_id: [' AMI-1 ', 'ami-1', 'AMI-1', ''],
      bound_vpc_id: 'a , b,,a',
    })
    expect(await read(path)).toMatchObject({ bound_ami_id: ['AMI-1', 'ami-1'], bound_vpc_id: ['a', 'b'] })
  })
})
