import { describe, expect, test } from 'vitest'
import type { loginFields } from '../../../../shared/auth-method/login/fields.ts'
import { defaultIdentityConfig } from '../../../../shared/auth-method/login/metadata.ts'
import {
  addInstanceFacts,
  gatherEc2Facts,
  lookUpInstance,
} from '../../../../shared/auth-method/login-ec2/gather.ts'
import { renderRoleTag } from '../../../../shared/auth-method/role-tags/tag.ts'
import type { IdentityConfig } from '../../../../shared/model/config.ts'
import type { Role } from '../../../../shared/model/role.ts'
import type { AwsTarget } from '../../../../shared/ports.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { accessItem, documentOf, usualInstance, usualTag } from '../../../builders/ec2-facts.ts'
import { ec2Role } from '../../../builders/roles.ts'
import { askAlways, callWith, fetchedItems } from '../../../support/requests/call.ts'
import { encrypted, item, plainCipher } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount } from '../../tokens/support.ts'

const accessor = 'auth_cloud_1'
const AMI = 'ami-0123456789abcdef0'
const keyOf = (name: string) => encrypted('role', name, 'hmacKey', 'the key')

interface World {
  parameters?: Record<string, unknown>
  role?: Role
  at?: string
  imageId?: string
  identity?: IdentityConfig
  tags?: Record<string, string>
  others?: Item[]
}

function world({
  parameters = {},
  at = AMI,
  role = ec2Role(),
  imageId = AMI,
  identity,
  tags = {},
  others = [],
}: World) {
  const items: Item[] = [
    item(key('role', accessor, at), role),
    ...(identity ? [item(key('identity-config', accessor), identity)] : []),
    ...others,
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
          return { ...usualInstance, tags }
        },
      },
    },
  })
  return {
    asked,
    reads: prepared.reads,
    call,
    gathered: gatherEc2Facts(call, documentOf({ imageId }), 'fresh'),
  }
}
const factsOf = async (given: World) => (await world(given).gathered).facts

describe('the role of an ec2 login', () => {
  test.each<[string, World, string]>([
    ['that is given', { parameters: { role: 'dev' }, at: 'dev' }, 'dev'],
    ['named after the AMI', {}, AMI],
    ['named after the AMI, in lower case', { imageId: AMI.toUpperCase() }, AMI],
    ['named after the AMI when an empty one is given', { parameters: { role: '' } }, AMI],
  ])('%s', async (_, given, roleName) => {
    expect((await factsOf(given)).roleName).toBe(roleName)
  })

  test.each<[string, World]>([
    ['given, but not there', { parameters: { role: 'other' } }],
    ['not given, by a document without AMI', { imageId: '' }],
  ])('a login is rejected if its role is missing: %s', async (_, given) => {
    await expect(factsOf(given)).rejects.toThrow('no role named')
  })
})

test.each([
  ['role_id', ec2Role().roleId],
  ['instance_id', usualInstance.id],
  ['image_id', AMI],
] as const)('the alias by %s is %s', async (ec2Alias, name) => {
  expect((await factsOf({ identity: { ...defaultIdentityConfig, ec2Alias } })).aliasName).toBe(name)
})

test('one batch read fetches all items whose keys are known', async () => {
  const { reads, gathered } = world({})
  await gathered
  expect(reads[0]?.split(', ').map(read => read.split(' ')[0])).toEqual([
    'client-config',
    'identity-config',
    'role',
    'sts-role',
    'access',
    'tidy-settings',
  ])
  expect(reads.length).toBe(2)
})

test("the entry's nonce is decrypted, even if the entry has expired", async () => {
  const entry = accessItem({
    expiresAt: 1,
    clientNonce: encrypted('access', usualInstance.id, 'clientNonce', 'right'),
  })
  expect((await factsOf({ others: [entry] })).entryNonce?.reveal()).toBe('right')
  expect(await factsOf({ others: [accessItem()] })).not.toHaveProperty('entryNonce')
})

test('an empty nonce counts as sent, a missing nonce does not', async () => {
  expect(await factsOf({})).not.toHaveProperty('sentNonce')
  expect(await factsOf({ parameters: { nonce: '' } })).toMatchObject({ sentNonce: '' })
})

describe("the instance's role tag", () => {
  const role = ec2Role({ roleTag: 'Tag', hmacKey: keyOf(AMI) })
  const tag = { ...usualTag, role: AMI }
  const value = renderRoleTag(tag, new Secret('the key'))
  const forged = renderRoleTag(tag, new Secret('another key'))
  const seen = async (given: World) => {
    const { call, gathered, asked } = world({ role, ...given })
    const read = await gathered
    const facts = await addInstanceFacts(call, read, await lookUpInstance(call, read, askAlways))
    return { asked, tag: facts.tag }
  }

  test("the tag is read from EC2's answer, with one call", async () => {
    expect(await seen({ tags: { Tag: value, tag: forged } })).toEqual({
      asked: [`${usualInstance.id} in 111122223333 eu-west-1`],
      tag: { value, tag, genuine: true, denied: false },
    })
  })

  test.each<[string, World, unknown]>([
    ['of another key', { tags: { tag: value } }, { genuine: false, denied: false }],
    ['empty', { tags: { Tag: '' } }, { genuine: false, denied: false }],
    ['no role tag', { tags: { Tag: 'production' } }, { value: 'production', genuine: false, denied: false }],
    [
      'signed with another key',
      { tags: { Tag: forged } },
      { value: forged, tag, genuine: false, denied: false },
    ],
    [
      'denied, though the denial has expired',
      { tags: { Tag: value }, others: [item(key('deny', accessor, value), { createdAt: 0, expiresAt: 1 })] },
      { value, tag, genuine: true, denied: true },
    ],
  ])('%s', async (_, given, expected) => {
    expect((await seen(given)).tag).toEqual(expected)
  })

  test('a tag key such as constructor is missing unless the instance has that tag', async () => {
    const inherited = ec2Role({ roleTag: 'constructor', hmacKey: keyOf(AMI) })
    expect((await seen({ role: inherited })).tag).toEqual({ genuine: false, denied: false })
  })

  test('the tag is not read if the role uses no role tags', async () => {
    expect((await seen({ role: ec2Role(), tags: { '': value } })).tag).toBeUndefined()
  })
})
