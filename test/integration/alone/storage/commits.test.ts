import '../../../support/service/over-connections.ts'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ClusterRead } from '../../../../shared/ports.ts'
import {
  type Change,
  createItem,
  removeItem,
  removeItemIfUnchanged,
  removeItemUnlessChanged,
  replaceItem,
} from '../../../../shared/storage/changes.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { cluster, fresh, storage } from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'
import { tableStore } from '../../../support/tables/store.ts'

withoutWaiting()

// Tests `commit`, the only writer, on the engine. A commit writes all or nothing, never overwrites a changed
// item, and reports the true result even when an answer is lost.

const { store, clock } = tableStore(cluster)
const as = (): ClusterRead => ({ record: {} as ClusterRead['record'], readAt: clock.ms })
const commit = (...changes: Change[]) => store.commit(changes, as())

let owner = ''
const place = (name: string) => key('sts-role', owner, name)
const data = (role: string) => ({ role, externalId: '' })
const put = (name: string, role = name) => createItem(place(name), data(role))

async function stored(name: string): Promise<Item<'sts-role'>> {
  const [item] = await store.read([place(name)])
  if (!item) throw new Error(`${name} is not there`)
  return item
}

/** Returns the stored roles, by name. */
const roles = async (...names: string[]) => (await store.read(names.map(place))).map(item => item?.data.role)

beforeEach(async () => {
  owner = fresh('owner')
  clock.ms = Date.now()
  await storage.reset()
})

describe('conditions', () => {
  test('creating an existing item is a conflict and changes nothing', async () => {
    expect(await commit(put('a', 'first'))).toBe('done')
    expect(await commit(put('a', 'second'))).toBe('conflict')
    expect(await roles('a')).toEqual(['first'])
  })

  test('replacing or deleting an item as read works once, and a replacement gets a new revision', async () => {
    await commit(put('a', 'first'))
    const read = await stored('a')
    expect(await commit(replaceItem(read, read, data('second')))).toBe('done')
    const now = await stored('a')
    expect(now.rev).not.toBe(read.rev)
    expect(await commit(replaceItem(read, read, data('third')))).toBe('conflict')
    expect(await commit(removeItemIfUnchanged(read))).toBe('conflict')
    expect(await roles('a')).toEqual(['second'])
    expect(await commit(removeItemIfUnchanged(now))).toBe('done')
    expect(await commit(removeItemIfUnchanged(now))).toBe('conflict')
  })

  test('replacing a missing item is a conflict once the item exists', async () => {
    expect(await commit(replaceItem(place('a'), undefined, data('first')))).toBe('done')
    expect(await commit(replaceItem(place('a'), undefined, data('second')))).toBe('conflict')
  })

  test('deleting a missing item unconditionally succeeds', async () => {
    expect(await commit(removeItem(place('a')))).toBe('done')
  })

  test('removeItemUnlessChanged is a conflict for a changed item, and succeeds for a missing one', async () => {
    await commit(put('a', 'first'), put('b'))
    const read = await stored('a')
    expect(await commit(replaceItem(read, read, data('second')))).toBe('done')
    expect(await commit(removeItemUnlessChanged(read))).toBe('conflict')
    expect(await commit(removeItemUnlessChanged(read), removeItemUnlessChanged(await stored('b')))).toBe(
      'conflict',
    )
    expect(await roles('a', 'b')).toEqual(['second', 'b'])
    const now = await stored('a')
    for (const _ of ['once', 'twice']) expect(await commit(removeItemUnlessChanged(now))).toBe('done')
    expect(await commit(removeItemUnlessChanged(now), removeItemUnlessChanged(await stored('b')))).toBe(
      'done',
    )
    expect(await roles('a', 'b')).toEqual([undefined, undefined])
  })

  test('one failed condition among many changes leaves all items unchanged', async () => {
    await commit(put('a', 'first'), put('b', 'first'))
    const a = await stored('a')
    const verdict = await commit(
      put('c'),
      replaceItem(a, a, data('second')),
      removeItem(place('b')),
      put('b', 'again'),
    ).catch(() => 'refused')
    expect(verdict).not.toBe('done')
    expect(await commit(put('c'), replaceItem(a, a, data('second')), put('b', 'second'))).toBe('conflict')
    expect(await roles('a', 'b', 'c')).toEqual(['first', 'first', undefined])
  })

  test('only one of several concurrent writers that read the same item succeeds', async () => {
    await commit(put('a', 'before'))
    const read = await stored('a')
    const verdicts = await Promise.all(
      Array.from({ length: 8 }, (_, index) => commit(replaceItem(read, read, data(`writer ${index}`)))),
    )
    expect(verdicts.filter(verdict => verdict === 'done')).toHaveLength(1)
    expect(await roles('a')).toEqual([`writer ${verdicts.indexOf('done')}`])
  })
})

