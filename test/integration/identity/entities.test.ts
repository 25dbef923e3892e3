import { beforeAll, describe, expect, test } from 'vitest'
import { lives, lookUp, make } from '../../support/requests/tokens.ts'
import { type Worker, workerOn } from '../../support/requests/workers.ts'
import { api, done, fresh, freshMount } from '../../support/service/cluster.ts'

const entityOf = async (id: string) => (await done('GET', `/identity/entity/id/${id}`)).body.data
const write = (id: string, given: unknown) => api('POST', `/identity/entity/id/${id}`, given)
const find = (given: unknown) => api('POST', '/identity/lookup/entity', given)

describe('entities and their aliases', () => {
  let mount = { path: '', accessor: '' }
  let worker: Worker
  beforeAll(async () => {
    mount = await freshMount()
    worker = await workerOn(mount.path)
  })

  test('a lookup without a match warns about an unknown field', async () => {
    const { status, body } = await find({ name: 'nobody', nmae: 'x' })
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ data: null, warnings: [expect.any(String)] }),
    ])
  })

  test('listings return names, mounts and aliases in key_info', async () => {
    const { entity_id: id } = await worker.login()
    const { name, aliases } = await entityOf(id)
    const { id: aliasId, name: aliasName } = aliases[0]
    const place = {
      mount_accessor: mount.accessor,
      mount_path: `${mount.path.slice(1)}/`,
      mount_type: 'cloud',
    }
    const entities = (await done('LIST', '/identity/entity/id')).body.data
    expect(entities.keys).toContain(id)
    expect(entities.key_info[id]).toEqual({ name, aliases: [{ id: aliasId, name: aliasName, ...place }] })
    const listed = (await done('LIST', '/identity/entity-alias/id')).body.data
    expect(listed.key_info[aliasId]).toEqual({ name: aliasName, canonical_id: id, ...place, local: false })
    const one = (await done('GET', `/identity/entity/id?list=true&limit=1`)).body.data
    expect(Object.keys(one.key_info)).toEqual(one.keys)
  })

  test('a lookup by name returns the entity, and 204 for an unknown name', async () => {
    const { entity_id: id } = await worker.login()
    const { name } = await entityOf(id)
    expect((await find({ name })).body.data.id).toBe(id)
    expect((await find({ name: fresh('nobody') })).status).toBe(204)
  })

  test('the first login creates an entity with one alias, and the next login uses that entity', async () => {
    const { entity_id: id, metadata } = await worker.login()
    const moment = expect.stringMatching(/^\d{4}-.*Z$/)
    const alias = {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      canonical_id: id,
      name: metadata?.['role_id'],
      metadata: { account_id: worker.account, auth_type: 'iam' },
      mount_accessor: mount.accessor,
      mount_path: `${mount.path.slice(1)}/`,
      mount_type: 'cloud',
      creation_time: moment,
      last_update_time: moment,
      local: false,
      namespace_id: 'root',
    }
    const entity = await entityOf(id)
    expect(entity).toEqual({
      id,
      name: expect.stringMatching(/^entity_/),
      disabled: false,
      policies: [],
      metadata: {},
      creation_time: moment,
      last_update_time: moment,
      aliases: [alias],
      group_ids: [],
      direct_group_ids: [],
      inherited_group_ids: [],
      merged_entity_ids: null,
      namespace_id: 'root',
    })
    const { body } = await done('GET', `/identity/entity-alias/id/${entity.aliases[0].id}`)
    expect(body.data).toEqual(entity.aliases[0])
    for (const kind of ['entity', 'entity-alias']) {
      const { body: listed } = await done('GET', `/identity/${kind}/id?list=true`)
      expect(listed.data.keys).toContain(kind === 'entity' ? id : entity.aliases[0].id)
    }
    expect((await worker.login()).entity_id).toBe(id)
    expect(await entityOf(id)).toEqual(entity)
  })

  test('a lookup by ID, alias ID or alias name returns the entity', async () => {
    const { entity_id: id } = await worker.login()
    const { aliases } = await entityOf(id)
    const [alias] = aliases
    for (const given of [
      { id },
      { alias_id: alias.id },
      { alias_name: alias.name, alias_mount_accessor: mount.accessor },
    ])
      expect((await find(given)).body.data.id).toBe(id)
  })

  test.each<[string, Record<string, unknown>, number]>([
    ['nothing', {}, 400],
    ['an alias name without its mount', { alias_name: 'x' }, 400],
    ['an unknown id', { id: 'x' }, 204],
    ['an alias of another mount', { alias_name: 'x', alias_mount_accessor: 'auth_cloud_000000000000' }, 204],
    [
      'names of built-in object properties',
      { alias_name: '__proto__', alias_mount_accessor: 'constructor' },
      204,
    ],
    ['a very long name', { alias_name: 'x'.repeat(5000), alias_mount_accessor: 'x' }, 204],
    ['an object', { id: { a: 1 } }, 400],
  ])('a lookup of %s answers $2', async (_, given, status) => {
    expect((await find(given)).status).toBe(status)
  })

  test.each(['GET', 'POST', 'DELETE'])(
    '%s of a missing entity answers 404, or 204 for DELETE',
    async method => {
      const place = `/identity/entity/id/${crypto.randomUUID()}`
      const body = method === 'POST' ? {} : undefined
      expect((await api(method, place, body)).status).toBe(method === 'DELETE' ? 204 : 404)
    },
  )

  test('a disabled entity cannot log in or use its tokens until the entity is enabled again', async () => {
    const own = await workerOn(mount.path)
    const maker = fresh('maker')
    await done('POST', `/sys/policies/acl/${maker}`, {
      policy: 'path "auth/token/create*" { capabilities = ["update"] }',
    })
    await own.change({ token_policies: maker })
    const { client_token: token, entity_id: id } = await own.login()
    await own.change({ token_type: 'batch' })
    const { client_token: batch } = await own.login()
    const child = await make({}, { token })
    expect(await lookUp(child.client_token)).toMatchObject({ entity_id: id })
    const { body: orphan } = await done('POST', '/auth/token/create-orphan', {}, { token })
    const all = () => Promise.all([token, batch, child.client_token].map(lives))
    expect(await all()).toEqual([true, true, true])
    expect((await write(id, { disabled: true })).status).toBe(204)
    expect(await all()).toEqual([false, false, false])
    const refused = await own.tryLogin()
    expect([refused.status, refused.body.errors]).toEqual([403, ['permission denied']])
    expect((await api('GET', '/auth/token/nothing', undefined, { token })).status).toBe(403)
    expect(await lives(orphan.auth.client_token)).toBe(true)
    await write(id, { disabled: false })
    expect(await all()).toEqual([true, true, true])
    expect((await own.login()).entity_id).toBe(id)
  })

  test('deleting an entity invalidates its tokens permanently, and its next login creates another entity', async () => {
    const own = await workerOn(mount.path)
    const { client_token: token, entity_id: id } = await own.login()
    const { aliases } = await entityOf(id)
    await write(id, { policies: 'admin' })
    expect((await done('DELETE', `/identity/entity/id/${id}`)).status).toBe(204)
    expect((await api('GET', `/identity/entity/id/${id}`)).status).toBe(404)
    expect((await api('GET', `/identity/entity-alias/id/${aliases[0].id}`)).status).toBe(404)
    expect(await lives(token)).toBe(false)
    const next = await own.login()
    expect(next.entity_id).not.toBe(id)
    expect(next).not.toHaveProperty('identity_policies')
    expect([await lives(token), await lives(next.client_token)]).toEqual([false, true])
  })

  test('policies of an entity apply to all its tokens at once, and are not stored on the tokens (CVE-2020-10660)', async () => {
    const own = await workerOn(mount.path)
    const name = fresh('p')
    await done('POST', `/sys/policies/acl/${name}`, {
      policy: `path "sys/policies/acl/${name}" { capabilities = ["read"] }`,
    })
    const before = await own.login()
    const read = (token: string) => api('GET', `/sys/policies/acl/${name}`, undefined, { token })
    expect((await read(before.client_token)).status).toBe(403)
    await write(before.entity_id, { policies: [` ${name.toUpperCase()} `, 'none'] })
    expect((await read(before.client_token)).status).toBe(200)
    const after = await own.login()
    expect(after).toMatchObject({
      policies: ['default', name, 'none'].sort(),
      token_policies: ['default'],
      identity_policies: ['none', name].sort(),
    })
    expect(await lookUp(after.client_token)).toMatchObject({
      policies: ['default'],
      identity_policies: ['none', name].sort(),
    })
    await write(before.entity_id, { policies: [] })
    expect((await read(after.client_token)).status).toBe(403)
    const creating = await api(
      'POST',
      '/auth/token/create',
      { policies: name },
      { token: after.client_token },
    )
    expect(creating.status, 'nor passed on to children').toBe(403)
  })

  test.each<[string, unknown]>([
    ['root', { policies: ['root'] }],
    ['ROOT', { policies: 'dev,ROOT' }],
    [' root', { policies: [' root'] }],
    ['an invalid policy name', { policies: ['a:b'] }],
    ['policies of the wrong type', { policies: { a: 1 } }],
    ['a disabled value that is not boolean', { disabled: 'perhaps' }],
    ['metadata of the wrong type', { metadata: [1] }],
    ['an oversized name', { name: 'x'.repeat(500_000) }],
  ])('writing %s is rejected and changes nothing (CVE-2024-9180)', async (_, given) => {
    const { entity_id: id } = await worker.login()
    const before = await entityOf(id)
    expect([400, 413]).toContain((await write(id, given)).status)
    expect(await entityOf(id)).toEqual(before)
  })

  test('a write keeps the entity fields that the request does not contain', async () => {
    const own = await workerOn(mount.path)
    const { entity_id: id } = await own.login()
    await write(id, { name: 'builder', metadata: { team: 'a' }, policies: 'dev' })
    await write(id, { disabled: false })
    expect(await entityOf(id)).toMatchObject({ name: 'builder', metadata: { team: 'a' }, policies: ['dev'] })
  })
})
