import { describe, expect, test } from 'vitest'
import type { ClusterRead, Ports } from '../../../shared/ports.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import {
  ancestorsLive,
  childrenOf,
  DEEPEST_FAMILY,
  isAlive,
  livingToken,
  orphanChildren,
  sweepFamily,
} from '../../../shared/tokens/family.ts'
import type { Token } from '../../../shared/tokens/token.ts'
import { memoryStore } from '../support/memory-store.ts'
import { mount, NOW, token } from './support.ts'

const tokenItem = (name: string, parts: Partial<Token> = {}): Item<'token'> => ({
  ...key('token', name),
  rev: `rev-${name}`,
  data: token(parts),
})
const pointer = (parent: string, child: string): Item<'child'> => ({
  ...key('child', parent, child),
  rev: 'r',
  data: {},
})
const mounts = { mounts: [mount()], removing: [] }
const cluster = { readAt: NOW } as ClusterRead

/** a → b → c, and a → d */
const family = [
  tokenItem('a'),
  tokenItem('b', { parent: 'a' }),
  tokenItem('c', { parent: 'b' }),
  tokenItem('d', { parent: 'a' }),
  pointer('a', 'b'),
  pointer('b', 'c'),
  pointer('a', 'd'),
]

function around(items: Item[], verdicts: ('done' | 'conflict')[] = []) {
  const memory = memoryStore(items, verdicts)
  const ports = { store: memory.store, clock: { now: () => NOW } } as unknown as Ports
  return {
    ...memory,
    ports,
    names: () => [...memory.stored.values()].map(item => `${item.kind} ${item.pk} ${item.sk}`).sort(),
  }
}

describe('a token dies with its ancestors: auth-behaviour 9.2', () => {
  const lives = (items: Item[], parent: string) =>
    ancestorsLive({ parent }, { ports: around(items).ports, mounts })

  test.each<[name: string, items: Item[], alive: boolean]>([
    ['all of them live', family, true],
    ['the parent is gone', family.filter(item => item.pk !== 'token#b'), false],
    ['the grandparent is gone', family.filter(item => item.pk !== 'token#a'), false],
    ['the parent has expired', [tokenItem('b', { ttl: 10 })], false],
    ['the parent’s mount is gone', [tokenItem('b', { mount: 'gone' })], false],
    ['the parent’s mount is there', [tokenItem('b', { mount: 'auth_cloud_1' })], true],
  ])('%s: %s', async (_, items, alive) => expect(await lives(items, 'b')).toBe(alive))

  test('who has no parent needs none', async () => {
    expect(await ancestorsLive({}, { ports: around([]).ports, mounts })).toBe(true)
  })

  test('a family is as deep as it may be, and a circle has no end', async () => {
    const line = Array.from({ length: DEEPEST_FAMILY + 2 }, (_, at) =>
      tokenItem(`t${at}`, at > 0 ? { parent: `t${at - 1}` } : {}),
    )
    expect(await lives(line, `t${DEEPEST_FAMILY}`)).toBe(true)
    expect(await lives(line, `t${DEEPEST_FAMILY + 1}`)).toBe(false)
    expect(await lives([tokenItem('x', { parent: 'y' }), tokenItem('y', { parent: 'x' })], 'x')).toBe(false)
  })

  test('a token that has lost one is not found', async () => {
    const { ports } = around(family)
    expect(await livingToken('c', { ports, mounts })).toMatchObject({ rev: 'rev-c' })
    expect(await livingToken('c', { ports: around(family.slice(1)).ports, mounts })).toBeUndefined()
    expect(await livingToken('zzz', { ports, mounts })).toBeUndefined()
  })

  test.each<[name: string, parts: Partial<Token>, alive: boolean]>([
    ['before its end', { ttl: 11 }, true],
    ['at its end', { ttl: 10 }, false],
    ['without end', { ttl: 0 }, true],
    ['without its mount', { mount: 'gone' }, false],
  ])('%s it lives: %s', (_, parts, alive) => {
    expect(isAlive(token(parts), { ports: around([]).ports, mounts })).toBe(alive)
  })
})

describe('what follows a revocation', () => {
  test('descendants are removed with the ways to them', async () => {
    const { ports, names } = around(family.slice(1))
    expect(await sweepFamily('a', ports, async () => cluster, NOW + 1)).toBe(3)
    expect(names()).toEqual([])
  })

  test('only as long as there is time', async () => {
    const { ports, names } = around(family.slice(1))
    expect(await sweepFamily('a', ports, async () => cluster, NOW)).toBe(0)
    expect(names()).toHaveLength(6)
  })

  test('children that survive have no parent, and keep their own children', async () => {
    const { ports, stored, names } = around(family)
    expect(await orphanChildren('a', ports, cluster)).toBe(true)
    expect(await childrenOf('a', ports)).toEqual([])
    expect(await childrenOf('b', ports)).toEqual(['c'])
    expect((stored.get('token#b\ntoken') as Item<'token'>).data).not.toHaveProperty('parent')
    expect((stored.get('token#c\ntoken') as Item<'token'>).data.parent).toBe('b')
    expect(names()).toContain('token token#a token')
  })

  test('a child that was used meanwhile is to be tried again', async () => {
    const { ports, stored } = around(family, ['conflict', 'done'])
    expect(await orphanChildren('a', ports, cluster)).toBe(false)
    expect((stored.get('token#b\ntoken') as Item<'token'>).data.parent).toBe('a')
  })

  test('a way that leads nowhere is removed', async () => {
    const { ports, names } = around([pointer('a', 'zzz')])
    expect(await orphanChildren('a', ports, cluster)).toBe(true)
    expect(names()).toEqual([])
  })
})
