import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Token } from '../../../shared/model/token.ts'
import type { ClusterRead } from '../../../shared/ports.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import {
  areTokenAncestorsAlive,
  isTokenAlive,
  MAX_TOKEN_DEPTH,
  orphanChildTokens,
  readLiveToken,
  revokeDescendants,
} from '../../../shared/tokens/descendants.ts'
import { portsWith } from '../../builders/ports.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { mount, NOW, token } from './support.ts'

const tokenItem = (name: string, parts: Partial<Token> = {}): Item<'token'> =>
  item(key('token', name), token(parts), `rev-${name}`)
const pointer = (parent: string, child: string): Item<'child'> => item(key('child', parent, child), {}, 'r')
const mounts = { mounts: [mount()], removing: [] }
const cluster = { record: {}, readAt: NOW } as ClusterRead

/** Tokens in the hierarchy a → b → c, and a → d. */
const tokens = [
  tokenItem('a'),
  tokenItem('b', { parent: 'a' }),
  tokenItem('c', { parent: 'b' }),
  tokenItem('d', { parent: 'a' }),
  pointer('a', 'b'),
  pointer('b', 'c'),
  pointer('a', 'd'),
]

function around(items: Item[], verdicts: ('done' | 'conflict')[] = []) {
  const memory = memoryStore(items, { verdicts })
  const ports = portsWith({ store: memory.store, clock: { now: () => NOW } })
  return {
    ...memory,
    ports,
    names: () =>
      memory.stored
        .all()
        .map(item => `${item.kind} ${item.pk} ${item.sk}`)
        .sort(),
  }
}

describe('a token is invalid without its ancestors', () => {
  const lives = (items: Item[], parent: string) =>
    areTokenAncestorsAlive({ parent }, { ports: around(items).ports, mounts })

  test.each<[name: string, items: Item[], alive: boolean]>([
    ['all of them live', tokens, true],
    ['the parent is gone', tokens.filter(item => item.pk !== 'token#b'), false],
    ['the grandparent is gone', tokens.filter(item => item.pk !== 'token#a'), false],
    ['the parent has expired', [tokenItem('b', { ttl: 9 })], false],
    ['the parent’s mount is gone', [tokenItem('b', { mount: 'gone' })], false],
    ['the parent’s mount is there', [tokenItem('b', { mount: 'auth_cloud_1' })], true],
  ])('%s: valid $2', async (_, items, alive) => expect(await lives(items, 'b')).toBe(alive))

  test('a token without a parent is valid', async () => {
    expect(await areTokenAncestorsAlive({}, { ports: around([]).ports, mounts })).toBe(true)
  })

  test('a hierarchy up to the maximum depth is valid, and a cycle ends', async () => {
    const line = Array.from({ length: MAX_TOKEN_DEPTH + 2 }, (_, at) =>
      tokenItem(`t${at}`, at > 0 ? { parent: `t${at - 1}` } : {}),
    )
    expect(await lives(line, `t${MAX_TOKEN_DEPTH}`)).toBe(true)
    expect(await lives(line, `t${MAX_TOKEN_DEPTH + 1}`)).toBe(false)
    expect(await lives([tokenItem('x', { parent: 'y' }), tokenItem('y', { parent: 'x' })], 'x')).toBe(false)
  })

  test('readLiveToken returns no token that has lost an ancestor', async () => {
    const { ports } = around(tokens)
    expect(await readLiveToken('c', { ports, mounts })).toMatchObject({ rev: 'rev-c' })
    expect(await readLiveToken('c', { ports: around(tokens.slice(1)).ports, mounts })).toBeUndefined()
    expect(await readLiveToken('zzz', { ports, mounts })).toBeUndefined()
  })

  test.each<[name: string, parts: Partial<Token>, alive: boolean]>([
    ['before its end', { ttl: 10 }, true],
    ['at its end', { ttl: 9 }, false],
    ['without end', { ttl: 0 }, true],
    ['without its mount', { mount: 'gone' }, false],
  ])('%s: valid $2', (_, parts, alive) => {
    expect(isTokenAlive(token(parts), { ports: around([]).ports, mounts })).toBe(alive)
  })
})

describe('after a revocation', () => {
  test('descendants are removed with their parent index entries', async () => {
    const { ports, names } = around(tokens.slice(1))
    expect(await revokeDescendants('a', ports, async () => cluster, NOW + 1)).toBe(3)
    expect(names()).toEqual([])
  })

  test('the sweep stops at the deadline', async () => {
    const { ports, names } = around(tokens.slice(1))
    expect(await revokeDescendants('a', ports, async () => cluster, NOW)).toBe(0)
    expect(names()).toHaveLength(6)
  })

  test('orphaned children lose their parent and keep their own children', async () => {
    const { ports, stored, names } = around(tokens)
    expect(await orphanChildTokens(tokenItem('a'), 'a', ports, cluster)).toBe(true)
    expect(names().filter(name => name.startsWith('child'))).toEqual(['child token#b c'])
    expect(stored.at(key('token', 'b'))?.data).not.toHaveProperty('parent')
    expect(stored.at(key('token', 'c'))?.data.parent).toBe('b')
    expect(names()).toContain('token token#a token')
  })

  test('a child that changed during orphaning must be retried', async () => {
    const { ports, stored } = around(tokens, ['conflict', 'done'])
    expect(await orphanChildTokens(tokenItem('a'), 'a', ports, cluster)).toBe(false)
    expect(stored.at(key('token', 'b'))?.data.parent).toBe('a')
  })

  test('a stale parent index entry is removed', async () => {
    const { ports, names } = around([pointer('a', 'zzz')])
    expect(await orphanChildTokens(tokenItem('a'), 'a', ports, cluster)).toBe(true)
    expect(names()).toEqual([])
  })
})

