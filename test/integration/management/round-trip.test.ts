import { describe, expect, test } from 'vitest'
import { clientConfigFields } from '../../../shared/auth-method/config/client.ts'
import { identityConfigFields } from '../../../shared/auth-method/config/identity.ts'
import { stsRoleFields } from '../../../shared/auth-method/config/sts.ts'
import { roleFields } from '../../../shared/auth-method/roles/fields.ts'
import { tidySettingsFields } from '../../../shared/auth-method/tidy/manage.ts'
import { bodiesFor } from '../../support/requests/hostile.ts'
import { ec2Role, iamRole, pem, type Thing, things } from '../../support/requests/things.ts'
import { api, done, fresh, freshMount } from '../../support/service/cluster.ts'
import { unsaid } from '../../unit/endpoints/interface.ts'

const read = async (path: string) => (await done('GET', path)).body.data

/** Splits bodies into single values, because a body of several odd values is nearly always rejected. */
const oneByOne = (bodies: readonly Record<string, unknown>[]): Record<string, unknown>[] =>
  bodies.flatMap(body =>
    Object.entries(body)
      .slice(0, 3)
      .map(([name, value]) => ({ [name]: value })),
  )

async function madeOf({ at, body }: Thing): Promise<string> {
  const path = at((await freshMount()).path)
  await done('POST', path, body)
  return path
}

describe('writing back what was read changes nothing', () => {
  test.each(things)('$title with all fields', async thing => {
    const path = await madeOf(thing)
    const before = await read(path)
    const { status, text } = await api('POST', path, before)
    expect(status, text).toBeLessThan(300)
    expect(await read(path)).toEqual(before)
  })

  test.each(things)('$title, after each partial write', async thing => {
    const path = await madeOf(thing)
    for (const { body } of thing.parts) {
      await done('POST', path, body)
      const before = await read(path)
      await done('POST', path, before)
      expect(await read(path)).toEqual(before)
    }
  })

  test.each(things)('$title at another path', async thing => {
    const copied = await read(await madeOf(thing))
    const other = thing.at((await freshMount()).path)
    await done('POST', other, copied)
    const { role_id: _, ...rest } = copied
    expect(await read(other)).toMatchObject(rest)
  })

  const odd = [
    {
      path: '/role/x',
      fields: roleFields,
      from: { bound_iam_principal_arn: 'arn:aws:iam::111122223333:role/a*' },
    },
    { path: '/role/y', fields: roleFields, from: { auth_type: 'ec2', bound_region: 'x' } },
    { path: '/config/client', fields: clientConfigFields, from: {} },
    { path: '/config/identity', fields: identityConfigFields, from: {} },
    { path: '/config/sts/x', fields: stsRoleFields, from: { sts_role: 'x' } },
    { path: '/config/tidy/roletag-denylist', fields: tidySettingsFields, from: {} },
  ]
  test.each(odd)('$path after each odd value that is accepted', async ({ path: at, fields, from }) => {
    const path = (await freshMount()).path + at
    await done('POST', path, from)
    let accepted = 0
    for (const body of oneByOne(bodiesFor(fields, 7))) {
      const before = await read(path)
      const { status } = await api('POST', path, body)
      const now = await read(path)
      if (status >= 400) expect(now, JSON.stringify(body)).toEqual(before)
      else accepted += 1
      await done('POST', path, now)
      expect(await read(path), JSON.stringify(body)).toEqual(now)
    }
    expect(accepted).toBeGreaterThan(0)
  })

  test('a role with default values, of each type', async () => {
    const { path: mount } = await freshMount()
    for (const body of [
      { auth_type: 'ec2', bound_region: 'eu-west-1' },
      { bound_iam_principal_arn: 'arn:aws:iam::111122223333:role/a*' },
      { bound_ami_id: 'ami-1', inferred_entity_type: 'ec2_instance', inferred_aws_region: 'eu-west-1' },
    ]) {
      const path = `${mount}/role/${fresh('r')}`
      await done('POST', path, body)
      const before = await read(path)
      await done('POST', path, before)
      expect(await read(path)).toEqual(before)
    }
  })
})

describe('a partial write keeps the other fields', () => {
  test.each(things)('$title', async thing => {
    const path = await madeOf(thing)
    for (const { body, reads } of thing.parts) {
      const before = await read(path)
      await done('POST', path, body)
      expect(await read(path)).toEqual({ ...before, ...reads })
    }
  })

  test.each(things)('$title: an empty write changes nothing', async thing => {
    const path = await madeOf(thing)
    const before = await read(path)
    const refused = thing.title === 'config/certificate'
    for (const body of [{}, undefined, { unknown: 1 }]) {
      const { status, text } = await api('POST', path, body)
      expect(status >= 400, text).toBe(refused)
    }
    expect(await read(path)).toEqual(before)
  })
})

