import { beforeAll, describe, expect, test } from 'vitest'
import type { ResponseAuth } from '../../../shared/api/call.ts'
import {
  callWatch,
  errorsOf,
  type Launched,
  launch,
  loginWith,
  ownRoleKeyOf,
  placeOf,
  satellite,
  signedBy,
} from '../../support/requests/logins.ts'
import { refused, renew } from '../../support/requests/renewals.ts'
import { lookUp } from '../../support/requests/tokens.ts'
import { aws, done, fresh, freshAccount, freshMount } from '../../support/service/cluster.ts'
import { explained, fails } from './explained.ts'

const region = 'eu-west-1'
const NOT_ADMITTED = 'the role does not admit this kind of caller'

let mount = ''
let account = ''
let instance: Launched
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
  account = await satellite(mount)
  instance = await launch({ account, region })
})

/** Creates a role that admits instances with their own role. */
async function roleWith(values: object = {}): Promise<string> {
  const role = fresh('r')
  await done('POST', `${mount}/role/${role}`, {
    inferred_entity_type: 'ec2_instance',
    inferred_aws_region: region,
    bound_account_id: account,
    allow_instance_identity_role: true,
    ...values,
  })
  return role
}

const loginOf = async (named: Launched, role?: string) =>
  loginWith(mount, await ownRoleKeyOf(named), role === undefined ? {} : { role })

/** Logs an instance in that must be admitted. */
async function logIn(named: Launched, role: string): Promise<ResponseAuth> {
  const reply = await loginOf(named, role)
  expect([reply.status, errorsOf(reply)]).toEqual([200, ''])
  return reply.body.auth as ResponseAuth
}

describe("logins by an instance's own role", () => {
  test('an instance without a profile logs in, and its token names the instance', async () => {
    const { instanceId } = instance
    const { client_token } = await logIn(instance, await roleWith())
    expect((await lookUp(client_token)).display_name).toMatch(new RegExp(`-ec2-instance-${instanceId}$`))
  })

  test('the login asks STS and then EC2', async () => {
    const key = await ownRoleKeyOf(instance)
    const role = await roleWith()
    const calls = callWatch()
    await calls()
    expect((await loginWith(mount, key, { role })).status).toBe(200)
    expect((await calls()).map(({ action }) => action).filter(action => action !== 'AssumeRole')).toEqual([
      'GetCallerIdentity',
      'DescribeInstances',
    ])
  })

  test('two instances of an account are two entities', async () => {
    const { path } = await freshMount()
    const inAccount = await satellite(path)
    await done('POST', `${path}/config/identity`, { iam_alias: 'unique_id' })
    await done('POST', `${path}/role/own`, {
      inferred_entity_type: 'ec2_instance',
      inferred_aws_region: region,
      bound_account_id: inAccount,
      allow_instance_identity_role: true,
    })
    const entities = []
    for (let count = 0; count < 2; count += 1) {
      const key = await ownRoleKeyOf(await launch({ account: inAccount, region }))
      const reply = await loginWith(path, key, { role: 'own' })
      expect([reply.status, errorsOf(reply)]).toEqual([200, ''])
      entities.push(reply.body.auth.entity_id)
    }
    expect(new Set(entities).size).toBe(2)
  })

  test('the role must be named', async () => {
    const reply = await loginOf(instance)
    expect([reply.status, errorsOf(reply)]).toEqual([400, 'role is required for this kind of caller'])
  })

  test.each<[string, object]>([
    ['a role that infers instances', { allow_instance_identity_role: false }],
    [
      'a role with a wildcard for all principals of the account',
      {
        allow_instance_identity_role: false,
        inferred_entity_type: '',
        inferred_aws_region: '',
        bound_account_id: '',
        bound_iam_principal_arn: ['*', 'role/*'].map(end => `arn:aws:iam::111122223333:${end}`),
        resolve_aws_unique_ids: false,
      },
    ],
  ])('%s does not admit an instance', async (_, values) => {
    const text = JSON.stringify(values).replaceAll('111122223333', account)
    const reply = await loginOf(instance, await roleWith(JSON.parse(text)))
    expect([reply.status, errorsOf(reply)]).toEqual([400, NOT_ADMITTED])
  })

  test('a session that somebody named after the instance is not admitted', async () => {
    await aws.putRole({ account, name: 'app' })
    const key = await aws.session({ account, role: 'app', session: instance.instanceId })
    const reply = await loginWith(mount, key, { role: await roleWith() })
    expect([reply.status, errorsOf(reply)]).toEqual([400, NOT_ADMITTED])
  })

  test('the bounds of the role hold for the instance', async () => {
    const role = await roleWith({ bound_ami_id: 'ami-0123456789abcdef0' })
    const reply = await loginOf(instance, role)
    expect([reply.status, errorsOf(reply)]).toEqual([
      400,
      `instance does not satisfy role "${role}": bound_ami_id`,
    ])
  })

  test('an instance of an account that the mount cannot ask is refused', async () => {
    const elsewhere = await launch({ account: freshAccount(), region })
    const role = await roleWith({ bound_account_id: '', bound_region: region })
    expect((await loginOf(elsewhere, role)).status).toBe(400)
  })

  test('a stopped instance is refused', async () => {
    const other = await launch({ account, region })
    const key = await ownRoleKeyOf(other)
    await aws.setInstance({ ...placeOf(other), state: 'stopped' })
    expect(errorsOf(await loginWith(mount, key, { role: await roleWith() }))).toMatch(/is not running$/)
  })
})

