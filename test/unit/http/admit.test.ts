import { describe, expect, test } from 'vitest'
import { answer, noContentAnswer } from '../../../shared/api/call.ts'
import { type AccessRule, allowAnyone, allowByPolicy, declareEndpoint } from '../../../shared/api/endpoint.ts'
import { listField, textField } from '../../../shared/api/fields.ts'
import type { ValidToken } from '../../../shared/http/authenticate.ts'
import { authoriseRequest } from '../../../shared/http/authorise.ts'
import { findMount } from '../../../shared/http/base.ts'
import type { RequestIntake } from '../../../shared/http/intake.ts'
import type { Alias } from '../../../shared/model/alias.ts'
import { accessorOfHash, type Token, tokenHashOf } from '../../../shared/model/token.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { Secret } from '../../../shared/values/secret.ts'
import { portsWith } from '../../builders/ports.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { mount, NOW, token } from '../tokens/support.ts'

const entity = { id: 'e-1', mount: 'auth_cloud_1', alias: 'r-1' }
const aliasOf = (parts: Partial<Alias> = {}): Item<'alias'> =>
  item(
    key('alias', entity.mount, entity.alias),
    {
      entityId: 'e-1',
      mount: entity.mount,
      name: entity.alias,
      policies: [],
      disabled: false,
      ...parts,
    } as Alias,
    'r',
  )
const policyItem = (name: string, rules: string): Item<'policy'> =>
  item(key('policy', name), { text: rules }, 'r')
const parentItem = (parts: Partial<Token> = {}): Item<'token'> => {
  const hash = tokenHashOf('hvs.parent')
  return { ...key('token', accessorOfHash(hash)), rev: 'r', data: token({ hash, ...parts }) }
}

interface World {
  own?: Partial<Token>
  items?: Item[]
  access?: AccessRule
  raw?: Record<string, unknown>
  params?: Record<string, string>
  wrapTtl?: number
}

/** Admits a write by a caller with the policy `dev`, and returns the caller or the error. */
async function admitted({
  own = {},
  items = [],
  access = allowByPolicy('update'),
  raw = {},
  params = {},
  wrapTtl,
}: World) {
  const { store } = memoryStore(items)
  const row = declareEndpoint({
    method: 'POST',
    path: '/auth/:mount/thing',
    summary: 'x',
    fields: {
      token_policies: listField(''),
      policies: listField('', { replacedBy: 'token_policies' }),
      cert: textField('', { formerly: 'old_cert' }),
    },
    access,
    answers: 'nothing',
    subject: ({ mount: accessor }) => key('client-config', accessor),
    handle: () => answer(noContentAnswer()),
  })
  const path = 'auth/cloud/thing'
  const intake = {
    match: { endpoint: row, pathParameters: { mount: 'cloud', ...params }, path },
    facts: { path, operation: 'write', ...(wrapTtl === undefined ? {} : { wrapTtl }) },
    raw,
  } as unknown as RequestIntake
  const alive: ValidToken = { text: new Secret('hvs.t'), token: token({ policies: ['dev'], ...own }) }
  const mounts = { mounts: [mount()], removing: [] }
  try {
    const ports = portsWith({ store, clock: { now: () => NOW } })
    return await authoriseRequest(row, intake, alive, { mounts, mount: mount() }, ports)
  } catch (error) {
    const { why } = (error as { reason: { why: string } }).reason
    expect(error).toMatchObject({
      code: why === 'parent-gone' ? 'invalid_token' : 'permission_denied',
      message: '',
    })
    return why
  }
}

const writes = policyItem('dev', 'path "auth/cloud/thing" { capabilities = ["update"] }')
const subjectAt = key('client-config', 'auth_cloud_1')
const subject = { ...subjectAt, rev: 'r', data: {} } as unknown as Item

describe('authorising a request by the capabilities of its policy', () => {
  const rules = (capabilities: string) =>
    policyItem('dev', `path "auth/cloud/thing" { capabilities = [${capabilities}] }`)

  test.each<[access: AccessRule, capabilities: string, exists: boolean, allowed: boolean]>([
    [allowByPolicy('by-existence'), '"create"', false, true],
    [allowByPolicy('by-existence'), '"create"', true, false],
    [allowByPolicy('by-existence'), '"update"', true, true],
    [allowByPolicy('by-existence'), '"update"', false, false],
    [allowByPolicy('create-or-update'), '"create"', true, true],
    [allowByPolicy('create-or-update'), '"update"', false, true],
    [allowByPolicy('create-or-update'), '"read"', false, false],
    [allowByPolicy('update', { sudo: true }), '"update"', true, false],
    [allowByPolicy('update', { sudo: true }), '"update", "sudo"', true, true],
    [allowByPolicy('create-or-update', { sudo: true }), '"create", "sudo"', true, true],
    [allowAnyone, '"deny"', true, true],
  ])(
    'a rule %j and a policy with %s, object exists %s: allowed %s',
    async (access, capabilities, exists, allowed) => {
      const found = await admitted({ access, items: [rules(capabilities), ...(exists ? [subject] : [])] })
      expect(found === 'policy').toBe(!allowed)
      if (allowed)
        expect(found).toMatchObject({ subjectKey: subjectAt, subject: exists ? subject : undefined })
    },
  )
})

