import { describe, expect, test } from 'vitest'
import { errorsOf, launch, loginAs, loginWith } from '../../support/requests/logins.ts'
import { pem } from '../../support/requests/things.ts'
import { whileHeld } from '../../support/requests/while-held.ts'
import type { Reply } from '../../support/service/api.ts'
import { api, aws, done, freshAccount, freshMount, localCertificate } from '../../support/service/cluster.ts'

/**
 * Creates a mount with a new account, so that tests delay only its calls, and a role for each type of login.
 */
async function ownWorld() {
  const account = freshAccount()
  await aws.putUser({ account, name: 'server' })
  const credentials = await aws.createAccessKey({ account, user: 'server' })
  const { path: mount, accessor } = await freshMount()
  const client = { access_key: credentials.accessKeyId, secret_key: credentials.secretAccessKey }
  await done('POST', `${mount}/config/client`, client)
  await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  const ec2 = { auth_type: 'ec2', bound_account_id: account, token_policies: 'old' }
  await done('POST', `${mount}/role/web`, ec2)
  const { arn } = await aws.putUser({ account, name: 'bob', path: '/team/' })
  const key = await aws.createAccessKey({ account, user: 'bob' })
  const iam = { bound_iam_principal_arn: arn, token_policies: 'old' }
  await done('POST', `${mount}/role/bob`, iam)
  await done('POST', `${mount}/role/batch`, { ...iam, token_type: 'batch' })
  await done('POST', `${mount}/role/wild`, { ...iam, bound_iam_principal_arn: arn.replace(/bob$/, '*') })
  return { account, mount, accessor, ec2, iam, key, instance: await launch({ account }) }
}
type World = Awaited<ReturnType<typeof ownWorld>>

const callOf = {
  web: ['ec2', 'DescribeInstances'],
  bob: ['sts', 'GetCallerIdentity'],
  batch: ['sts', 'GetCallerIdentity'],
  wild: ['iam', 'GetUser'],
} as const
type Role = keyof typeof callOf

const login = (world: World, role: Role): Promise<Reply> =>
  role === 'web'
    ? loginAs(world.mount, world.instance, { role, nonce: 'n' })
    : loginWith(world.mount, world.key, { role })

/**
 * Logs in, and makes a change while the login waits for its call to AWS. `before` runs earlier in the
 * same environment.
 */
async function meanwhile(
  role: Role,
  change: (world: World) => Promise<unknown>,
  before: (world: World) => Promise<unknown> = async () => undefined,
) {
  const world = await ownWorld()
  await before(world)
  const [service, action] = callOf[role]
  const held = { service, action, account: world.account }
  const reply = await whileHeld(
    held,
    () => login(world, role),
    () => change(world),
  )
  return { world, reply, outcome: `${reply.status} ${errorsOf(reply)}` }
}

const again = async (path: string, body: unknown) => {
  await done('DELETE', path)
  await done('POST', path, body)
}

