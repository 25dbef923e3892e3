import { beforeAll, describe, expect, test } from 'vitest'
import type { ResponseAuth } from '../../../shared/api/call.ts'
import { HOME, launch, loginAs, loginWith } from '../../support/requests/logins.ts'
import { lives } from '../../support/requests/tokens.ts'
import { workerOn } from '../../support/requests/workers.ts'
import { api, aws, done, fresh, freshMount, localCertificate } from '../../support/service/cluster.ts'

const aliasOf = async (auth: ResponseAuth) =>
  (await done('GET', `/identity/entity/id/${auth.entity_id}`)).body.data.aliases[0]

async function mountWith(identity: Record<string, unknown> = {}) {
  const mount = await freshMount()
  await done('POST', `${mount.path}/config/certificate/local`, {
    cloud_public_cert: await localCertificate(),
  })
  await done('POST', `${mount.path}/config/identity`, identity)
  return mount
}

async function iamLogin(
  path: string,
  session = 'job-1',
): Promise<{ auth: ResponseAuth; name: string; id: string }> {
  const name = fresh('app')
  const { arn } = await aws.putRole({ account: HOME.account, name, path: '/teams/' })
  await done('POST', `${path}/role/${name}`, { bound_iam_principal_arn: arn })
  const { body: role } = await done('GET', `${path}/role/${name}`)
  const keys = await aws.session({ account: HOME.account, role: name, session })
  const { body } = await loginWith(path, keys, { role: name })
  return { auth: body.auth, name, id: role.data.bound_iam_principal_id[0] }
}

describe('names of aliases', () => {
  test.each<[string, (login: { auth: ResponseAuth; name: string; id: string }) => unknown]>([
    ['role_id', ({ auth }) => auth.metadata?.['role_id']],
    ['unique_id', ({ id }) => id],
    ['canonical_arn', ({ name }) => `arn:aws:iam::${HOME.account}:role/${name}`],
    ['full_arn', ({ name }) => `arn:aws:sts::${HOME.account}:assumed-role/${name}/job-1`],
  ])('are the %s when iam_alias says so', async (kind, expected) => {
    const { path } = await mountWith({ iam_alias: kind })
    const login = await iamLogin(path)
    expect((await aliasOf(login.auth)).name).toBe(expected(login))
  })

  test.each(['role_id', 'instance_id', 'image_id'] as const)(
    'are the %s when ec2_alias says so',
    async kind => {
      const { path } = await mountWith({ ec2_alias: kind })
      const role = fresh('role')
      await done('POST', `${path}/role/${role}`, { auth_type: 'ec2', bound_region: HOME.region })
      const { body } = await done('GET', `${path}/role/${role}`)
      const instance = await launch()
      const login = await loginAs(path, instance, { role })
      const names = {
        role_id: body.data.role_id,
        instance_id: instance.instanceId,
        image_id: instance.imageId,
      }
      expect((await aliasOf(login.body.auth)).name).toBe(names[kind])
    },
  )

  test('two roles of a principal are two entities with iam_alias role_id, and one entity with iam_alias unique_id', async () => {
    for (const [kind, count] of [
      ['role_id', 2],
      ['unique_id', 1],
    ] as const) {
      const { path } = await mountWith({ iam_alias: kind })
      const first = await workerOn(path)
      const other = fresh('other')
      await done('POST', `${path}/role/${other}`, {
        bound_iam_principal_arn: first.arn,
        resolve_aws_unique_ids: false,
      })
      const ids = [(await first.login()).entity_id, (await first.login({ role: other })).entity_id]
      expect(new Set(ids).size, kind).toBe(count)
    }
  })

  test('with full_arn each session is its own entity', async () => {
    const { path } = await mountWith({ iam_alias: 'full_arn' })
    const name = fresh('app')
    const { arn } = await aws.putRole({ account: HOME.account, name })
    await done('POST', `${path}/role/${name}`, { bound_iam_principal_arn: arn })
    const ids = []
    for (const session of ['one', 'two', 'one', 'ONE']) {
      const keys = await aws.session({ account: HOME.account, role: name, session })
      ids.push((await loginWith(path, keys, { role: name })).body.auth.entity_id)
    }
    expect([ids[0] === ids[2], new Set(ids).size]).toEqual([true, 3])
  })

  test('a role name in other letter case leads to the same entity, and other spellings are rejected (CVE-2025-6004, CVE-2025-54998, CVE-2025-6013, CVE-2025-55001)', async () => {
    const { path } = await mountWith()
    const worker = await workerOn(path)
    const { entity_id: id } = await worker.login()
    expect((await worker.login({ role: worker.role.toUpperCase() })).entity_id).toBe(id)
    for (const odd of [`${worker.role} `, ` ${worker.role}`, `${worker.role}%20`, `${worker.role}\u0000`])
      expect((await worker.tryLogin({ role: odd })).status).toBe(400)
  })

  test('changing iam_alias creates new entities, and old tokens keep their entity', async () => {
    const { path } = await mountWith({ iam_alias: 'role_id' })
    const worker = await workerOn(path)
    const before = await worker.login()
    await done('POST', `${path}/config/identity`, { iam_alias: 'canonical_arn' })
    const after = await worker.login()
    expect(after.entity_id).not.toBe(before.entity_id)
    expect(await lives(before.client_token)).toBe(true)
  })
})