describe('reading', () => {
  test('an ec2 role returns every field, with lists as arrays and durations in seconds', async () => {
    const role = await read(await madeOf(ec2Role))
    expect(role).toEqual({
      auth_type: 'ec2',
      ...unsaid('bound_'),
      ...unsaid('token_'),
      bound_account_id: ['111122223333', '444455556666'],
      bound_ami_id: ['ami-0a1b2c3d4e5f60718', 'ami-1a1b2c3d4e5f60718'],
      bound_ec2_instance_id: ['i-0123456789abcdef0'],
      bound_iam_instance_profile_arn: ['arn:aws:iam::111122223333:instance-profile/app*'],
      bound_iam_principal_arn: [],
      bound_iam_principal_id: [],
      bound_iam_role_arn: ['arn:aws:iam::111122223333:role/app*'],
      bound_region: ['us-east-1'],
      bound_subnet_id: ['subnet-1'],
      bound_tags: { Env: ['prod', 'dev'], 'a b': ['core*'] },
      bound_vpc_id: ['vpc-1'],
      inferred_entity_type: '',
      inferred_aws_region: '',
      resolve_aws_unique_ids: true,
      role_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      role_tag: 'CloudRole',
      allow_instance_migration: true,
      disallow_reauthentication: false,
      token_bound_cidrs: ['10.0.0.0/8', '127.0.0.1'],
      token_explicit_max_ttl: 7200,
      token_max_ttl: 3600,
      token_no_default_policy: true,
      token_num_uses: 5,
      token_period: 600,
      token_policies: ['Prod', 'dev'],
      token_ttl: 900,
      token_strictly_bind_ip: true,
      token_type: 'service',
    })
  })

  test('deprecated fields are returned only if a client wrote them, and while they equal the new fields', async () => {
    const path = await madeOf(iamRole)
    expect(await read(path)).toMatchObject({
      policies: ['base', 'dev'],
      token_policies: ['base', 'dev'],
      ttl: 300,
      token_ttl: 300,
      max_ttl: 600,
      token_max_ttl: 600,
      period: 60,
      token_period: 60,
    })
    await done('POST', path, { token_policies: 'x', token_ttl: 1, token_max_ttl: 2, token_period: 3 })
    const after = await read(path)
    expect(after).toMatchObject({ token_policies: ['x'], token_ttl: 1, token_max_ttl: 2, token_period: 3 })
    for (const old of ['policies', 'ttl', 'max_ttl', 'period']) expect(after).not.toHaveProperty(old)
    await done('POST', path, { token_ttl: 2, ttl: 9 })
    expect(await read(path)).toMatchObject({ token_ttl: 2, ttl: 2 })
  })

  test('the client configuration omits the secret key', async () => {
    const client = things.find(({ title }) => title === 'config/client') as Thing
    const path = await madeOf(client)
    const { secret_key: _, ...open } = client.body
    expect(await read(path)).toEqual({ ...open, allowed_sts_header_values: ['X-Custom-Thing', 'X-Other'] })
    expect((await api('GET', path)).text).not.toMatch(/secret|kept-for-itself/)
  })

  test('a certificate is returned as PEM under both names', async () => {
    const path = await madeOf(things.find(({ title }) => title === 'config/certificate') as Thing)
    expect(await read(path)).toEqual({
      cloud_public_cert: pem.rsa,
      aws_public_cert: pem.rsa,
      type: 'identity',
    })
  })

  test('config/identity returns the defaults before its first write', async () => {
    expect(await read(`${(await freshMount()).path}/config/identity`)).toEqual({
      iam_alias: 'role_id',
      iam_metadata: ['account_id', 'auth_type'],
      ec2_alias: 'role_id',
      ec2_metadata: ['account_id', 'auth_type'],
    })
  })

  test('other missing and deleted items answer 404', async () => {
    for (const thing of things.filter(({ title }) => title !== 'config/identity')) {
      const path = thing.at((await freshMount()).path)
      expect((await api('GET', path)).status, thing.title).toBe(404)
      await done('POST', path, thing.body)
      for (let times = 0; times < 2; times++) expect((await api('DELETE', path)).status).toBe(204)
      expect((await api('GET', path)).status, thing.title).toBe(404)
    }
  })
})
