import { describe, expect, test } from 'vitest'
import { ensureIdentityAlias, equalTextMaps, type LoginIdentity } from '../../../shared/identity/ensure.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { item } from '../../support/tables/items.ts'

const seen = (parts: Partial<LoginIdentity> = {}): LoginIdentity => ({
  mount: 'auth_1',
  name: 'r-1',
  metadata: { account_id: '1' },
  now: 1000,
  fresh: { entityId: 'entity-0123456789', aliasId: 'alias-1' },
  ...parts,
})
const { alias } = ensureIdentityAlias(undefined, seen())
const stored: Item<'alias'> = item(
  key('alias', 'auth_1', 'r-1'),
  { ...alias, policies: ['ops'], disabled: true, entityMetadata: { team: 'a' } },
  'rev-1',
)

describe('the entity of a login', () => {
  test('the first login creates entity, alias and index entries', () => {
    const { alias: made, created } = ensureIdentityAlias(undefined, seen())
    expect(made).toEqual({
      entityId: 'entity-0123456789',
      aliasId: 'alias-1',
      mount: 'auth_1',
      name: 'r-1',
      metadata: { account_id: '1' },
      disabled: false,
      policies: [],
      entityName: 'entity_entity-0',
      entityMetadata: {},
      createdAt: 1000,
      updatedAt: 1000,
    })
    const pointer = { mount: 'auth_1', name: 'r-1' }
    expect(created).toMatchObject([
      { kind: 'put', key: key('alias', 'auth_1', 'r-1'), data: made, expected: 'absent' },
      { kind: 'put', key: key('entity', 'entity-0123456789'), data: pointer, expected: 'absent' },
      { kind: 'put', key: key('alias-id', 'alias-1'), data: pointer, expected: 'absent' },
    ])
  })

  test('an alias with unchanged metadata is not written', () => {
    const again = seen({ now: 2000, fresh: { entityId: 'other', aliasId: 'other' } })
    expect(ensureIdentityAlias(stored, again)).toEqual({ alias: stored.data, created: [] })
  })

  test('changed metadata is written separately from the token', () => {
    const {
      alias: next,
      created,
      metadata,
    } = ensureIdentityAlias(stored, seen({ now: 2000, metadata: { account_id: '2' } }))
    expect(next).toEqual({ ...stored.data, metadata: { account_id: '2' }, updatedAt: 2000 })
    expect(created).toEqual([])
    const place = key('alias', 'auth_1', 'r-1')
    expect(metadata).toEqual({ kind: 'put', key: place, data: next, expected: { rev: 'rev-1' }, times: {} })
  })
})

test.each<[a: Record<string, string>, b: Record<string, string>, same: boolean]>([
  [{}, {}, true],
  [{ a: '1', b: '2' }, { b: '2', a: '1' }, true],
  [{ a: '1' }, { a: '2' }, false],
  [{ a: '1' }, {}, false],
  [{}, { a: '1' }, false],
  [{ a: '1' }, { b: '1' }, false],
  [{ toString: 'x' }, { a: 'x' }, false],
])('%j and %j are equal: %s', (a, b, same) => expect(equalTextMaps(a, b)).toBe(same))
