import '../../../support/service/over-connections.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ClusterRead, ItemStore } from '../../../../shared/ports.ts'
import { createItem, removeItem } from '../../../../shared/storage/changes.ts'
import { type Item, itemPartitions, key } from '../../../../shared/storage/kinds.ts'
import { cluster, fresh, storage } from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'
import { tableStore } from '../../../support/tables/store.ts'

withoutWaiting()

// The store adapter against the engine: guarantees that all readers of the tables rely on.

const { store, clock } = tableStore(cluster)
const as = (): ClusterRead => ({ record: {} as ClusterRead['record'], readAt: clock.ms })

const satellite = (owner: string, name: string, externalId = '') =>
  createItem(key('sts-role', owner, name), { role: name, externalId })

async function scanned(index: number, of: number): Promise<Item<'token'>[]> {
  return (await all(store.scan('token', { index, of }))).flatMap(({ items }) => items)
}

async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const page of pages) found.push(page)
  return found
}

let owner = ''
beforeEach(async () => {
  owner = fresh('owner')
  clock.ms = Date.now()
  await storage.reset()
})

describe('a batch read', () => {
  test('returns items in the order of the keys, undefined for missing items, and the same item for a repeated key', async () => {
    await store.commit([satellite(owner, 'a'), satellite(owner, 'b')], as())
    const [a, b, none] = (['a', 'b', 'none'] as const).map(name => key('sts-role', owner, name))
    if (!a || !b || !none) throw new Error('keys')
    const found = await store.read([b, none, a, b])
    expect(found.map(item => item?.sk)).toEqual(['b', undefined, 'a', 'b'])
    expect(found[2]?.data).toEqual({ role: 'a', externalId: '' })
  })

  test('of both tables is one call, and without keys no call', async () => {
    await storage.reset()
    expect(await store.read([])).toEqual([])
    await store.read([key('cluster'), key('mounts')])
    expect((await storage.calls()).map(call => call.operation)).toEqual(['BatchGetItem'])
  })

  test('of more than a hundred keys is complete', async () => {
    const names = Array.from({ length: 230 }, (_, index) => `n${String(index).padStart(3, '0')}`)
    for (let at = 0; at < names.length; at += 100)
      await store.commit(
        names.slice(at, at + 100).map(name => satellite(owner, name)),
        as(),
      )
    const found = await store.read(names.map(name => key('sts-role', owner, name)))
    expect(found.map(item => item?.sk)).toEqual(names)
  })

  test('repeats keys that were not processed', async () => {
    await store.commit(
      ['a', 'b', 'c'].map(name => satellite(owner, name)),
      as(),
    )
    await storage.reset()
    await storage.fault({ kind: 'unprocessed', skip: 0, times: 2 })
    const found = await store.read(['a', 'b', 'c'].map(name => key('sts-role', owner, name)))
    expect(found.map(item => item?.sk)).toEqual(['a', 'b', 'c'])
    expect(await storage.calls()).toHaveLength(3)
  })

  test('fails as busy when keys are never processed', async () => {
    await store.commit(
      Array.from({ length: 9 }, (_, index) => satellite(owner, `n${index}`)),
      as(),
    )
    await storage.reset()
    await storage.fault({ kind: 'unprocessed', skip: 0, times: 100 })
    const keys = Array.from({ length: 9 }, (_, index) => key('sts-role', owner, `n${index}`))
    await expect(store.read(keys)).rejects.toMatchObject({ code: 'busy', retryAfter: 1 })
    expect((await storage.calls()).length).toBeLessThanOrEqual(5)
  })

  test('keeps items with the same key in both tables apart', async () => {
    const [settings, run] = [
      key('tidy-settings', owner, 'identity-accesslist'),
      key('tidy-run', owner, 'identity-accesslist'),
    ]
    await store.commit([createItem(settings, { safetyBuffer: 7, disablePeriodicTidy: true })], as())
    expect((await store.read([settings, run])).map(item => item?.kind)).toEqual(['tidy-settings', undefined])
    expect((await store.read([run, settings])).map(item => item?.kind)).toEqual([undefined, 'tidy-settings'])
  })

  test('ignores an item of another kind at the same key', async () => {
    await store.commit([createItem(key('child', owner, 'wrapped'), {})], as())
    expect(await store.read([key('wrapped', owner)])).toEqual([undefined])
  })
})

describe('an item that expires', () => {
  const end = 2_000_000_000
  afterEach(async () => {
    await store.commit([removeItem(key('token', owner))], as())
  })
  const token = () => createItem(key('token', owner), { meta: null } as never, { expires: end })

  test.each([
    { at: 'a second before', ms: end * 1000 - 1, there: true },
    { at: 'at its end', ms: end * 1000, there: false },
    { at: 'later', ms: end * 1000 + 5000, there: false },
  ])('is visible to reads, listings and scans until its end: $at', async ({ ms, there }) => {
    await store.commit([token()], as())
    clock.ms = ms
    const [read] = await store.read([key('token', owner)])
    const listed = await store.list({ kind: 'token', pks: [`token#${owner}`] })
    const everywhere = await scanned(0, 1)
    expect([
      read !== undefined,
      listed.length === 1,
      everywhere.some(item => item.pk === `token#${owner}`),
    ]).toEqual([there, there, there])
  })

  test('can be created again after its end', async () => {
    await store.commit([token()], as())
    expect(await store.commit([token()], as())).toBe('conflict')
    clock.ms = end * 1000
    expect(await store.commit([token()], as())).toBe('done')
  })
})

