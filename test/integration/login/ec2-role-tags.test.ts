import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, HOME, launch, loginAs, placeOf, restart } from '../../support/requests/logins.ts'
import {
  aws,
  done,
  fresh,
  freshInstanceId,
  freshMount,
  localCertificate,
} from '../../support/service/cluster.ts'

const failed = (why: string): string => `role tag check failed: ${why}`
const DENIED = failed('the tag is on the deny list')
const NO_TAG = failed('the tag’s value is not a role tag')

describe('ec2 login with role tags', () => {
  let mount = ''
  const roleWith = async (values: object = {}) => {
    const role = fresh('r')
    await done('POST', `${mount}/role/${role}`, {
      auth_type: 'ec2',
      bound_account_id: HOME.account,
      role_tag: 'CloudRole',
      token_policies: 'one,two,Three',
      token_ttl: 7200,
      ...values,
    })
    return role
  }
  const tagOf = async (role: string, values: object = {}): Promise<string> =>
    (await done('POST', `${mount}/role/${role}/tag`, values)).body.data.tag_value
  const tagged = (value: string, values: object = {}) => launch({ tags: { CloudRole: value }, ...values })

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  })

  test.each([
    ['no policies: those of the role', {}, ['default', 'one', 'three', 'two']],
    ['some', { policies: 'two' }, ['default', 'two']],
    [
      'all policies, in other letter case',
      { policies: ['ONE', 'three', 'Two'] },
      ['default', 'one', 'three', 'two'],
    ],
    ['default', { policies: 'default' }, ['default']],
    ['none', { policies: [] }, ['default']],
  ])('a tag with %s gives the login these policies', async (_name, values, policies) => {
    const role = await roleWith()
    const login = await loginAs(mount, await tagged(await tagOf(role, values)), { role })
    expect(login.body.auth.policies).toEqual(policies)
  })

  test.each([
    ['it shortens the lifetime', { max_ttl: 600 }, {}, 600, '10m0s'],
    ['a longer one does not extend the lifetime', { max_ttl: '1000h' }, {}, 7200, '1000h0m0s'],
    [
      'the shorter token_max_ttl of the role applies too',
      { max_ttl: 6000 },
      { token_max_ttl: 3000, token_ttl: 3000 },
      3000,
      '1h40m0s',
    ],
    ['it shortens a period', { max_ttl: 600 }, { token_period: 3600 }, 600, '10m0s'],
    ['without it the role decides', {}, {}, 7200, '0s'],
  ])('max_ttl of a tag: %s', async (_name, tag, values, seconds, text) => {
    const role = await roleWith(values)
    const { body } = await loginAs(mount, await tagged(await tagOf(role, tag)), { role })
    expect(body.auth.lease_duration).toBe(seconds)
    expect(body.auth.metadata.role_tag_max_ttl).toBe(text)
  })

  test('the access-list entry lasts as long as the longest maximum of tag, role and mount', async () => {
    const role = await roleWith()
    const instance = await tagged(await tagOf(role, { max_ttl: '1000h' }))
    await loginAs(mount, instance, { role })
    const { data } = (await done('GET', `${mount}/identity-accesslist/${instance.instanceId}`)).body
    expect(Date.parse(data.expiration_time) - Date.parse(data.last_updated_time)).toBe(3_600_000_000)
  })

  test('a tag for one instance is rejected for another instance', async () => {
    const role = await roleWith()
    const instanceId = freshInstanceId()
    const value = await tagOf(role, { instance_id: instanceId.toUpperCase() })
    expect((await loginAs(mount, await tagged(value, { instanceId }), { role })).status).toBe(200)
    const other = await loginAs(mount, await tagged(value), { role })
    expect(errorsOf(other)).toBe(failed('the tag is for another instance'))
  })

  test('a tag that disallows reauthentication returns and stores no nonce', async () => {
    const role = await roleWith()
    const instance = await tagged(await tagOf(role, { disallow_reauthentication: true }))
    const { body } = await loginAs(mount, instance, { role, nonce: 'x'.repeat(200) })
    expect(body.auth.metadata).not.toHaveProperty('nonce')
    const { data } = (await done('GET', `${mount}/identity-accesslist/${instance.instanceId}`)).body
    expect(data).toMatchObject({ client_nonce: '', disallow_reauthentication: true })
    expect(errorsOf(await loginAs(mount, instance, { role, nonce: 'x'.repeat(200) }))).toBe(
      'repeat login is disabled for this instance',
    )
  })

  test('a tag with allow_instance_migration does not override the role', async () => {
    const role = await roleWith()
    const instance = await tagged(await tagOf(role, { allow_instance_migration: true }))
    await loginAs(mount, instance, { role, nonce: 'old' })
    const moved = await loginAs(mount, await restart(instance), { role, nonce: 'new' })
    expect(errorsOf(moved)).toBe('nonce does not match')
  })

  test('a login checks the nonce before the tag', async () => {
    const role = await roleWith()
    const instance = await tagged(await tagOf(role))
    await loginAs(mount, instance, { role, nonce: 'right' })
    await aws.setInstance({ ...placeOf(instance), tags: {} })
    expect(errorsOf(await loginAs(mount, instance, { role, nonce: 'wrong' }))).toBe('nonce does not match')
    expect(errorsOf(await loginAs(mount, instance, { role, nonce: 'right' }))).toBe(
      failed('the instance does not carry the role’s tag'),
    )
  })

  test('a changed tag applies from the next login on', async () => {
    const role = await roleWith()
    const instance = await tagged(await tagOf(role, { policies: 'one' }))
    await loginAs(mount, instance, { role, nonce: 'n' })
    const tags = { CloudRole: await tagOf(role, { policies: 'two' }) }
    await aws.setInstance({ ...placeOf(instance), tags })
    const { body } = await loginAs(mount, instance, { role, nonce: 'n' })
    expect(body.auth.policies).toEqual(['default', 'two'])
  })

  test.each([
    ['no tag', {}],
    ['an empty tag', { CloudRole: '' }],
    ['a tag key in other letter case', { cloudrole: 'v1' }],
    ['a tag named __proto__', { ['__proto__']: 'v1' }],
  ])('an instance with %s is rejected', async (_name, tags) => {
    const role = await roleWith()
    const login = await loginAs(mount, await launch({ tags }), { role })
    expect([login.status, errorsOf(login)]).toEqual([
      400,
      failed('the instance does not carry the role’s tag'),
    ])
  })

  const changes: [string, (tag: string) => string, string][] = [
    ['its last character', tag => `${tag.slice(0, -2)}${tag.at(-2) === 'A' ? 'B' : 'A'}=`, ''],
    ['its role', tag => tag.replace(/r=[^:]+/, 'r=other'), failed('the tag is for another role')],
    ['its policies', tag => tag.replace('p=one', 'p=two'), failed('the tag was not made for this role')],
    ['its lifetime', tag => tag.replace('t=300', 't=301'), failed('the tag was not made for this role')],
    ['d=F for d=false', tag => tag.replace('d=false', 'd=F'), NO_TAG],
    ['t=0300 for t=300', tag => tag.replace('t=300', 't=0300'), NO_TAG],
    ['the order of its fields', tag => tag.replace(/(d=\w+):(m=\w+)/, '$2:$1'), NO_TAG],
    ['a repeated field', tag => tag.replace('m=false', 'm=false:m=false'), NO_TAG],
    ['an additional field', tag => tag.replace('m=false', 'm=false:x=1'), NO_TAG],
    ['its version', tag => tag.replace('v1', 'v2'), NO_TAG],
    ['a leading space', tag => ` ${tag}`, NO_TAG],
    ['words', () => 'admin', NO_TAG],
  ]
  test.each(changes)('a tag with a change is rejected: %s', async (_name, change, text) => {
    const role = await roleWith()
    const tag = await tagOf(role, { policies: 'one', max_ttl: 300 })
    expect(change(tag)).not.toBe(tag)
    const login = await loginAs(mount, await tagged(change(tag)), { role })
    expect(login.status).toBe(400)
    expect(errorsOf(login)).toMatch(/^role tag check failed: /)
    if (text !== '') expect(errorsOf(login)).toBe(text)
  })

  test('a tag of another role is rejected, also of a deleted role with the same name', async () => {
    const [role, other] = [await roleWith(), await roleWith()]
    const instance = await tagged(await tagOf(other))
    expect(errorsOf(await loginAs(mount, instance, { role }))).toBe(failed('the tag is for another role'))
    const tag = await tagOf(role)
    await done('DELETE', `${mount}/role/${role}`)
    await done('POST', `${mount}/role/${role}`, {
      auth_type: 'ec2',
      bound_account_id: HOME.account,
      role_tag: 'CloudRole',
    })
    const again = await loginAs(mount, await tagged(tag), { role })
    expect(errorsOf(again)).toBe(failed('the tag was not made for this role'))
  })

  test('a tag with policies that the role no longer has is rejected', async () => {
    const role = await roleWith()
    const instance = await tagged(await tagOf(role, { policies: 'two' }))
    await done('POST', `${mount}/role/${role}`, { token_policies: 'one' })
    expect(errorsOf(await loginAs(mount, instance, { role }))).toBe(
      failed('the tag’s policies are not a subset of the role’s'),
    )
  })

  test('a role tag cannot grant the policy `default` when the role excludes `default`', async () => {
    const role = await roleWith({ token_no_default_policy: true })
    for (const policies of [[], ['default']]) {
      await expect(tagOf(role, { policies })).rejects.toThrow(/400 .*must be a subset/)
    }
    const { body } = await loginAs(mount, await tagged(await tagOf(role, { policies: 'one' })), { role })
    expect(body.auth.policies).toEqual(['one'])
  })

  test('a denied tag is rejected until its denial is deleted, and existing tokens stay valid', async () => {
    const role = await roleWith()
    const tag = await tagOf(role)
    const instance = await tagged(tag)
    const { auth } = (await loginAs(mount, instance, { role, nonce: 'n' })).body
    const path = `${mount}/roletag-denylist/${encodeURIComponent(Buffer.from(tag).toString('base64'))}`
    await done('POST', path)
    const refused = await loginAs(mount, instance, { role, nonce: 'n' })
    expect([refused.status, errorsOf(refused)]).toEqual([400, DENIED])
    expect(errorsOf(await loginAs(mount, await tagged(tag), { role }))).toBe(DENIED)
    await done('GET', '/auth/token/lookup-self', undefined, { token: auth.client_token })
    expect((await loginAs(mount, await tagged(await tagOf(role)), { role })).status).toBe(200)
    await done('DELETE', path)
    expect((await loginAs(mount, instance, { role, nonce: 'n' })).status).toBe(200)
  })

  test('a role without role_tag ignores tags', async () => {
    const role = await roleWith({ role_tag: '' })
    expect((await loginAs(mount, await tagged('words'), { role })).status).toBe(200)
  })
})
