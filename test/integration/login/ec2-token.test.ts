import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, HOME, launch, loginAs } from '../../support/requests/logins.ts'
import { done, fresh, freshMount, localCertificate } from '../../support/service/cluster.ts'

type Launched = Awaited<ReturnType<typeof launch>>

describe('an ec2 login', () => {
  let mount = ''
  let accessor = ''
  let instance: Launched
  const roleWith = async (values: object = {}, path = mount) => {
    const role = fresh('r')
    await done('POST', `${path}/role/${role}`, {
      auth_type: 'ec2',
      bound_account_id: HOME.account,
      ...values,
    })
    return role
  }
  const mountWith = async (type = 'cloud', config: Record<string, unknown> = {}) => {
    const made = await freshMount(type, config)
    await done('POST', `${made.path}/config/certificate/local`, {
      cloud_public_cert: await localCertificate(),
    })
    return made
  }
  const authOf = async (values: object, path = mount) => {
    const login = await loginAs(path, instance, { role: await roleWith(values, path), nonce: 'n' })
    expect(login.status, login.text).toBe(200)
    return login.body
  }
  const lookUp = async (token: string) =>
    (await done('POST', '/auth/token/lookup', { token })).body.data as Record<string, unknown>

  beforeAll(async () => {
    ;({ path: mount, accessor } = await mountWith())
    instance = await launch({ imageId: 'ami-1234567890' })
  })

  test('returns the token with all its settings and the header Cache-Control: no-store', async () => {
    const role = await roleWith({ token_policies: 'Dev, ops,dev' })
    const { headers, body } = await loginAs(mount, instance, { role: role.toUpperCase(), nonce: 'n' })
    expect(headers['cache-control']).toBe('no-store')
    expect(body).toMatchObject({
      data: null,
      wrap_info: null,
      warnings: null,
      lease_id: '',
      mount_type: 'cloud',
    })
    expect(body.auth).toEqual({
      client_token: expect.stringMatching(/^hvs\.\w{24,}$/),
      accessor: expect.stringMatching(/^\w+$/),
      policies: ['default', 'dev', 'ops'],
      token_policies: ['default', 'dev', 'ops'],
      metadata: { role, role_tag_max_ttl: '0s', account_id: HOME.account, auth_type: 'ec2' },
      lease_duration: 2_764_800,
      renewable: true,
      entity_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      token_type: 'service',
      orphan: true,
      mfa_requirement: null,
      num_uses: 0,
    })
  })

  test('stores the settings of the token, without the nonce', async () => {
    const role = await roleWith({ token_ttl: '30m', token_num_uses: 7, token_explicit_max_ttl: '2h' })
    const other = await launch()
    const { auth } = (await loginAs(mount, other, { role })).body
    expect(auth.metadata.nonce).toBeDefined()
    expect(await lookUp(auth.client_token)).toMatchObject({
      accessor: auth.accessor,
      type: 'service',
      path: `${mount.slice(1)}/login`,
      display_name: mount.split('/').at(-1),
      policies: ['default'],
      meta: { role, role_tag_max_ttl: '0s', account_id: HOME.account, auth_type: 'ec2' },
      entity_id: auth.entity_id,
      orphan: true,
      num_uses: 7,
      renewable: true,
      creation_ttl: 1800,
      explicit_max_ttl: 7200,
    })
  })

  test.each([
    ['token_ttl', { token_ttl: 600 }, { lease_duration: 600 }],
    ['token_max_ttl below the default', { token_max_ttl: 500 }, { lease_duration: 500 }],
    ['token_explicit_max_ttl', { token_ttl: 900, token_explicit_max_ttl: 400 }, { lease_duration: 400 }],
    ['token_period', { token_period: 300, token_ttl: 900 }, { lease_duration: 300 }],
    ['token_period above token_max_ttl', { token_period: 900, token_max_ttl: 300 }, { lease_duration: 300 }],
    ['token_num_uses', { token_num_uses: 3 }, { num_uses: 3 }],
    ['token_no_default_policy', { token_no_default_policy: true, token_policies: 'x' }, { policies: ['x'] }],
    ['no policies', { token_no_default_policy: true }, { policies: [] }],
    [
      'a batch token',
      { token_type: 'batch', token_ttl: 60 },
      { token_type: 'batch', accessor: '', renewable: false, lease_duration: 60 },
    ],
    ['a service token', { token_type: 'service' }, { token_type: 'service' }],
  ])('gives the token the settings of its role: %s', async (_name, values, wanted) => {
    expect((await authOf(values)).auth).toMatchObject(wanted)
  })

  test('warns when the login reduces a lifetime', async () => {
    const body = await authOf({ token_ttl: 900, token_explicit_max_ttl: 400 })
    expect(body.warnings).toEqual(['the lifetime (900 s) exceeds the maximum; it was reduced to 400 s'])
  })

  test.each([
    ['default_lease_ttl', { default_lease_ttl: '1h' }, {}, { lease_duration: 3600 }],
    [
      'max_lease_ttl above token_ttl',
      { max_lease_ttl: '2h' },
      { token_ttl: '1h', token_max_ttl: '9h' },
      { lease_duration: 3600 },
    ],
    [
      'max_lease_ttl below token_ttl',
      { max_lease_ttl: '2h', default_lease_ttl: '1h' },
      { token_ttl: '3h' },
      { lease_duration: 7200 },
    ],
    ['token_type over the role', { token_type: 'batch' }, { token_type: 'service' }, { token_type: 'batch' }],
    ['default token_type', { token_type: 'default-batch' }, {}, { token_type: 'batch' }],
    [
      'default token_type, overridden by the role',
      { token_type: 'default-batch' },
      { token_type: 'service' },
      { token_type: 'service' },
    ],
  ])('gives the token the settings of its mount: %s', async (_name, config, values, wanted) => {
    const { path } = await mountWith('cloud', config)
    expect((await authOf(values, path)).auth).toMatchObject(wanted)
  })

  test('is rejected when the mount issues batch tokens and the role wants a period or a use limit', async () => {
    const { path } = await mountWith('cloud', { token_type: 'batch' })
    for (const values of [{ token_num_uses: 2 }, { token_period: 60 }]) {
      const login = await loginAs(path, instance, { role: await roleWith(values, path), nonce: 'n' })
      expect([login.status, errorsOf(login)]).toEqual([
        400,
        'the role asks for a periodic or limited-use token, but the mount gives batch tokens',
      ])
      const { status } = await loginAs(path, instance, { role: await roleWith({}, path), nonce: 'fresh' })
      expect(status).toBe(200)
      await done('DELETE', `${path}/identity-accesslist/${instance.instanceId}`)
    }
  })

  test.each(['aws-ec2', 'cloud-ec2'])(
    'at a mount of type %s uses roles of type ec2 by default',
    async type => {
      const { path } = await mountWith(type)
      await done('POST', `${path}/role/web`, { bound_account_id: HOME.account })
      expect((await loginAs(path, instance, { role: 'web' })).status).toBe(200)
    },
  )

  test('is bound to the client addresses of its role, and the token is bound to the same addresses', async () => {
    const login = async (cidrs: string, from: string) =>
      loginAs(mount, instance, { role: await roleWith({ token_bound_cidrs: cidrs }), nonce: 'n' }).then(
        async reply => ({ reply, from }),
      )
    const { reply: inside } = await login('127.0.0.0/29, 10.0.0.0/8', '127.0.0.1')
    const { client_token: token } = inside.body.auth
    expect(await lookUp(token)).toMatchObject({ bound_cidrs: ['127.0.0.0/29', '10.0.0.0/8'] })
    await done('GET', '/auth/token/lookup-self', undefined, { token, from: '127.0.0.2' })
    await expect(
      done('GET', '/auth/token/lookup-self', undefined, { token, from: '127.0.0.77' }),
    ).rejects.toThrow(/403/)
    const { reply: outside } = await login('10.0.0.0/8', '127.0.0.1')
    expect([outside.status, errorsOf(outside)]).toEqual([403, 'permission denied'])
  })

  const aliasIn = async (entity: string) =>
    (await done('GET', `/identity/entity/id/${entity}`)).body.data.aliases[0]

  test.each([
    ['role_id', async (role: string) => (await done('GET', `${mount}/role/${role}`)).body.data.role_id],
    ['instance_id', async () => instance.instanceId],
    ['image_id', async () => 'ami-1234567890'],
  ])('creates the alias by ec2_alias: %s', async (kind, name) => {
    const { path } = { path: mount }
    await done('POST', `${path}/config/identity`, { ec2_alias: kind })
    const role = await roleWith()
    const { auth } = (await loginAs(path, instance, { role, nonce: 'n' })).body
    expect(await aliasIn(auth.entity_id)).toMatchObject({
      name: await name(role),
      mount_accessor: accessor,
      metadata: { account_id: HOME.account, auth_type: 'ec2' },
    })
    const again = (await loginAs(path, instance, { role, nonce: 'n' })).body.auth
    expect(again.entity_id).toBe(auth.entity_id)
    await done('POST', `${path}/config/identity`, { ec2_alias: 'role_id' })
  })

  test.each([
    ['default', { account_id: HOME.account, auth_type: 'ec2' }],
    [[], {}],
    ['', {}],
    [['instance_id', 'region', 'ami_id'], { instance_id: '', region: HOME.region, ami_id: 'ami-1234567890' }],
  ])('with ec2_metadata %j stores these fields in the token and in the alias', async (selection, wanted) => {
    const { path } = await mountWith()
    await done('POST', `${path}/config/identity`, { ec2_metadata: selection })
    const role = await roleWith({}, path)
    const { auth } = (await loginAs(path, instance, { role, nonce: 'n' })).body
    const chosen = 'instance_id' in wanted ? { ...wanted, instance_id: instance.instanceId } : wanted
    expect(auth.metadata).toEqual({ role, role_tag_max_ttl: '0s', ...chosen })
    expect((await aliasIn(auth.entity_id)).metadata).toEqual(chosen)
  })

  test('of a disabled entity is rejected and stores no access-list entry', async () => {
    const role = await roleWith()
    const first = await launch()
    const { auth } = (await loginAs(mount, first, { role })).body
    await done('POST', `/identity/entity/id/${auth.entity_id}`, { disabled: true })
    const second = await launch()
    const refused = await loginAs(mount, second, { role })
    expect([refused.status, errorsOf(refused)]).toEqual([403, 'permission denied'])
    await expect(done('GET', `${mount}/identity-accesslist/${second.instanceId}`)).rejects.toThrow(/404/)
  })
})