describe('a chosen ID that is used again', () => {
  const LATER = NOW - 500
  const mine = (parts: Partial<Token> = {}) => tokenItem('mine', { createdAt: LATER, ...parts })

  test('a child of the first token is not a child of the second', async () => {
    const child = { parent: 'mine', parentCreatedAt: NOW - 10_000 }
    const lives = (holder: Item) => areTokenAncestorsAlive(child, { ports: around([holder]).ports, mounts })
    expect(await lives(tokenItem('mine'))).toBe(true)
    expect(await lives(mine())).toBe(false)
  })

  test.each<[name: string, second: Partial<Token>]>([
    ['an orphan', {}],
    ['another’s child', { parent: 'other', parentCreatedAt: NOW - 10_000 }],
  ])('a parent index entry of the first token does not affect the second, %s', async (_, second) => {
    const items = [
      tokenItem('other'),
      mine(second),
      pointer('gone', 'mine'),
      tokenItem('kid', { parent: 'mine', parentCreatedAt: LATER }),
      tokenItem('lost', { parent: 'mine', parentCreatedAt: LATER - 9000 }),
      pointer('mine', 'kid'),
      pointer('mine', 'lost'),
    ]
    const swept = around(items)
    expect(await revokeDescendants('gone', swept.ports, async () => cluster, NOW + 1)).toBe(2)
    expect(swept.names()).toEqual([
      'child token#mine kid',
      'token token#kid token',
      'token token#mine token',
      'token token#other token',
    ])
    const released = around(items)
    expect(await orphanChildTokens(tokenItem('gone'), 'gone', released.ports, cluster)).toBe(true)
    expect(released.stored.at(key('token', 'mine'))).toEqual(mine(second))
    expect(released.names()).not.toContain('child token#gone mine')
  })

  test('a late sweep for the first token keeps the children of the second', async () => {
    const { ports, names } = around([
      mine(),
      tokenItem('kid', { parent: 'mine', parentCreatedAt: LATER }),
      pointer('mine', 'kid'),
    ])
    await revokeDescendants('mine', ports, async () => cluster, NOW + 1)
    await orphanChildTokens(tokenItem('mine'), 'mine', ports, cluster)
    expect(names()).toEqual(['child token#mine kid', 'token token#kid token', 'token token#mine token'])
  })

  /** The holder of a token ID in an independent model of the rules. */
  interface Holder {
    id: string
    born: number
    parent?: Holder | undefined
    gone?: true
  }
  const isUp = (holder: Holder | undefined): boolean =>
    holder === undefined || (!holder.gone && isUp(holder.parent))

  test('random histories of a few IDs: exactly the tokens without a lost ancestor are valid', async () => {
    const ids = fc.constantFrom('p', 'q', 'r')
    const step = fc.oneof(
      fc.record({ what: fc.constant('make'), id: ids, parent: fc.constantFrom('', '', 'p', 'q') }),
      fc.record({ what: fc.constantFrom('expire', 'revoke', 'release'), id: ids, parent: fc.constant('') }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async steps => {
        const { stored, ports } = around([])
        const at = (id: string) => stored.at(key('token', id))
        const holders: Holder[] = []
        const holderOf = (id: string) => holders.find(one => one.id === id && !one.gone)
        for (const [index, { what, id, parent }] of steps.entries()) {
          const holder = holderOf(id)
          const maker = holderOf(parent)
          if (what === 'make' && !at(id) && (parent === '' || (maker && isUp(maker)))) {
            const made = { id, born: NOW - 1000 + index, parent: maker }
            holders.push(made)
            const kin = maker ? { parent, parentCreatedAt: maker.born } : {}
            stored.put(tokenItem(id, { createdAt: made.born, ...kin }))
            if (maker) stored.put(pointer(parent, id))
          }
          const item = at(id)
          if (what === 'release' && item) {
            await orphanChildTokens(item, id, ports, cluster)
            for (const one of holders) if (one.parent === holder) one.parent = undefined
          }
          if (what !== 'make') {
            if (holder) holder.gone = true
            stored.remove(key('token', id))
          }
          if (what === 'revoke') await revokeDescendants(id, ports, async () => cluster, NOW + 1)
          for (const one of holders.filter(other => !other.gone)) {
            const its = at(one.id)
            const alive = its !== undefined && (await areTokenAncestorsAlive(its.data, { ports, mounts }))
            expect(alive, `${one.id} of ${one.born}`).toBe(isUp(one))
            if (!its) one.gone = true
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})
