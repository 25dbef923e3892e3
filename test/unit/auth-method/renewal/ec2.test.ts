import { describe, expect, test } from 'vitest'
import { defaultClientSettings } from '../../../../shared/auth-method/config/client-settings.ts'
import { renewLogin } from '../../../../shared/auth-method/renewal/renew.ts'
import type { Instance } from '../../../../shared/model/instance.ts'
import type { Role } from '../../../../shared/model/role.ts'
import type { LoginRecord } from '../../../../shared/model/token.ts'
import type { AwsTarget } from '../../../../shared/ports.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { accessItem, usualInstance } from '../../../builders/ec2-facts.ts'
import { ec2Role } from '../../../builders/roles.ts'
import { askAlways, callWith } from '../../../support/requests/call.ts'
import { item, plainCipher } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount } from '../../tokens/support.ts'

const accessor = 'auth_cloud_1'
const NOW = 1_000_000_000_000
const login: LoginRecord = {
  authType: 'ec2',
  role: 'dev',
  roleId: ec2Role().roleId,
  account: '111122223333',
  region: 'eu-west-1',
  instanceId: usualInstance.id,
  tagMaxTtl: 0,
}

interface World {
  role?: Role | undefined
  entry?: Item<'access'> | undefined
  instance?: Instance | undefined
  login?: Partial<LoginRecord>
  others?: Item[]
}

function renew(world: World = {}) {
  const { role = ec2Role(), entry = accessItem(), instance = usualInstance } = world
  const items = [
    ...('role' in world && !world.role ? [] : [item(key('role', accessor, 'dev'), role)]),
    ...('entry' in world && !world.entry ? [] : [entry]),
    ...(world.others ?? []),
  ]
  const asked: AwsTarget[] = []
  const call = callWith({
    now: NOW,
    ports: {
      ...memoryStore(items),
      cipher: plainCipher,
      instances: {
        describe: async (access: AwsTarget) => {
          asked.push(access)
          return 'instance' in world ? world.instance : instance
        },
      },
    },
  })
  const record = { ...login, ...world.login }
  return { asked, renewal: renewLogin(call, mount({ maxLeaseTtl: 1000 }), record, askAlways) }
}

const refusal = async (world: World) => {
  const error = await renew(world).renewal.catch((thrown: unknown) => thrown)
  return [(error as { code?: string }).code, (error as { reason?: { why: string } }).reason?.why]
}

describe('renewal of an ec2 login', () => {
  test.each<[string, World, string]>([
    ['a login without instance', { login: { instanceId: '' } }, 'login-unknown'],
    ['a login without region', { login: { region: '' } }, 'login-unknown'],
    ['a role that is gone', { role: undefined }, 'role-gone'],
    ['a role that was made again', { role: ec2Role({ roleId: 'another' }) }, 'role-recreated'],
    ['an entry that was deleted', { entry: undefined }, 'entry-gone'],
    [
      'the entry of a later login',
      { login: { entryCreatedAt: accessItem().data.createdAt - 1 } },
      'entry-recreated',
    ],
    ['an instance that is gone', { instance: undefined }, 'instance-not-running'],
    ['a stopped instance', { instance: { ...usualInstance, state: 'stopped' } }, 'instance-not-running'],
    ['another instance', { instance: { ...usualInstance, id: 'i-11111111' } }, 'instance-not-running'],
  ])('the renewal is denied: %s', async (_, world, why) => {
    expect(await refusal(world)).toEqual(['permission_denied', `renewal-${why}`])
  })

  test.each([
    ['the entry of its own login', { entryCreatedAt: accessItem().data.createdAt }],
    ['any entry, where the token does not remember its own', {}],
  ])('the renewal is allowed: %s', async (_, own) => {
    await expect(renew({ login: own }).renewal).resolves.toBeDefined()
  })

  test('bindings of the role are not checked again', async () => {
    const bound = { bound_ami_id: ['other'], bound_region: ['other'], bound_account_id: ['other'] }
    const role = ec2Role({ bound, roleTag: 'Gone', disallowReauthentication: true })
    await expect(renew({ role }).renewal).resolves.toMatchObject({ ttl: 0 })
  })

  test('an entry that is expired, of another role or closed to logins allows the renewal', async () => {
    const entry = accessItem({ expiresAt: 1, role: 'other', disallowReauthentication: true })
    await expect(renew({ entry }).renewal).resolves.toBeDefined()
  })

  test("the renewal uses the role's current TTLs", async () => {
    const role = ec2Role({ token: { ttl: 11, maxTtl: 600, period: 13 } })
    expect(await renew({ role }).renewal).toMatchObject({ ttl: 11, methodMax: 600, period: 13 })
  })

  test.each([
    [0, 0, 1000, 1000],
    [600, 0, 600, 1000],
    [0, 300, 300, 1000],
    [600, 7000, 600, 7000],
    [5000, 300, 300, 5000],
  ])(
    'role %i s, tag %i s, mount 1000 s: at most %i s, entry for %i s',
    async (maxTtl, tagMaxTtl, shortest, longest) => {
      const renewal = await renew({ role: ec2Role({ token: { maxTtl } }), login: { tagMaxTtl } }).renewal
      expect(renewal.methodMax).toBe(shortest)
      expect(renewal.changes).toMatchObject([{ data: { expiresAt: NOW + longest * 1000 } }])
    },
  )

  test('the access-list entry gets new times only, if the entry is unchanged since the read', async () => {
    const entry = accessItem({ role: 'first', pendingTime: 'x', createdAt: 5 })
    const { changes } = await renew({ entry }).renewal
    expect(changes).toEqual([
      {
        kind: 'put',
        key: entry,
        data: { ...entry.data, updatedAt: NOW, expiresAt: NOW + 1_000_000 },
        expected: { rev: 'r1' },
        times: { due: NOW / 1000 + 1000, ttl: NOW / 1000 + 1000 + 72 * 3600 + 86_400 },
      },
    ])
  })

  test('the entry has no DynamoDB TTL while periodic tidying is disabled', async () => {
    const settings = { safetyBuffer: 5, disablePeriodicTidy: true }
    const others = [item(key('tidy-settings', accessor, 'identity-accesslist'), settings)]
    expect((await renew({ others }).renewal).changes).toMatchObject([{ times: { due: NOW / 1000 + 1000 } }])
    expect((await renew({ others }).renewal).changes[0]).not.toHaveProperty('times.ttl')
  })

  test("EC2 is called in the login's region and account, with the account's STS role", async () => {
    const others = [
      item(key('sts-role', accessor, '111122223333'), {
        role: 'arn:aws:iam::111122223333:role/r',
        externalId: 'x',
      }),
      item(key('client-config', accessor), { ...defaultClientSettings, endpoint: 'https://ec2.example.com' }),
    ]
    const { asked, renewal } = renew({ others })
    await renewal
    expect(asked).toMatchObject([
      {
        account: '111122223333',
        region: 'eu-west-1',
        assume: { role: 'arn:aws:iam::111122223333:role/r', externalId: 'x' },
        client: { endpoint: 'https://ec2.example.com', version: 'r1' },
      },
    ])
  })
})
