import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, launch, loginWith, placeOf, satellite } from '../../support/requests/logins.ts'
import { aws, done, fresh, freshAccount, freshInstanceId, freshMount } from '../../support/service/cluster.ts'

type Launched = Awaited<ReturnType<typeof launch>>

describe('iam logins that infer an EC2 instance', () => {
  const region = 'eu-west-1'
  let mount = ''
  let account = ''
  let profileArn = ''
  let instance: Launched
  const roleWith = async (values: object = {}) => {
    const role = fresh('r')
    await done('POST', `${mount}/role/${role}`, {
      inferred_entity_type: 'ec2_instance',
      inferred_aws_region: region,
      bound_account_id: account,
      ...values,
    })
    return role
  }
  const login = async (session: string, role: string, of = account) =>
    loginWith(mount, await aws.session({ account: of, role: 'app', session }), { role })
  const started = (values: object = {}) =>
    launch({ account, region, instanceProfileArn: profileArn, ...values })

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    account = await satellite(mount)
    await aws.putRole({ account, name: 'app', path: '/svc/' })
    profileArn = (await aws.putInstanceProfile({ account, name: 'app', path: '/svc/', roles: ['app'] })).arn
    instance = await started({ imageId: 'ami-1', vpcId: 'vpc-1', subnetId: 'subnet-1' })
  })

  test('a session named after a running instance is accepted', async () => {
    await done('POST', `${mount}/config/identity`, {
      iam_metadata: 'inferred_entity_id,inferred_entity_type,inferred_aws_region,account_id',
    })
    const { body } = await login(instance.instanceId, await roleWith())
    expect(body.auth.metadata).toMatchObject({
      account_id: account,
      inferred_entity_id: instance.instanceId,
      inferred_entity_type: 'ec2_instance',
      inferred_aws_region: region,
    })
  })

  test.each([
    ['a word', 'worker'],
    ['an instance ID in upper case', 'I-0123456789ABCDEF0'],
    ['an instance ID with a suffix', 'i-0123456789abcdef0.x'],
    ['a short instance ID', 'i-0123'],
  ])('a session named after %s is rejected', async (_name, session) => {
    const answer = await login(session, await roleWith())
    expect([answer.status, errorsOf(answer)]).toEqual([
      400,
      'the name of the caller’s session is not an instance ID: no instance can be inferred',
    ])
  })

  test('an IAM user is rejected, because a user has no session', async () => {
    await aws.putUser({ account, name: 'bob' })
    const key = await aws.createAccessKey({ account, user: 'bob' })
    const answer = await loginWith(mount, key, { role: await roleWith() })
    expect(errorsOf(answer)).toMatch(/no instance can be inferred$/)
  })

  test('an instance that is unknown, or in another region or account, is rejected', async () => {
    const role = await roleWith()
    const unknown = freshInstanceId()
    const elsewhere = await launch({ account, region: 'us-east-1' })
    const foreign = await launch({ region })
    for (const id of [unknown, elsewhere.instanceId, foreign.instanceId]) {
      const answer = await login(id, role)
      expect([answer.status, errorsOf(answer)]).toEqual([
        400,
        `failed to verify the instance ${id}: EC2 knows no such instance`,
      ])
    }
  }, 30_000)

  test.each(['pending', 'stopped', 'terminated'] as const)(
    'a %s instance is rejected, and accepted once the instance runs',
    async state => {
      const other = await started({ state })
      const role = await roleWith()
      expect(errorsOf(await login(other.instanceId, role))).toMatch(/the instance is not running$/)
      await aws.setInstance({ ...placeOf(other), state: 'running' })
      expect((await login(other.instanceId, role)).status).toBe(200)
    },
  )

  const bindings = (): [string, string][] => [
    ['bound_ec2_instance_id', instance.instanceId],
    ['bound_account_id', account],
    ['bound_ami_id', 'ami-1'],
    ['bound_subnet_id', 'subnet-1'],
    ['bound_vpc_id', 'vpc-1'],
    ['bound_region', region],
    ['bound_iam_instance_profile_arn', `${profileArn.slice(0, -1)}*`],
    ['bound_iam_role_arn', `arn:aws:iam::${account}:role/svc/*`],
  ]
  test.each([0, 1, 2, 3, 4, 5, 6, 7])('bound %$ of the eight bounds of a role is checked', async index => {
    const [name, right] = bindings()[index] ?? ['', '']
    expect((await login(instance.instanceId, await roleWith({ [name]: right }))).status).toBe(200)
    const role = await roleWith({ [name]: 'other' })
    const answer = await login(instance.instanceId, role)
    expect([answer.status, errorsOf(answer)]).toEqual([
      400,
      `instance does not satisfy role "${role}": ${name}`,
    ])
  })

  test('principal and instance must both match', async () => {
    const bound_iam_principal_arn = `arn:aws:iam::${account}:role/svc/app`
    const both = await roleWith({ bound_iam_principal_arn, bound_ami_id: 'ami-1' })
    expect((await login(instance.instanceId, both)).status).toBe(200)
    const wrongImage = await roleWith({ bound_iam_principal_arn, bound_ami_id: 'ami-2' })
    expect(errorsOf(await login(instance.instanceId, wrongImage))).toMatch(/bound_ami_id$/)
    const wrongPrincipal = await roleWith({
      bound_iam_principal_arn: `arn:aws:iam::${account}:role/other/*`,
      bound_ami_id: 'ami-1',
    })
    expect(errorsOf(await login(instance.instanceId, wrongPrincipal))).toBe(
      `principal is not bound to role "${wrongPrincipal}"`,
    )
  })

  test('an instance of an account without an STS role is rejected', async () => {
    const foreign = freshAccount()
    await aws.putRole({ account: foreign, name: 'app' })
    const { instanceId } = await launch({ account: foreign, region })
    const answer = await login(instanceId, await roleWith({ bound_account_id: foreign }), foreign)
    expect([answer.status, errorsOf(answer)]).toEqual([
      400,
      `failed to verify the instance ${instanceId}: no STS role is configured for account ${foreign}`,
    ])
  })

  test('no access-list entry is stored, and nonces are ignored', async () => {
    const key = await aws.session({ account, role: 'app', session: instance.instanceId })
    const role = await roleWith()
    for (const nonce of ['one', 'two', '']) {
      expect((await loginWith(mount, key, { role, nonce })).status).toBe(200)
    }
    await expect(done('GET', `${mount}/identity-accesslist?list=true`)).rejects.toThrow(/404/)
  })

  test('a session may name any instance of its account unless the role binds the principal', async () => {
    await aws.putRole({ account, name: 'other' })
    const victim = await started()
    const as = (role: string) =>
      aws
        .session({ account, role: 'other', session: victim.instanceId })
        .then(key => loginWith(mount, key, { role }))
    expect((await as(await roleWith())).status).toBe(200)
    const bound = await roleWith({ bound_iam_principal_arn: `arn:aws:iam::${account}:role/svc/app` })
    expect((await as(bound)).status).toBe(400)
  })
})