describe('parameter and wrapping constraints', () => {
  const held = (line: string) =>
    policyItem('dev', `path "auth/cloud/thing" { capabilities = ["update"] ${line} }`)

  test.each<[line: string, raw: Record<string, unknown>, allowed: boolean]>([
    ['denied_parameters = { token_policies = [] }', { policies: 'a' }, false],
    ['denied_parameters = { token_policies = [] }', { token_policies: 'a' }, false],
    ['denied_parameters = { cert = [] }', { old_cert: 'a' }, false],
    ['allowed_parameters = { cert = ["a"] }', { old_cert: 'a' }, true],
    ['allowed_parameters = { cert = ["a"] }', { old_cert: 'b' }, false],
    ['required_parameters = ["cert"]', { old_cert: 'b' }, true],
    ['required_parameters = ["cert"]', {}, false],
    ['denied_parameters = { other = [] }', { other: 1 }, false],
    ['denied_parameters = { cert = [] }', {}, true],
  ])('the constraint %s on the parameters %j: allowed %s', async (line, raw, allowed) => {
    expect((await admitted({ items: [held(line)], raw })) === 'policy').toBe(!allowed)
  })

  test('a wrapping TTL outside the bounds of the policy rule is rejected', async () => {
    const items = [held('min_wrapping_ttl = 60')]
    expect(await admitted({ items })).toBe('policy')
    expect(await admitted({ items, wrapTtl: 60 })).not.toBe('policy')
  })
})

describe('admitting a token whose entity or ancestor is missing', () => {
  test.each<[name: string, world: World, verdict: string]>([
    ['a token of a deleted entity is rejected', { own: { entity }, items: [writes] }, 'entity-gone'],
    [
      'a token of a deleted and recreated entity is rejected',
      { own: { entity }, items: [writes, aliasOf({ entityId: 'e-2' })] },
      'entity-gone',
    ],
    [
      'a token of a disabled entity is rejected',
      { own: { entity }, items: [writes, aliasOf({ disabled: true })] },
      'entity-disabled',
    ],
    [
      'a token with a deleted parent is rejected',
      { own: { parent: 'gone' }, items: [writes] },
      'parent-gone',
    ],
    [
      'a token with an expired parent is rejected',
      { own: { parent: accessorOfHash(tokenHashOf('hvs.parent')) }, items: [writes, parentItem({ ttl: 5 })] },
      'parent-gone',
    ],
    [
      'a token whose parent is of a deleted mount is rejected',
      {
        own: { parent: accessorOfHash(tokenHashOf('hvs.parent')) },
        items: [writes, parentItem({ mount: 'gone' })],
      },
      'parent-gone',
    ],
    [
      'a token with a deleted grandparent is rejected',
      {
        own: { parent: accessorOfHash(tokenHashOf('hvs.parent')) },
        items: [writes, parentItem({ parent: 'gone' })],
      },
      'parent-gone',
    ],
  ])('%s', async (_, world, verdict) => expect(await admitted(world)).toBe(verdict))

  test('a root token with a lost ancestor is rejected', async () => {
    expect(await admitted({ own: { policies: ['root'], parent: 'gone' } })).toBe('parent-gone')
  })

  test('a token whose ancestors are valid is admitted', async () => {
    const own = { parent: accessorOfHash(tokenHashOf('hvs.parent')), entity }
    expect(await admitted({ own, items: [writes, parentItem(), aliasOf()] })).toMatchObject({
      caller: { accessor: expect.any(String) },
    })
  })
})

describe("policies of the caller's entity", () => {
  test("entity policies add to the token's policies", async () => {
    const items = [
      aliasOf({ policies: ['ops', 'dev'] }),
      policyItem('ops', 'path "auth/cloud/thing" { capabilities = ["update"] }'),
    ]
    expect(await admitted({ own: { entity }, items })).toMatchObject({
      caller: { identityPolicies: ['dev', 'ops'] },
    })
    expect(await admitted({ own: { entity }, items: [aliasOf({ policies: ['ops'] })] })).toBe('policy')
  })

  test('an entity policy root gives no root rights (CVE-2024-9180)', async () => {
    expect(await admitted({ own: { entity }, items: [aliasOf({ policies: [' ROOT '] })] })).toBe('policy')
  })

  test('a deny in an entity policy is enforced', async () => {
    const items = [
      writes,
      aliasOf({ policies: ['no'] }),
      policyItem('no', 'path "auth/cloud/thing" { policy = "deny" }'),
    ]
    expect(await admitted({ own: { entity }, items })).toBe('policy')
  })
})

test('findMount returns only mounts of the auth method', () => {
  const base = {
    mounts: { mounts: [mount(), mount({ path: 'token', type: 'token' })], removing: [] },
  } as never
  expect(findMount({ mount: 'cloud' }, base)).toEqual(mount())
  for (const params of [{ mount: 'token' }, { mount: 'other' }, { mount: '__proto__' }, {}])
    expect(findMount(params as Record<string, string>, base)).toBeUndefined()
})