const shapes: [string, (read: Item<'sts-role'>) => Change[], unknown[]][] = [
  ['a creation', () => [put('b')], ['a', 'b']],
  ['a replacement', read => [replaceItem(read, read, data('new'))], ['new', undefined]],
  ['a deletion', () => [removeItem(place('a'))], [undefined, undefined]],
  ['a conditional deletion', read => [removeItemIfUnchanged(read)], [undefined, undefined]],
  ['a deletion unless changed', read => [removeItemUnlessChanged(read)], [undefined, undefined]],
  ['a transaction', read => [removeItemIfUnchanged(read), put('b')], [undefined, 'b']],
  ['a transaction of two puts', read => [put('b'), replaceItem(read, read, data('new'))], ['new', 'b']],
  [
    'a transaction with a deletion unless changed',
    read => [removeItemUnlessChanged(read), put('b')],
    [undefined, 'b'],
  ],
]

describe('commits whose answer is lost', () => {
  test.each(shapes)('%s that took effect counts as done', async (_name, changes, after) => {
    await commit(put('a'))
    const read = await stored('a')
    await storage.fault({ kind: 'reset', when: 'after', skip: 0 })
    expect(await commit(...changes(read))).toBe('done')
    expect(await roles('a', 'b')).toEqual(after)
  })

  test.each(shapes)('%s that did not reach the engine is repeated', async (_name, changes, after) => {
    await commit(put('a'))
    const read = await stored('a')
    await storage.fault({ kind: 'reset', when: 'before', skip: 0 })
    expect(await commit(...changes(read))).toBe('done')
    expect(await roles('a', 'b')).toEqual(after)
  })

  test.each(shapes)('%s without any answer is busy, and never half done', async (_name, changes, after) => {
    await commit(put('a'))
    const read = await stored('a')
    await storage.fault({ kind: 'reset', when: 'after', skip: 0, whole: true })
    await expect(commit(...changes(read))).rejects.toMatchObject({ code: 'busy', retryAfter: 1 })
    expect(await roles('a', 'b')).toEqual(after)
  })
})

describe('while the engine is busy', () => {
  test.each(['throttle', 'conflict', 'error'] as const)(
    'a commit is repeated and succeeds: %s four times',
    async kind => {
      await storage.fault({ kind, when: 'before', skip: 0, times: 4 })
      expect(await commit(put('a'), put('b'))).toBe('done')
      expect(await roles('a', 'b')).toEqual(['a', 'b'])
    },
  )

  test.each(['throttle', 'conflict', 'error'] as const)(
    'a commit fails as busy after a limited number of calls: %s every time',
    async kind => {
      await storage.fault({ kind, when: 'before', skip: 0, times: 1000 })
      await expect(commit(put('a'), put('b'))).rejects.toMatchObject({ code: 'busy', retryAfter: 1 })
      expect((await storage.calls()).length).toBeLessThanOrEqual(15)
      await storage.reset()
      expect(await roles('a', 'b')).toEqual([undefined, undefined])
    },
  )

  test('a read is repeated, then fails as busy', async () => {
    await commit(put('a'))
    await storage.fault({ kind: 'throttle', when: 'before', skip: 0, times: 2 })
    expect(await roles('a')).toEqual(['a'])
    await storage.reset()
    await storage.fault({ kind: 'throttle', when: 'before', skip: 0, times: 1000 })
    await expect(roles('a')).rejects.toMatchObject({ code: 'busy' })
    await expect(store.list({ kind: 'sts-role', pks: [place('a').pk] })).rejects.toMatchObject({
      code: 'busy',
    })
    expect((await storage.calls()).length).toBeLessThanOrEqual(6)
  })

  test('a read fails as busy when the engine does not answer in time', async () => {
    await storage.fault({ kind: 'hold', skip: 0, times: 3 })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const read = expect(roles('a')).rejects.toMatchObject({ code: 'busy' })
    for (let attempt = 1; attempt <= 3; attempt++) {
      while ((await storage.calls()).length < attempt) vi.advanceTimersByTime(1)
      vi.advanceTimersByTime(3000)
    }
    await read
  })
})

describe('items that are too large', () => {
  const large = 'x'.repeat(401 * 1024)

  test.each<[string, Change[]]>([
    ['alone', []],
    ['in a transaction', [removeItem(key('sts-role', 'nobody', 'x'))]],
  ])('a commit with an item over 400 KB is rejected as too large: %s', async (_name, more) => {
    const verdict = commit(put('a', large), ...more)
    await expect(verdict).rejects.toMatchObject({ code: 'too_large' })
    expect(await roles('a')).toEqual([undefined])
  })
})

describe('a name longer than the engine allows', () => {
  const long = 'ü'.repeat(513)

  test('reads as absent, can be deleted, and cannot be stored', async () => {
    expect(await roles(long)).toEqual([undefined])
    expect(await commit(removeItem(place(long)))).toBe('done')
    await expect(commit(put('a'), put(long))).rejects.toMatchObject({ code: 'too_large' })
    expect(await roles('a')).toEqual([undefined])
  })
})

test('a commit is busy when the cluster record was read more than 20 s ago', async () => {
  const read = { ...as(), readAt: clock.ms - 20_001 }
  await expect(store.commit([put('a')], read)).rejects.toMatchObject({ code: 'busy' })
  expect(await storage.calls()).toEqual([])
  expect(await store.commit([put('a')], { ...read, readAt: clock.ms - 19_000 })).toBe('done')
})
