import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, HOME, launch, loginAs, placeOf } from '../../support/requests/logins.ts'
import {
  api,
  aws,
  done,
  fresh,
  freshInstanceId,
  freshMount,
  localCertificate,
} from '../../support/service/cluster.ts'

const PROFILE = fresh('profile-')
const ROLE = fresh('app-')
const profileArn = `arn:aws:iam::${HOME.account}:instance-profile/web/${PROFILE}`
const roleArn = `arn:aws:iam::${HOME.account}:role/web/${ROLE}`

describe('ec2 login with bounds on the instance', () => {
  let mount = ''
  const instanceId = freshInstanceId()
  const values = {
    instanceId,
    imageId: 'ami-0a1b2c3d4e5f60718',
    vpcId: 'vpc-1',
    subnetId: 'subnet-1',
    instanceProfileArn: profileArn,
  }
  const roleWith = async (bound: object) => {
    const role = fresh('r')
    await done('POST', `${mount}/role/${role}`, { auth_type: 'ec2', ...bound })
    return role
  }
  let instance: Awaited<ReturnType<typeof launch>>

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await aws.putRole({ account: HOME.account, name: ROLE, path: '/web/' })
    await aws.putInstanceProfile({ account: HOME.account, name: PROFILE, path: '/web/', roles: [ROLE] })
    instance = await launch(values)
  })

  const right: Record<string, string> = {
    bound_ec2_instance_id: instanceId,
    bound_account_id: HOME.account,
    bound_ami_id: values.imageId,
    bound_subnet_id: values.subnetId,
    bound_vpc_id: values.vpcId,
    bound_region: HOME.region,
    bound_iam_instance_profile_arn: profileArn,
    bound_iam_role_arn: roleArn,
  }
  const names = Object.keys(right)
  const rightOf = (name: string): string => right[name] ?? ''

  test.each(names)('%s admits the bound value, alone or in a list', async name => {
    for (const bound of [rightOf(name), `other, ${rightOf(name)}`, ['other', rightOf(name)]]) {
      const answer = await loginAs(mount, instance, { role: await roleWith({ [name]: bound }), nonce: 'n' })
      expect(answer.status, answer.text).toBe(200)
    }
  })

  test.each(names)('%s rejects other values, also parts of the bound value', async name => {
    const value = rightOf(name)
    for (const bound of ['other', value.slice(0, -1), `${value}x`, value.toUpperCase() + value]) {
      const role = await roleWith({ [name]: bound })
      const answer = await loginAs(mount, instance, { role, nonce: 'n' })
      expect([answer.status, errorsOf(answer)]).toEqual([
        400,
        `instance does not satisfy role "${role}": ${name}`,
      ])
    }
  })

  const wild = ['bound_iam_instance_profile_arn', 'bound_iam_role_arn']
  test.each(
    names.flatMap(name => {
      const value = rightOf(name)
      const half = Math.floor(value.length / 2)
      const prefix = wild.includes(name) ? 200 : 400
      return [
        [name, `${value.slice(0, -2)}*`, prefix],
        [name, `${value}*`, prefix],
        [name, `${value.slice(0, half)}*${value.slice(half + 1)}`, 400],
        [name, `*${value.slice(2)}`, 400],
        [name, `${value.slice(0, -2)}**`, 400],
        [name, `${value.slice(0, -1)}?`, 400],
      ] as const
    }),
  )('%s with the bound %s: %i (only a trailing * of an ARN is a wildcard)', async (name, pattern, status) => {
    const answer = await loginAs(mount, instance, { role: await roleWith({ [name]: pattern }), nonce: 'n' })
    expect(answer.status, answer.text).toBe(status)
  })

  test('every bound must match', async () => {
    const all = await roleWith(right)
    expect((await loginAs(mount, instance, { role: all, nonce: 'n' })).status).toBe(200)
    for (const name of names) {
      const role = await roleWith({ ...right, [name]: ['other'] })
      expect(errorsOf(await loginAs(mount, instance, { role, nonce: 'n' }))).toMatch(new RegExp(`${name}$`))
    }
  })

  test('the AMI is checked against EC2, not against the document', async () => {
    const role = await roleWith({ bound_ami_id: values.imageId })
    const changed = await launch({ ...values, instanceId: freshInstanceId() })
    const { rsa2048 } = await aws.documents(placeOf(changed))
    await aws.setInstance({ ...placeOf(changed), imageId: 'ami-other' })
    const answer = await api('POST', `${mount}/login`, { role, pkcs7: rsa2048, nonce: 'n' })
    expect(errorsOf(answer)).toMatch(/bound_ami_id$/)
  })

  test.each([
    ['bound_vpc_id', { vpcId: null }],
    ['bound_subnet_id', { subnetId: null }],
    ['bound_iam_instance_profile_arn', { instanceProfileArn: null }],
    ['bound_iam_role_arn', { instanceProfileArn: null }],
  ])('%s rejects an instance without that attribute, even with the bound "*"', async (name, none) => {
    const bare = await launch({ ...values, instanceId: freshInstanceId(), ...none })
    const role = await roleWith({ [name]: name.includes('iam') ? '*' : rightOf(name) })
    expect(errorsOf(await loginAs(mount, bare, { role }))).toMatch(new RegExp(`${name}$`))
  })

  test('an instance profile of the same name in another path has no role (CVE-2025-11621)', async () => {
    const instanceProfileArn = profileArn.replace('/web/', '/elsewhere/')
    const other = await launch({ ...values, instanceId: freshInstanceId(), instanceProfileArn })
    const role = await roleWith({ bound_iam_role_arn: `arn:aws:iam::${HOME.account}:role/*` })
    expect(errorsOf(await loginAs(mount, other, { role }))).toMatch(/bound_iam_role_arn$/)
  })

  test.each([
    ['no roles', []],
    ['two roles', [ROLE, 'cloud-auth-other']],
  ])('an instance profile with %s matches no bound role', async (_name, roles) => {
    await aws.putRole({ account: HOME.account, name: 'cloud-auth-other' })
    const profile = await aws.putInstanceProfile({ account: HOME.account, name: fresh('p'), roles })
    const instanceProfileArn = profile.arn
    const other = await launch({ ...values, instanceId: freshInstanceId(), instanceProfileArn })
    const role = await roleWith({ bound_iam_role_arn: '*' })
    expect(errorsOf(await loginAs(mount, other, { role }))).toMatch(/bound_iam_role_arn$/)
  })

  test.each(['pending', 'shutting-down', 'terminated', 'stopping', 'stopped'] as const)(
    'a %s instance cannot log in, and can log in only while the instance runs',
    async state => {
      const stopped = await launch({ state })
      const role = await roleWith({ bound_account_id: HOME.account })
      const answer = await loginAs(mount, stopped, { role, nonce: 'n' })
      expect([answer.status, errorsOf(answer)]).toEqual([
        400,
        `failed to verify the instance ${stopped.instanceId}: the instance is not running`,
      ])
      await aws.setInstance({ ...placeOf(stopped), state: 'running' })
      expect((await loginAs(mount, stopped, { role, nonce: 'n' })).status).toBe(200)
      await aws.setInstance({ ...placeOf(stopped), state })
      expect((await loginAs(mount, stopped, { role, nonce: 'n' })).status).toBe(400)
    },
  )

  test('a role of type iam is rejected', async () => {
    const role = fresh('r')
    const arn = `arn:aws:iam::${HOME.account}:role/${ROLE}`
    await done('POST', `${mount}/role/${role}`, {
      bound_iam_principal_arn: arn,
      resolve_aws_unique_ids: false,
    })
    const answer = await loginAs(mount, instance, { role, nonce: 'n' })
    expect([answer.status, errorsOf(answer)]).toEqual([400, `ec2 login is not allowed for role "${role}"`])
  })
})
