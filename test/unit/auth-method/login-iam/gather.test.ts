import { describe, expect, test } from 'vitest'
import type { loginFields } from '../../../../shared/auth-method/login/fields.ts'
import { defaultIdentityConfig } from '../../../../shared/auth-method/login/metadata.ts'
import { gatherIamFacts, lookUpCaller } from '../../../../shared/auth-method/login-iam/gather.ts'
import type { VerifiedIdentity } from '../../../../shared/identity-proof/caller-identity.ts'
import type { IdentityConfig } from '../../../../shared/model/config.ts'
import type { Role } from '../../../../shared/model/role.ts'
import type { AwsTarget } from '../../../../shared/ports.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { usualInstance } from '../../../builders/ec2-facts.ts'
import { callerOf, instanceCaller, usualArn } from '../../../builders/iam-facts.ts'
import { iamRole, inferringRole } from '../../../builders/roles.ts'
import { askAlways, callWith, fetchedItems } from '../../../support/requests/call.ts'
import { item, plainCipher } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount } from '../../tokens/support.ts'

const accessor = 'auth_cloud_1'

interface World {
  caller?: VerifiedIdentity
  parameters?: Record<string, unknown>
  roles?: Record<string, Role>
  identity?: IdentityConfig
}

function world({
  caller = callerOf(usualArn),
  parameters = {},
  roles = { app: iamRole() },
  identity,
}: World = {}) {
  const items: Item[] = [
    ...Object.entries(roles).map(([name, role]) => item(key('role', accessor, name), role)),
    ...(identity ? [item(key('identity-config', accessor), identity)] : []),
  ]
  const prepared = memoryStore(items)
  const asked: string[] = []
  const call = callWith<typeof loginFields>({
    mount: mount({ maxLeaseTtl: 1000 }),
    parameters,
    fetched: fetchedItems(prepared.store),
    ports: {
      store: prepared.store,
      cipher: plainCipher,
      keyHints: new Map<string, string>(),
      clock: { now: () => 0, sleep: async () => undefined },
      instances: {
        describe: async ({ account, region }: AwsTarget, id: string) => {
          asked.push(`${id} in ${account} ${region}`)
          return usualInstance
        },
      },
      principals: {
        find: async ({ account, region }: AwsTarget, { type, name }: { type: string; name: string }) => {
          asked.push(`${type} ${name} in ${account} ${region}`)
          return { arn: 'arn:aws:iam::111122223333:role/team/app', uniqueId: 'AROAEXAMPLE' }
        },
      },
    },
  })
  return { asked, reads: prepared.reads, gathered: gatherIamFacts(call, caller), call }
}
const factsOf = async (given: World) => (await world(given).gathered).facts

describe('the role of an iam login', () => {
  const bob = callerOf('arn:aws:iam::111122223333:user/team/Bob', 'AIDAEXAMPLE')
  test.each<[string, World, string]>([
    ['that is given', { parameters: { role: 'dev' }, roles: { dev: iamRole() } }, 'dev'],
    ['named after the caller’s role', {}, 'app'],
    ['named after the user, in lower case', { caller: bob, roles: { bob: iamRole() } }, 'bob'],
    ['named after the caller when an empty one is given', { parameters: { role: '' } }, 'app'],
  ])('%s', async (_, given, roleName) => {
    expect((await factsOf(given)).roleName).toBe(roleName)
  })

  test.each<[string, World, string]>([
    ['given', { parameters: { role: 'other' } }, 'other'],
    ['named after the caller', { roles: {} }, 'app'],
  ])('a missing role is rejected with its name: %s', async (_, given, name) => {
    await expect(factsOf(given)).rejects.toThrow(`no role named "${name}"`)
  })
})

describe('the alias of an iam login', () => {
  test.each([
    ['role_id', iamRole().roleId],
    ['unique_id', 'AROAEXAMPLE'],
    ['canonical_arn', 'arn:aws:iam::111122223333:role/app'],
    ['full_arn', usualArn],
  ] as const)('%s: %s', async (iamAlias, name) => {
    expect((await factsOf({ identity: { ...defaultIdentityConfig, iamAlias } })).aliasName).toBe(name)
  })
})

describe('an instance with its own role', () => {
  const caller = instanceCaller(usualInstance.id)
  const given = { caller, parameters: { role: 'dev' }, roles: { dev: iamRole() } }

  test('the role must be named', async () => {
    await expect(factsOf({ caller, roles: { dev: iamRole() } })).rejects.toThrow(
      'role is required for this kind of caller',
    )
  })

  test.each([
    ['role_id', iamRole().roleId],
    ['unique_id', usualInstance.id],
    ['canonical_arn', caller.arn],
    ['full_arn', caller.arn],
  ] as const)('the alias %s is %s', async (iamAlias, name) => {
    const facts = await factsOf({ ...given, identity: { ...defaultIdentityConfig, iamAlias } })
    expect(facts.aliasName).toBe(name)
  })

  test('IAM is not asked, even if a role has a wildcard', async () => {
    const wild = { boundIamPrincipalIds: [], boundIamPrincipalArns: ['arn:aws:iam::111122223333:role/*'] }
    const { asked, gathered, call } = world({ ...given, roles: { dev: inferringRole(wild) } })
    const { fullArn, inferred } = await lookUpCaller(call, await gathered, askAlways)
    expect([asked, fullArn]).toEqual([[`${usualInstance.id} in 111122223333 eu-west-1`], undefined])
    expect(inferred).toMatchObject({ instanceId: usualInstance.id, account: '111122223333' })
  })
})

describe('calls to IAM and EC2', () => {
  const seen = async (role: Role) => {
    const { asked, gathered, call } = world({ roles: { app: role } })
    const facts = await lookUpCaller(call, await gathered, askAlways)
    return { asked, facts }
  }
  const wild = { boundIamPrincipalIds: [], boundIamPrincipalArns: ['arn:aws:iam::111122223333:role/team/*'] }

  test('no call is made if the unique ID is bound', async () => {
    expect((await seen(iamRole())).asked).toEqual([])
  })

  test("a wildcard asks IAM in the caller's account", async () => {
    const { asked, facts } = await seen(iamRole(wild))
    expect(asked).toEqual(['role app in 111122223333 us-east-1'])
    expect(facts.fullArn).toBe('arn:aws:iam::111122223333:role/team/app')
  })

  test("an inferred instance asks EC2 in the role's region and the caller's account", async () => {
    const { asked, facts } = await seen(inferringRole())
    expect(asked).toEqual([`${usualInstance.id} in 111122223333 eu-west-1`])
    expect(facts.inferred).toEqual({
      instance: usualInstance,
      instanceId: usualInstance.id,
      region: 'eu-west-1',
      account: '111122223333',
    })
  })
})
