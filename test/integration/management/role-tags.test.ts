import { createHmac } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { iamRole } from '../../support/requests/things.ts'
import { api, done, fresh, freshMount } from '../../support/service/cluster.ts'

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
})

async function roleWith(more: Record<string, unknown> = {}): Promise<{ name: string; tag: string }> {
  const name = fresh('r')
  const role = {
    auth_type: 'ec2',
    bound_region: 'eu-west-1',
    role_tag: 'CloudRole',
    token_policies: 'Dev,prod',
    ...more,
  }
  await done('POST', `${mount}/role/${name}`, role)
  return { name, tag: `${mount}/role/${name}/tag` }
}

const NONCE = '[A-Za-z0-9+/]{11}='
const MAC = '[A-Za-z0-9+/]{43}='

describe('creating a role tag', () => {
  const rows: [body: Record<string, unknown> | undefined, items: string][] = [
    [undefined, 'd=false:m=false'],
    [{ policies: 'PROD' }, 'd=false:m=false:p=prod'],
    [{ policies: ['prod', ' dev ', 'default'] }, 'd=false:m=false:p=default,dev,prod'],
    [{ policies: '' }, 'd=false:m=false:p=default'],
    [{ policies: [] }, 'd=false:m=false:p=default'],
    [{ policies: null }, 'd=false:m=false:p=default'],
    [{ instance_id: 'I-0ABC' }, 'd=false:m=false:i=i-0abc'],
    [{ max_ttl: '5m' }, 'd=false:m=false:t=300'],
    [{ max_ttl: '999ms' }, 'd=false:m=false'],
    [
      { disallow_reauthentication: true, policies: 'dev', instance_id: 'i-1', max_ttl: 7 },
      'd=true:m=false:p=dev:i=i-1:t=7',
    ],
  ]
  test.each(rows)('with %j gives the fields %s', async (body, items) => {
    const { name, tag } = await roleWith()
    const { status, body: answer } = await api('POST', tag, body)
    expect(status).toBe(200)
    expect(answer.data).toEqual({
      tag_key: 'CloudRole',
      tag_value: expect.stringMatching(new RegExp(`^v1:${NONCE}:r=${name}:${items}:${MAC}$`)),
    })
  })

  test('uses a new nonce each time, and a secret key to sign', async () => {
    const { name, tag } = await roleWith()
    const values: string[] = []
    for (let times = 0; times < 3; times++) values.push((await done('POST', tag)).body.data.tag_value)
    expect(new Set(values.map(value => value.split(':')[1])).size).toBe(3)
    const { role_id } = (await done('GET', `${mount}/role/${name}`)).body.data
    const [plain = '', mac] = values[0]?.split(/:(?=[^:]*$)/) ?? []
    for (const key of ['', role_id, name])
      expect(createHmac('sha256', key).update(plain).digest('base64')).not.toBe(mac)
  })

  test('writes the role name in lower case', async () => {
    const { name } = await roleWith()
    const { tag_value } = (await done('PUT', `${mount}/role/${name.toUpperCase()}/tag`)).body.data
    expect(tag_value).toContain(`:r=${name}:`)
  })

  test.each([
    [{ max_ttl: '800h' }, ['max_ttl exceeds the mount’s maximum (2764800 s); the mount’s maximum applies']],
    [{ max_ttl: '2h' }, ['max_ttl exceeds the role’s token_max_ttl (3600 s); the role’s maximum applies']],
    [
      { allow_instance_migration: true },
      ['allow_instance_migration has no effect, because the role does not allow instance migration'],
    ],
    [{ max_ttl: '1h' }, null],
  ])('with %j gives the warnings %j', async (body, warnings) => {
    const { tag } = await roleWith(
      'max_ttl' in body && body.max_ttl === '800h' ? {} : { token_max_ttl: '1h' },
    )
    expect((await done('POST', tag, body)).body.warnings).toEqual(warnings)
  })

  const NAME =
    'a policy name may contain visible ASCII characters other than ":" and ",", and spaces except at either end'
  const SUBSET = 'tag policies must be a subset of the role’s policies'
  const refused: [role: Record<string, unknown>, body: Record<string, unknown>, message: string][] = [
    [{}, { policies: 'dev,other' }, SUBSET],
    [{}, { policies: ['root'] }, SUBSET],
    [{}, { policies: ' ROOT ,dev' }, SUBSET],
    [{ token_no_default_policy: true }, { policies: 'default' }, SUBSET],
    [{ token_policies: '' }, { policies: 'dev' }, SUBSET],
    [{}, { policies: ['dev:t=9'] }, NAME],
    [{}, { policies: ['dev,prod'] }, NAME],
    [
      {},
      { allow_instance_migration: true, disallow_reauthentication: true },
      'allow_instance_migration and disallow_reauthentication exclude each other',
    ],
    [{}, { instance_id: 'i-1:t=9' }, 'instance_id must not contain ":"'],
    [{}, { max_ttl: -1 }, 'Field validation failed: max_ttl must be a duration'],
    [
      {},
      { instance_id: 'i'.repeat(200) },
      'the tag is longer than the 255 characters that a tag’s value may have',
    ],
    [{ role_tag: '' }, {}, 'role tags are not enabled on this role'],
  ]
  test.each(refused)('of a role with %j is rejected with %j', async (role, body, message) => {
    const { tag } = await roleWith(role)
    const reply = await api('POST', tag, body)
    expect([reply.status, reply.body.errors]).toEqual([400, [message]])
  })

  test('is rejected for an iam role and for a missing role', async () => {
    await done('POST', `${mount}/role/iam`, iamRole.body)
    expect((await api('POST', `${mount}/role/iam/tag`)).body.errors).toEqual([
      'role tags are not enabled on this role',
    ])
    expect((await api('POST', `${mount}/role/${fresh('no')}/tag`)).body.errors).toEqual(['role not found'])
    for (const method of ['GET', 'DELETE', 'LIST'])
      expect((await api(method, `${mount}/role/iam/tag`)).status).toBe(405)
  })
})