test('an item that a sweep removes stays visible after the item is due', async () => {
  await store.commit(
    [createItem(key('deny', owner, 'tag'), { createdAt: 0, expiresAt: 0 }, { due: 1, ttl: 4_000_000_000 })],
    as(),
  )
  expect((await store.read([key('deny', owner, 'tag')]))[0]?.sk).toBe('tag')
  expect(await store.list(itemPartitions('deny', owner))).toHaveLength(1)
})

describe('a listing', () => {
  const names = Array.from({ length: 70 }, (_, index) => `i-${String(index * 7919).padStart(6, '0')}`).sort()

  const denied = (name: string) => createItem(key('deny', owner, name), { createdAt: 0, expiresAt: 0 })
  const listed = async (page?: Parameters<ItemStore['list']>[1]) =>
    (await store.list(itemPartitions('deny', owner), page)).map(item => item.sk)

  beforeEach(async () => {
    await store.commit(names.map(denied), as())
  })

  test('over all partitions is sorted and complete', async () => {
    expect(new Set(names.map(name => key('deny', owner, name).pk)).size).toBeGreaterThan(8)
    expect(await listed()).toEqual(names)
  })

  test('in pages returns every name once', async () => {
    const pages: string[][] = []
    for (let after: string | undefined; ; after = pages.at(-1)?.at(-1)) {
      const page = await listed({ limit: 9, ...(after === undefined ? {} : { after }) })
      if (page.length === 0) break
      pages.push(page)
    }
    expect(pages.flat()).toEqual(names)
    expect(pages.slice(0, -1).every(page => page.length === 9)).toBe(true)
  })

  test('reads a number of items in proportion to its limit, over any number of partitions', async () => {
    const many = Array.from({ length: 800 }, (_, index) => `m-${String(index).padStart(3, '0')}`)
    for (let at = 0; at < many.length; at += 100)
      await store.commit(many.slice(at, at + 100).map(denied), as())
    for (const after of ['m-', many[99], many[699]]) {
      await storage.reset()
      const page = await listed({ limit: 100, after: after ?? '' })
      expect(page).toEqual(many.filter(name => name > (after ?? '')).slice(0, 100))
      const read = (await storage.calls()).reduce((sum, call) => sum + call.scanned, 0)
      expect(read).toBeLessThan(300)
    }
  })

  test('starts after a name that does not exist', async () => {
    expect(await listed({ after: 'i-0', limit: 2 })).toEqual(names.slice(0, 2))
    expect(await listed({ after: `${names[3]}x`, limit: 1 })).toEqual([names[4]])
    expect(await listed({ after: 'z' })).toEqual([])
  })

  test('of more than one engine page is complete', async () => {
    const large = 'x'.repeat(300_000)
    for (const name of ['a', 'b', 'c', 'd', 'e']) await store.commit([satellite(owner, name, large)], as())
    await storage.reset()
    const found = await store.list(itemPartitions('sts-role', owner))
    expect(found.map(item => item.sk)).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect((await storage.calls()).length).toBeGreaterThan(1)
  })
})

describe('the index of due items', () => {
  const entry = (name: string, due?: number) =>
    createItem(key('deny', owner, name), { createdAt: 0, expiresAt: 0 }, due === undefined ? {} : { due })

  test('returns items due before the given time with their revision, and no other items', async () => {
    await store.commit([entry('past', 99), entry('now', 100), entry('later', 101), entry('never')], as())
    const found = (await all(store.due(itemPartitions('deny', owner), 100))).flat()
    const [past] = await store.read([key('deny', owner, 'past')])
    expect(found).toEqual([{ kind: 'deny', pk: past?.pk, sk: 'past', rev: past?.rev, due: 99 }])
  })

  test('costs calls for due items only, not for all stored items', async () => {
    const cost = async () => {
      await storage.reset()
      await all(store.due(itemPartitions('deny', owner), 100))
      return (await storage.calls()).length
    }
    await store.commit([entry('past', 1)], as())
    const few = await cost()
    for (let at = 0; at < 300; at += 100)
      await store.commit(
        Array.from({ length: 100 }, (_, index) => entry(`later${at + index}`, 1000)),
        as(),
      )
    expect(await cost()).toBe(few)
  })
})

test('a scan in segments finds every item once', async () => {
  const accessors = Array.from({ length: 40 }, (_, index) => `${owner}-${index}`)
  await store.commit(
    accessors.map(name => createItem(key('token', name), { meta: null } as never)),
    as(),
  )
  const segments = await Promise.all([0, 1, 2].map(index => scanned(index, 3)))
  const ours = segments
    .flat()
    .map(item => item.pk.replace('token#', ''))
    .filter(name => name.startsWith(owner))
  expect(ours.sort()).toEqual([...accessors].sort())
  await store.commit(
    accessors.map(name => removeItem(key('token', name))),
    as(),
  )
})