test('an administrator reads the field only where it is set', async () => {
  const role = await roleWith()
  const read = async () => (await done('GET', `${mount}/role/${role}`)).body.data
  expect(await read()).toMatchObject({ allow_instance_identity_role: true })
  await done('POST', `${mount}/role/${role}`, { allow_instance_identity_role: false })
  expect(await read()).not.toHaveProperty('allow_instance_identity_role')
})

describe('renewal', () => {
  test('succeeds while the instance runs, and fails when it stops', async () => {
    const other = await launch({ account, region })
    const auth = await logIn(other, await roleWith())
    expect((await renew(auth)).status).toBe(200)
    await aws.setInstance({ ...placeOf(other), state: 'stopped' })
    await refused(auth)
  })

  test('fails when the role no longer admits instances', async () => {
    const role = await roleWith()
    const auth = await logIn(instance, role)
    await done('POST', `${mount}/role/${role}`, { allow_instance_identity_role: false })
    await refused(auth)
  })

  test('fails for the token of a session when the role admits only instances', async () => {
    const role = await roleWith({ allow_instance_identity_role: false })
    await aws.putRole({ account, name: 'app' })
    const key = await aws.session({ account, role: 'app', session: instance.instanceId })
    const { auth } = (await loginWith(mount, key, { role })).body
    expect((await renew(auth)).status).toBe(200)
    await done('POST', `${mount}/role/${role}`, { allow_instance_identity_role: true })
    await refused(auth)
  })
})

test('explain names the kind of the caller and what the role admits', async () => {
  const at = await explained()
  const named = await launch({ account: at.account, region })
  const body = signedBy(await ownRoleKeyOf(named))
  const inferring = { inferred_entity_type: 'ec2_instance', inferred_aws_region: region }
  const bound = { ...inferring, bound_account_id: at.account }
  const admits = await at.explain(await at.roleWith({ ...bound, allow_instance_identity_role: true }), body)
  expect([admits.login_would_succeed, fails(admits.checks)]).toEqual([true, []])
  const wild = { bound_iam_principal_arn: `arn:aws:iam::${at.account}:role/*`, resolve_aws_unique_ids: false }
  const refuses = await at.explain(await at.roleWith({ ...inferring, ...wild }), body)
  expect(refuses.login_would_succeed).toBe(false)
  expect(fails(refuses.checks)[0]).toEqual({
    check: 'allow_instance_identity_role',
    verdict: 'fail',
    seen: 'instance',
    wanted: 'principal',
    reason: 'instance-identity-role',
    message: NOT_ADMITTED,
  })
})
