import { describe, expect, test } from 'vitest'
import type { CallOutcome } from '../../../shared/api/call.ts'
import { accessorOfHash, type Token, tokenHashOf } from '../../../shared/model/token.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import {
  showAccessorCapabilities,
  showOwnCapabilities,
  showTokenCapabilities,
} from '../../../shared/system/capabilities.ts'
import { Secret } from '../../../shared/values/secret.ts'
import { callWith, dataIn } from '../../support/requests/call.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { access } from '../policies/support.ts'
import { clearCipher, NOW, token } from '../tokens/support.ts'

describe('sys/capabilities-self', () => {
  const rights = access({ 'a/*': 'read list', b: 'deny' })
  const asked = (given: object) =>
    showOwnCapabilities(callWith({ parameters: given, caller: { rights } })).answer

  test('one path is returned under its name and as capabilities', () => {
    const data = { 'a/x': ['list', 'read'], capabilities: ['list', 'read'] }
    expect(asked({ paths: ['/a/x'] })).toEqual({ kind: 'data', data })
    expect(asked({ path: 'a/x' })).toEqual({ kind: 'data', data })
  })

  test('several paths are returned under their names', () => {
    expect(asked({ paths: ['a/x', 'b', '__proto__'] })).toEqual({
      kind: 'data',
      data: JSON.parse('{"a/x": ["list", "read"], "b": ["deny"], "__proto__": ["deny"]}'),
    })
  })

  test.each([
    ['paths', Array.from({ length: 1001 }, () => 'a')],
    ['bytes of a path', ['é'.repeat(513)]],
    ['bytes of one among many', ['a', 'x'.repeat(1025)]],
  ])('more %s than the maximum are rejected', (_, paths) => {
    expect(() => asked({ paths })).toThrow('up to 1000 paths of up to 1024 bytes')
    const [first = ''] = paths
    if (paths.length > 1000) expect(() => asked({ paths: paths.slice(1), path: first })).toThrow('up to 1000')
  })

  test('the maximum number of paths is accepted', () => {
    const paths = Array.from({ length: 999 }, (_, index) => `a/${index}`)
    const { data } = asked({ paths, path: 'é'.repeat(512) }) as { data: object }
    expect(Object.keys(data)).toHaveLength(1000)
  })

  test('a request without a path is rejected', () =>
    expect(() => asked({ paths: [] })).toThrow('paths is required'))
})

describe('sys/capabilities and sys/capabilities-accessor', () => {
  const policy = (name: string, text: string): Item<'policy'> => item(key('policy', name), { text }, 'r')
  const policies = [
    policy('dev', 'path "a" { capabilities = ["read"] }'),
    policy('ops', 'path "a" { capabilities = ["update"] }'),
  ]
  const entity = { id: 'e-1', mount: 'auth_cloud_1', alias: 'r-1' }
  const alias = (parts: object = {}) =>
    item(
      key('alias', entity.mount, entity.alias),
      { entityId: 'e-1', policies: ['ops'], disabled: false, ...parts } as never,
      'r',
    )
  const other = (parts: Partial<Token> = {}): Item =>
    item(
      key('token', accessorOfHash(tokenHashOf('hvs.other'))),
      token({ hash: tokenHashOf('hvs.other'), policies: ['dev'], ...parts }),
      'r',
    )
  const calling = (items: Item[], given: object) =>
    callWith({
      parameters: { paths: ['a'], ...given },
      caller: { text: new Secret('hvs.mine'), rights: access({ a: 'delete' }) },
      ports: {
        store: memoryStore([...items, ...policies]).store,
        cipher: clearCipher,
        clock: { now: () => NOW },
      },
      now: NOW,
    })
  const both = (items: Item[]): [name: string, found: () => Promise<CallOutcome>][] => [
    ['token', async () => showTokenCapabilities(calling(items, { token: 'hvs.other' }))],
    [
      'accessor',
      async () =>
        showAccessorCapabilities(calling(items, { accessor: accessorOfHash(tokenHashOf('hvs.other')) })),
    ],
  ]
  const told = async (found: () => Promise<CallOutcome>) => dataIn<{ a: string[] }>(await found()).a

  test.each(both([other()]))(
    "the named token's policies count, not the caller's: by %s",
    async (_, found) => {
      expect(await told(found)).toEqual(['read'])
    },
  )

  test.each(both([other({ entity }), alias()]))(
    "the policies of the token's entity count too: by %s",
    async (_, found) => {
      expect(await told(found)).toEqual(['read', 'update'])
    },
  )

  test.each([
    ['a disabled entity', [other({ entity }), alias({ disabled: true })]],
    ['an entity that is gone', [other({ entity })]],
    ['a lost parent', [other({ parent: 'gone' })]],
    ['an expired token', [other({ ttl: 5 })]],
    ['no token', []],
  ])('%s is rejected', async (_, items) => {
    for (const [, found] of both(items)) await expect(found()).rejects.toThrow(/^invalid (token|accessor)$/)
  })

  test("the caller's own token is not looked up, because its last use may have deleted it", async () => {
    expect(await told(async () => showTokenCapabilities(calling([], { token: 'hvs.mine' })))).toEqual([
      'delete',
    ])
  })
})