describe.concurrent('a login applies changes that are made while the login waits for AWS', () => {
  test.each<Role>(['web', 'bob', 'batch', 'wild'])('a changed role: %s', async role => {
    const { reply } = await meanwhile(role, ({ mount }) =>
      done('POST', `${mount}/role/${role}`, { token_policies: 'new', token_ttl: 77 }),
    )
    expect(reply.body.auth).toMatchObject({ policies: ['default', 'new'], lease_duration: 77 })
  })

  test.each<Role>(['web', 'bob', 'batch', 'wild'])('a deleted role: %s', async role => {
    const { outcome } = await meanwhile(role, ({ mount }) => done('DELETE', `${mount}/role/${role}`))
    expect(outcome).toBe(`400 no role named "${role}"`)
  })

  test.each<Role>(['web', 'bob'])('a recreated role: %s', async role => {
    const { world, reply } = await meanwhile(role, ({ mount, ec2, iam }) =>
      again(`${mount}/role/${role}`, { ...(role === 'web' ? ec2 : iam), token_policies: 'second' }),
    )
    expect(reply.body.auth.policies).toEqual(['default', 'second'])
    const token = reply.body.auth.client_token
    expect((await api('POST', '/auth/token/renew-self', {}, { token })).status).toBe(200)
    expect((await login(world, role)).body.auth.entity_id).toBe(reply.body.auth.entity_id)
  })

  test.each<Role>(['web', 'bob', 'batch'])(
    'a role that now binds another principal or account: %s',
    async role => {
      const other = freshAccount()
      const { outcome } = await meanwhile(role, async ({ mount, ec2, iam }) => {
        const { arn } = await aws.putUser({ account: other, name: 'bob' })
        await again(
          `${mount}/role/${role}`,
          role === 'web'
            ? { ...ec2, bound_account_id: other }
            : { ...iam, bound_iam_principal_arn: arn, resolve_aws_unique_ids: false },
        )
      })
      expect(outcome).toMatch(/^400 (instance does not satisfy|principal is not bound)/)
    },
  )

  test.each([
    ['that this environment has not used', async () => undefined],
    ['that this environment has used', async (world: World) => login(world, 'web')],
  ])('a deleted certificate %s', async (_, before) => {
    const { outcome } = await meanwhile(
      'web',
      ({ mount }) => done('DELETE', `${mount}/config/certificate/local`),
      before,
    )
    expect(outcome).toMatch(/^400 the signature of the identity document could not be verified/)
  })

  test('a used certificate that was replaced under its name', async () => {
    const { outcome } = await meanwhile(
      'web',
      ({ mount }) => done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: pem.rsa }),
      world => login(world, 'web'),
    )
    expect(outcome).toMatch(/^400 the signature of the identity document could not be verified/)
  })

  test('the same certificate registered again under its name, after which the login succeeds', async () => {
    const { reply } = await meanwhile(
      'web',
      async ({ mount }) =>
        again(`${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() }),
      world => login(world, 'web'),
    )
    expect(reply.status, reply.text).toBe(200)
  })

  test('a new server ID header in the client configuration, which the login is checked against', async () => {
    const { outcome } = await meanwhile('bob', ({ mount }) =>
      done('POST', `${mount}/config/client`, { iam_server_id_header_value: 'here' }),
    )
    expect(outcome).toMatch(/^400 .*header/)
  })

  test.each<Role>(['web', 'bob'])(
    'another client configuration that still allows the login: AWS is called again: %s',
    async role => {
      const before = (await aws.calls({ since: 0 })).calls.at(-1)?.seq ?? 0
      const { world, reply } = await meanwhile(role, ({ mount }) =>
        done('POST', `${mount}/config/client`, { max_retries: 1 }),
      )
      expect(reply.status, reply.text).toBe(200)
      const by = `:${world.account}:user/${role === 'web' ? 'server' : 'team/bob'}`
      const { calls } = await aws.calls({ since: before })
      const asked = calls.filter(one => one.principalArn?.endsWith(by) && one.action === callOf[role][1])
      expect(asked).toHaveLength(2)
    },
  )

  test.each<Role>(['web', 'bob', 'batch'])('a disabled entity: %s', async role => {
    const { outcome } = await meanwhile(role, async world => {
      const { entity_id } = (await login(world, role)).body.auth
      await done('POST', `/identity/entity/id/${entity_id}`, { disabled: true })
    })
    expect(outcome).toBe('403 permission denied')
  })

  test.each<Role>(['web', 'bob', 'batch'])('a disabled mount: %s', async role => {
    const { reply } = await meanwhile(role, ({ mount }) =>
      done('DELETE', mount.replace('/auth', '/sys/auth')),
    )
    expect([400, 403]).toContain(reply.status)
  })

  test('a denied role tag', async () => {
    const { outcome } = await meanwhile('web', async ({ mount, account, instance }) => {
      await done('POST', `${mount}/role/web`, { role_tag: 'Tag' })
      const { body } = await done('POST', `${mount}/role/web/tag`)
      const { instanceId, region } = instance
      await aws.setInstance({ account, region, instanceId, tags: { Tag: body.data.tag_value } })
      await done('POST', `${mount}/roletag-denylist/${encodeURIComponent(body.data.tag_value)}`)
    })
    expect(outcome).toBe('400 role tag check failed: the tag is on the deny list')
  })
})
