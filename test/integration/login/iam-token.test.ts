import { beforeAll, describe, expect, test } from 'vitest'
import type { TestKey } from '../../provider/hand-signer.ts'
import { errorsOf, loginWith, satellite } from '../../support/requests/logins.ts'
import { aws, done, fresh, freshMount } from '../../support/service/cluster.ts'

describe('an iam login', () => {
  let mount = ''
  let accessor = ''
  let account = ''
  let user: { arn: string; userId: string }
  let role: { arn: string; roleId: string }
  let bob: TestKey
  let worker: TestKey & { arn: string }
  const bound = () => ({ bound_iam_principal_arn: [user.arn, role.arn], resolve_aws_unique_ids: true })
  const roleWith = async (values: object = {}) => {
    const name = fresh('r')
    await done('POST', `${mount}/role/${name}`, { ...bound(), ...values })
    return name
  }
  const aliasOf = async (entity: string) =>
    (await done('GET', `/identity/entity/id/${entity}`)).body.data.aliases[0]

  beforeAll(async () => {
    ;({ path: mount, accessor } = await freshMount())
    account = await satellite(mount)
    user = await aws.putUser({ account, name: 'bob', path: '/team/' })
    bob = await aws.createAccessKey({ account, user: 'bob' })
    role = await aws.putRole({ account, name: 'app', path: '/svc/' })
    worker = await aws.session({ account, role: 'app', session: 'a@b.example' })
  })

  test('returns and stores the token with all its settings', async () => {
    const name = await roleWith({ token_policies: 'Dev', token_ttl: 1800 })
    const { data: written } = (await done('GET', `${mount}/role/${name}`)).body
    const { body } = await loginWith(mount, bob, { role: name })
    expect(body.auth).toEqual({
      client_token: expect.stringMatching(/^hvs\.\w{24,}$/),
      accessor: expect.stringMatching(/^\w+$/),
      policies: ['default', 'dev'],
      token_policies: ['default', 'dev'],
      metadata: { role_id: written.role_id, account_id: account, auth_type: 'iam' },
      lease_duration: 1800,
      renewable: true,
      entity_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      token_type: 'service',
      orphan: true,
      mfa_requirement: null,
      num_uses: 0,
    })
    const { data } = (await done('POST', '/auth/token/lookup', { token: body.auth.client_token })).body
    expect(data).toMatchObject({
      path: `${mount.slice(1)}/login`,
      display_name: `${mount.split('/').at(-1)}-bob`,
      meta: body.auth.metadata,
      creation_ttl: 1800,
    })
  })

  test('of a session puts the session name into the display name', async () => {
    const { body } = await loginWith(mount, worker, { role: await roleWith() })
    const { data } = (await done('POST', '/auth/token/lookup', { token: body.auth.client_token })).body
    expect(data.display_name).toBe(`${mount.split('/').at(-1)}-app-a-b-example`)
  })

  test.each([
    ['token_ttl', { token_ttl: 600 }, { lease_duration: 600 }],
    ['token_max_ttl', { token_max_ttl: 500 }, { lease_duration: 500 }],
    ['token_explicit_max_ttl', { token_ttl: 900, token_explicit_max_ttl: 400 }, { lease_duration: 400 }],
    ['token_period', { token_period: 300 }, { lease_duration: 300 }],
    ['token_num_uses', { token_num_uses: 3 }, { num_uses: 3 }],
    ['token_no_default_policy', { token_no_default_policy: true, policies: 'x' }, { policies: ['x'] }],
    ['a batch token', { token_type: 'batch' }, { token_type: 'batch', accessor: '', renewable: false }],
  ])('gives the token the settings of its role: %s', async (_name, values, wanted) => {
    const { body } = await loginWith(mount, bob, { role: await roleWith(values) })
    expect(body.auth).toMatchObject(wanted)
  })

  test('creates the same alias, named after the role, for users and sessions', async () => {
    const name = await roleWith()
    const { auth } = (await loginWith(mount, bob, { role: name })).body
    const { data } = (await done('GET', `${mount}/role/${name}`)).body
    expect(await aliasOf(auth.entity_id)).toMatchObject({ name: data.role_id, mount_accessor: accessor })
    expect((await loginWith(mount, worker, { role: name })).body.auth.entity_id).toBe(auth.entity_id)
  })

  const kinds: [string, () => string, () => string][] = [
    ['unique_id', () => user.userId, () => role.roleId],
    ['canonical_arn', () => `arn:aws:iam::${account}:user/bob`, () => `arn:aws:iam::${account}:role/app`],
    ['full_arn', () => user.arn, () => worker.arn],
  ]
  test.each(kinds)('creates the alias by iam_alias: %s', async (kind, ofUser, ofSession) => {
    const { path } = await freshMount()
    await done('POST', `${path}/config/identity`, { iam_alias: kind })
    const sts_role = `arn:aws:iam::${account}:role/cloud-auth-reader`
    await done('POST', `${path}/config/sts/${account}`, { sts_role })
    for (const name of ['one', 'two']) await done('POST', `${path}/role/${name}`, bound())
    const entities = await Promise.all(
      [bob, worker].map(async key => {
        const [one, two] = [
          await loginWith(path, key, { role: 'one' }),
          await loginWith(path, key, { role: 'two' }),
        ]
        expect(one.body.auth.entity_id).toBe(two.body.auth.entity_id)
        return one.body.auth.entity_id as string
      }),
    )
    expect(await Promise.all(entities.map(async id => (await aliasOf(id)).name))).toEqual([
      ofUser(),
      ofSession(),
    ])
  })

  test.each([
    ['default', ['account_id', 'auth_type']],
    [[], []],
    ['', []],
    ['client_arn, canonical_arn,client_user_id', ['client_arn', 'canonical_arn', 'client_user_id']],
    [['inferred_entity_id', 'inferred_entity_type', 'inferred_aws_region', 'auth_type'], ['auth_type']],
  ])(
    'with iam_metadata %j stores these fields, if not empty, in the token and in the alias',
    async (selection, names) => {
      const { path } = await freshMount()
      await done('POST', `${path}/config/identity`, { iam_metadata: selection })
      const sts_role = `arn:aws:iam::${account}:role/cloud-auth-reader`
      await done('POST', `${path}/config/sts/${account}`, { sts_role })
      await done('POST', `${path}/role/one`, bound())
      const all: Record<string, string> = {
        account_id: account,
        auth_type: 'iam',
        client_arn: worker.arn,
        canonical_arn: `arn:aws:iam::${account}:role/app`,
        client_user_id: role.roleId,
      }
      const { auth } = (await loginWith(path, worker, { role: 'one' })).body
      const chosen = Object.fromEntries(names.map(name => [name, all[name]]))
      expect(auth.metadata).toEqual({ role_id: auth.metadata.role_id, ...chosen })
      expect((await aliasOf(auth.entity_id)).metadata).toEqual(chosen)
    },
  )

  test("adds the entity's policies without storing these policies in the token", async () => {
    const name = await roleWith({ token_policies: 'dev' })
    const { auth } = (await loginWith(mount, bob, { role: name })).body
    await done('POST', `/identity/entity/id/${auth.entity_id}`, { policies: ['Team'] })
    const again = (await loginWith(mount, bob, { role: name })).body.auth
    expect(again).toMatchObject({ token_policies: ['default', 'dev'], entity_id: auth.entity_id })
    expect(again.policies).toContain('team')
    const { data } = (await done('POST', '/auth/token/lookup', { token: again.client_token })).body
    expect(data.policies).toEqual(['default', 'dev'])
  })

  test('of a disabled entity is rejected', async () => {
    const name = await roleWith()
    const { auth } = (await loginWith(mount, bob, { role: name })).body
    await done('POST', `/identity/entity/id/${auth.entity_id}`, { disabled: true })
    const refused = await loginWith(mount, bob, { role: name })
    expect([refused.status, errorsOf(refused)]).toEqual([403, 'permission denied'])
  })

  test('at a mount of type aws returns that mount type', async () => {
    const { path } = await freshMount('aws')
    await done('POST', `${path}/role/one`, {
      bound_iam_principal_arn: `arn:aws:iam::${account}:user/bob`,
      resolve_aws_unique_ids: false,
    })
    expect((await loginWith(path, bob, { role: 'one' })).body.mount_type).toBe('aws')
  })
})
