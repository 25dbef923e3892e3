import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../../shared/api/errors.ts'
import { renewLogin } from '../../../../shared/auth-method/renewal/renew.ts'
import type { Instance } from '../../../../shared/model/instance.ts'
import type { Role } from '../../../../shared/model/role.ts'
import type { LoginRecord } from '../../../../shared/model/token.ts'
import type { AwsTarget, IamPrincipal } from '../../../../shared/ports.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { usualInstance } from '../../../builders/ec2-facts.ts'
import { iamRole, inferringRole } from '../../../builders/roles.ts'
import { askAlways, callWith } from '../../../support/requests/call.ts'
import { item, plainCipher } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount } from '../../tokens/support.ts'

const accessor = 'auth_cloud_1'
const APP = 'arn:aws:iam::111122223333:role/app'
const login: LoginRecord = {
  authType: 'iam',
  role: 'dev',
  roleId: iamRole().roleId,
  account: '111122223333',
  canonicalArn: APP,
  clientUserId: 'AROAEXAMPLE',
}

interface World {
  role?: Role | undefined
  login?: Partial<Record<keyof LoginRecord, string>>
  principal?: IamPrincipal | Error
  instance?: Instance | undefined
}

let names = 0
/** Runs a renewal. Each run has its own client configuration, so that caches of other runs do not apply. */
function renew(world: World = {}) {
  names += 1
  const config = {
    accessKey: '',
    endpoint: '',
    iamEndpoint: '',
    stsEndpoint: '',
    stsRegion: '',
    useStsRegionFromClient: false,
    serverId: '',
    allowedHeaders: [],
    maxRetries: -1,
  }
  const items = [
    item(key('client-config', accessor), config, `renewal ${names}`),
    ...('role' in world && !world.role ? [] : [item(key('role', accessor, 'dev'), world.role ?? iamRole())]),
  ]
  const asked: string[] = []
  const call = callWith({
    ports: {
      ...memoryStore(items),
      cipher: plainCipher,
      principals: {
        find: async (target: AwsTarget, entity: { type: string; name: string }) => {
          asked.push(`${entity.type} ${entity.name} in ${target.account} ${target.region}`)
          if (world.principal instanceof Error) throw world.principal
          return world.principal
        },
      },
      instances: {
        describe: async (target: AwsTarget, id: string) => {
          asked.push(`${id} in ${target.account} ${target.region}`)
          return 'instance' in world ? world.instance : usualInstance
        },
      },
    },
  })
  const record = { ...login, ...world.login } as LoginRecord
  return { asked, renewal: renewLogin(call, mount(), record, askAlways) }
}

const refusal = async (world: World) => {
  const error = await renew(world).renewal.catch((thrown: unknown) => thrown)
  return [(error as { code?: string }).code, (error as { reason?: { why: string } }).reason?.why]
}

const byName = iamRole({ resolveAwsUniqueIds: false, boundIamPrincipalIds: [] })
const wild = iamRole({
  boundIamPrincipalIds: [],
  boundIamPrincipalArns: ['arn:aws:iam::111122223333:role/team/*'],
})
const found: IamPrincipal = { arn: 'arn:aws:iam::111122223333:role/team/app', uniqueId: 'AROAEXAMPLE' }

describe('renewal of an iam login', () => {
  test('a bound unique ID allows the renewal without any AWS call', async () => {
    const { asked, renewal } = renew({ role: iamRole({ token: { ttl: 11, maxTtl: 12, period: 13 } }) })
    expect(await renewal).toEqual({ ttl: 11, methodMax: 12, period: 13, changes: [] })
    expect(asked).toEqual([])
  })

  test.each<[string, World]>([
    ['a bound name, unique IDs not resolved', { role: byName }],
    [
      'a role that binds no principal',
      { role: iamRole({ boundIamPrincipalArns: [], boundIamPrincipalIds: [] }) },
    ],
    ['a wildcard that the path fits', { role: wild, principal: found }],
    ['a name, for a token without unique ID', { role: byName, login: withoutId() }],
    [
      'a wildcard, for a token without unique ID',
      { role: wild, login: withoutId(), principal: { ...found, uniqueId: 'AROANEW' } },
    ],
  ])('the renewal is allowed: %s', async (_, world) => {
    await expect(renew(world).renewal).resolves.toMatchObject({ changes: [] })
  })

  test.each<[string, World, string]>([
    ['a login without ARN', { login: { canonicalArn: '' } }, 'login-unknown'],
    ['a login of an ARN that is none', { login: { canonicalArn: 'arn:aws:iam::1:role' } }, 'login-unknown'],
    ['a role that is gone', { role: undefined }, 'role-gone'],
    ['a role that was made again', { role: iamRole({ roleId: 'another' }) }, 'role-recreated'],
    [
      'a principal that is not bound any more',
      { role: iamRole({ boundIamPrincipalIds: ['AROAOTHER'] }) },
      'principal-not-bound',
    ],
    ['unique IDs, for a token without one', { login: withoutId() }, 'principal-not-bound'],
    [
      'a wildcard that the path does not fit',
      { role: wild, principal: { ...found, arn: APP } },
      'principal-not-bound',
    ],
    [
      'a wildcard and a principal made again',
      { role: wild, principal: { ...found, uniqueId: 'AROANEW' } },
      'principal-not-bound',
    ],
    ['a wildcard and a principal that is gone', { role: wild }, 'principal-not-bound'],
    [
      'a wildcard and a refusal of IAM',
      { role: wild, principal: new ApiError('invalid_request', 'no') },
      'principal-not-bound',
    ],
  ])('the renewal is denied: %s', async (_, world, why) => {
    expect(await refusal(world)).toEqual(['permission_denied', `renewal-${why}`])
  })

  test('an IAM fault is returned unchanged', async () => {
    const fault = new ApiError('provider_failed', 'IAM is down')
    await expect(renew({ role: wild, principal: fault }).renewal).rejects.toBe(fault)
  })

  test("IAM is called in the partition's region and the login's account", async () => {
    const china = { canonicalArn: APP.replace('aws', 'aws-cn') }
    const role = iamRole({
      boundIamPrincipalIds: [],
      boundIamPrincipalArns: ['arn:aws-cn:iam::111122223333:role/*'],
    })
    const { asked, renewal } = renew({ role, login: china, principal: { ...found, arn: china.canonicalArn } })
    await renewal
    expect(asked).toEqual(['role app in 111122223333 cn-north-1'])
  })
})