describe('aliases of different mounts are separate: CVE-2021-41802, CVE-2022-40186, HCSEC-2022-18', () => {
  let one = { path: '', accessor: '' }
  let two = { path: '', accessor: '' }
  beforeAll(async () => {
    one = await mountWith({ iam_alias: 'canonical_arn', iam_metadata: ['canonical_arn'] })
    two = await mountWith({ iam_alias: 'canonical_arn', iam_metadata: ['account_id'] })
  })

  test('one alias name on two mounts is two entities, with their own metadata, policies and state', async () => {
    const worker = await workerOn(one.path)
    await done('POST', `${two.path}/role/${worker.role}`, {
      bound_iam_principal_arn: worker.arn,
      resolve_aws_unique_ids: false,
    })
    const here = await worker.login()
    const there: ResponseAuth = (await api('POST', `${two.path}/login`, worker.signed(), { token: '' })).body
      .auth
    const [a, b] = [await aliasOf(here), await aliasOf(there)]
    expect([a.name, b.name]).toEqual([worker.arn, worker.arn])
    expect([a.mount_accessor, b.mount_accessor]).toEqual([one.accessor, two.accessor])
    expect([a.metadata, b.metadata]).toEqual([{ canonical_arn: worker.arn }, { account_id: worker.account }])
    expect(here.entity_id).not.toBe(there.entity_id)
    await done('POST', `/identity/entity/id/${here.entity_id}`, { policies: 'admin', disabled: true })
    expect([await lives(here.client_token), await lives(there.client_token)]).toEqual([false, true])
    const again: ResponseAuth = (await api('POST', `${two.path}/login`, worker.signed(), { token: '' })).body
      .auth
    expect(again.policies).toEqual(['default'])
  })
})

describe('metadata of aliases', () => {
  test.each<[string, unknown, (arn: string, account: string) => Record<string, unknown>]>([
    ['contain the default fields', undefined, (_, account) => ({ account_id: account, auth_type: 'iam' })],
    ['none', [], () => ({})],
    ['contain the chosen fields', 'client_arn,Auth_Type', arn => ({ client_arn: arn, auth_type: 'iam' })],
    ['omit fields without a value', ['inferred_entity_id', 'canonical_arn'], arn => ({ canonical_arn: arn })],
  ])('%s', async (_, chosen, expected) => {
    const { path } = await mountWith(chosen === undefined ? {} : { iam_metadata: chosen })
    const worker = await workerOn(path)
    const auth = await worker.login()
    const metadata = expected(worker.arn, worker.account)
    expect((await aliasOf(auth)).metadata).toEqual(metadata)
    expect(auth.metadata).toEqual({ ...metadata, role_id: expect.any(String) })
  })

  test('are the metadata of the last login, and never contain a nonce', async () => {
    const { path } = await mountWith({ ec2_metadata: ['instance_id'] })
    await done('POST', `${path}/role/fleet`, { auth_type: 'ec2', bound_region: HOME.region })
    const logins = []
    for (let index = 0; index < 2; index++) {
      const instance = await launch()
      const { body } = await loginAs(path, instance, { role: 'fleet' })
      expect(body.auth.metadata.nonce).toBeTypeOf('string')
      expect((await aliasOf(body.auth)).metadata).toEqual({ instance_id: instance.instanceId })
      logins.push(body.auth.entity_id)
    }
    expect(logins[0]).toBe(logins[1])
  })
})