describe('renewal of a login with an inferred instance', () => {
  const recorded = { instanceId: usualInstance.id, region: 'us-east-1' }
  test('the instance must still run, in the region of the login', async () => {
    const role = inferringRole({ bound: { bound_ami_id: ['other'] }, inferredAwsRegion: 'eu-west-1' })
    const { asked, renewal } = renew({ role, login: recorded })
    await renewal
    expect(asked).toEqual([`${usualInstance.id} in 111122223333 us-east-1`])
  })

  test.each<[string, World, string]>([
    ['a token from before inferencing was switched on', {}, 'no-instance'],
    ['a token without region', { login: { instanceId: usualInstance.id } }, 'no-instance'],
    ['an instance that is gone', { login: recorded, instance: undefined }, 'instance-not-running'],
    [
      'a stopped instance',
      { login: recorded, instance: { ...usualInstance, state: 'stopped' } },
      'instance-not-running',
    ],
    [
      'another instance',
      { login: recorded, instance: { ...usualInstance, id: 'i-11111111' } },
      'instance-not-running',
    ],
  ])('the renewal with an inferred instance is denied: %s', async (_, world, why) => {
    expect(await refusal({ role: inferringRole(), ...world })).toEqual([
      'permission_denied',
      `renewal-${why}`,
    ])
  })

  test('a role that no longer infers instances makes no EC2 call', async () => {
    const { asked, renewal } = renew({ login: recorded, instance: undefined })
    await renewal
    expect(asked).toEqual([])
  })
})

describe('renewal of a login by an instance with its own role', () => {
  const none = { boundIamPrincipalArns: [], boundIamPrincipalIds: [] }
  const own: World['login'] = {
    caller: 'instance',
    canonicalArn: `arn:aws:sts::111122223333:assumed-role/aws:ec2-instance/${usualInstance.id}`,
    clientUserId: usualInstance.id,
    instanceId: usualInstance.id,
    region: 'eu-west-1',
  }
  const role = inferringRole({ ...none, allowInstanceIdentityRole: true })

  test('the renewal asks EC2 for the instance and never asks IAM', async () => {
    const { asked, renewal } = renew({ role, login: own })
    await renewal
    expect(asked).toEqual([`${usualInstance.id} in 111122223333 eu-west-1`])
  })

  test.each<[string, World, string]>([
    ['the instance is gone', { instance: undefined }, 'instance-not-running'],
    ['the instance stopped', { instance: { ...usualInstance, state: 'stopped' } }, 'instance-not-running'],
    ['the role lost the field', { role: inferringRole(none) }, 'instance-identity-role'],
    [
      'the role admits all roles of the account instead',
      { role: wild, principal: found },
      'instance-identity-role',
    ],
    ['the role was made again', { role: { ...role, roleId: 'another' } }, 'role-recreated'],
    ['the role is gone', { role: undefined }, 'role-gone'],
    ['the token belongs to a session', { login: { ...own, ...session() } }, 'instance-identity-role'],
  ])('denied: %s', async (_, world, why) => {
    expect(await refusal({ role, login: own, ...world })).toEqual(['permission_denied', `renewal-${why}`])
  })
})

function session() {
  return { caller: undefined as unknown as string, canonicalArn: APP }
}

function withoutId() {
  return { clientUserId: undefined as unknown as string }
}
