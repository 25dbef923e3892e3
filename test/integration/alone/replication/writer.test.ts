import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { ttlOfGeneration } from '../../../../shared/journal/generation.ts'
import { createNoopEntry } from '../../../../shared/journal/journal-entry.ts'
import { bucketMarkText, formatEpoch, positionText } from '../../../../shared/journal/position.ts'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import { readStoredLeafInTree } from '../../../../shared/journal/tree.ts'
import type { ClusterRead } from '../../../../shared/ports.ts'
import {
  type Change,
  createItem,
  putItem as putAny,
  removeItem,
  removeItemIfUnchanged,
  removeItemUnlessChanged,
  replaceItem,
  setItemCounter,
} from '../../../../shared/storage/changes.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { cluster, fresh, storage } from '../../../support/service/cluster.ts'
import { begun, differences, replayed, standing, wrongSums } from '../../../support/service/journal.ts'
import { raw, tableStore } from '../../../support/tables/store.ts'

// Tests a journaled commit on the engine: its result equals the result of a plain commit, positions have no
// holes, journal entries name the real changes, and sums equal the items.

const { store, journal, clock } = tableStore(cluster)
let record = {} as ClusterRead['record']
let owner = ''
const as = (): ClusterRead => ({ record, readAt: clock.ms })
const commit = (...changes: Change[]) => store.commit(changes, as())
const place = (name: string) => key('sts-role', owner, name)
const data = (role: string) => ({ role, externalId: '' })
const put = (name: string, role = name) => createItem(place(name), data(role))
const own = ({ pk }: { pk: string }) => pk.startsWith(owner) || pk.startsWith(`token#${owner}`)

async function stored(name: string): Promise<Item<'sts-role'>> {
  const [item] = await store.read([place(name)])
  if (!item) throw new Error(`${name} is not there`)
  return item
}
const roles = async (...names: string[]) => (await store.read(names.map(place))).map(item => item?.data.role)
const operations = async () => (await storage.calls()).map(call => call.operation)

/** Checks that the journal has no holes and agrees with the items. */
async function sound(): Promise<void> {
  const { holes, torn } = await replayed(journal)
  expect({ holes, torn }).toEqual({ holes: [], torn: [] })
  expect(await differences(journal, own)).toEqual([])
  expect(await wrongSums(journal, record.treeId ?? '')).toEqual([])
}

beforeEach(async () => {
  owner = fresh('owner')
  clock.ms = Date.now()
  record = { ...record, ...(await begun(journal)) }
  await storage.reset()
})

describe('the cost of a journaled commit', () => {
  test('is a position and a transaction if all items were read', async () => {
    await commit(put('a'))
    const a = await stored('a')
    await storage.reset()
    expect(await commit(replaceItem(a, a, data('b')), put('c'))).toBe('done')
    expect(await operations()).toEqual(['UpdateItem', 'TransactWriteItems'])
  })

  test('is one more read if an item must be read first', async () => {
    expect(await commit(putAny(place('a'), data('a')), removeItem(place('b')))).toBe('done')
    expect(await operations()).toEqual(['BatchGetItem', 'UpdateItem', 'TransactWriteItems'])
  })

  test('without changes is only the read, and there is no journal entry', async () => {
    expect(await commit(removeItem(place('a')))).toBe('done')
    expect(await operations()).toEqual(['BatchGetItem'])
    expect((await journal.head())?.last).toBe(0)
  })

  test('of items that are not replicated is the same as before, without a journal entry', async () => {
    const mine = key('tidy-stamp', owner, 'identity-accesslist')
    expect(await commit(createItem(mine, { seenVersion: '', appliedVersion: '' }))).toBe('done')
    expect(await operations()).toEqual(['PutItem'])
  })

  test('of replicated and other items is one transaction, all or nothing', async () => {
    const mine = key('tidy-stamp', owner, 'identity-accesslist')
    expect(await commit(createItem(mine, { seenVersion: '1', appliedVersion: '' }), put('a'))).toBe('done')
    expect(await commit(createItem(mine, { seenVersion: '2', appliedVersion: '' }), put('b'))).toBe(
      'conflict',
    )
    expect(await roles('a', 'b')).toEqual(['a', undefined])
    expect((await store.read([mine]))[0]?.data.seenVersion).toBe('1')
    await sound()
  })
})

describe('conditions of a journaled commit', () => {
  test('are those of a plain commit, and leave no hole in the journal after a failed condition', async () => {
    expect(await commit(put('a', 'first'))).toBe('done')
    expect(await commit(put('a', 'second'))).toBe('conflict')
    const read = await stored('a')
    expect(await commit(replaceItem(read, read, data('second')))).toBe('done')
    expect(await commit(replaceItem(read, read, data('third')))).toBe('conflict')
    expect(await commit(removeItemIfUnchanged(read), put('b'))).toBe('conflict')
    const now = await stored('a')
    expect(await commit(removeItemIfUnchanged(now))).toBe('done')
    expect(await commit(removeItemIfUnchanged(now))).toBe('conflict')
    expect(await commit(removeItem(place('a')))).toBe('done')
    expect(await roles('a', 'b')).toEqual([undefined, undefined])
    await sound()
  })

  test('on any existing item are retried after a lost race, and never conflict', async () => {
    const verdicts = await Promise.all(
      Array.from({ length: 4 }, (_, index) => commit(putAny(place('a'), data(`writer ${index}`)))),
    )
    expect(verdicts).toEqual(Array(4).fill('done'))
    await sound()
  })

  test('count an expired item as absent, and its leaf leaves the tree', async () => {
    const token = key('token', `${owner}x`)
    const soon = Math.floor(clock.ms / 1000) + 100
    const make = () => createItem(token, { createdAt: 1 } as never, { expires: soon + 1000 })
    expect(await commit(createItem(token, { createdAt: 0 } as never, { expires: soon }))).toBe('done')
    expect(await commit(make())).toBe('conflict')
    clock.ms = soon * 1000
    expect(await commit(make())).toBe('done')
    await sound()
  })

  test('of a deletion if unchanged yield to a change only', async () => {
    await commit(put('a'), put('b'))
    const [a, b] = [await stored('a'), await stored('b')]
    expect(await commit(removeItemUnlessChanged(a))).toBe('done')
    expect(await commit(removeItemUnlessChanged(a))).toBe('done')
    expect(await commit(removeItemUnlessChanged(a), replaceItem(b, b, data('new')))).toBe('done')
    const { entries } = await replayed(journal)
    expect(entries.flatMap(entry => (entry?.noop ? [] : [entry?.body.length]))).toEqual([2, 1, 1])
    expect(await commit(removeItemUnlessChanged(b))).toBe('conflict')
    expect(await roles('a', 'b')).toEqual([undefined, 'new'])
    await sound()
  })

  test('let one of several concurrent writers of the same read win', async () => {
    await commit(put('a', 'before'))
    const read = await stored('a')
    const verdicts = await Promise.all(
      Array.from({ length: 8 }, (_, index) => commit(replaceItem(read, read, data(`writer ${index}`)))),
    )
    expect(verdicts.filter(verdict => verdict === 'done')).toHaveLength(1)
    await sound()
  })

  test('fail with a conflict in an ended epoch, so that the caller reads the record again', async () => {
    record = { ...record, epoch: formatEpoch(999, owner) }
    expect(await commit(put('a'))).toBe('conflict')
    expect(await roles('a')).toEqual([undefined])
  })

  test('after the exact end are not retried: the error says that another cluster takes over', async () => {
    const head = await journal.head()
    if (head) await journal.moveHead(headMoves.close(head, '', 0))
    await storage.reset()
    await expect(commit(put('a'))).rejects.toMatchObject({
      code: 'busy',
      retryAfter: 2,
      message: expect.stringMatching(
        /another cluster can take over.*repeat the request.*promote the other.*this cluster with force/,
      ),
    })
    expect(await operations()).toEqual(['UpdateItem', 'BatchGetItem'])
    expect(await roles('a')).toEqual([undefined])
  })
})

describe('counting down the uses of a token', () => {
  const token = () => key('token', `${owner}x`)
  const expires = () => Math.floor(clock.ms / 1000) + 1000

  test('writes the whole item into its journal entry, and needs no read', async () => {
    await commit(createItem(token(), { createdAt: 1, numUses: 3 } as never, { expires: expires() }))
    const [item] = await store.read([token()])
    if (!item) throw new Error('no token')
    await storage.reset()
    expect(await commit(setItemCounter(item, 2))).toBe('done')
    expect(await operations()).toEqual(['UpdateItem', 'TransactWriteItems'])
    expect((await store.read([token()]))[0]?.data.numUses).toBe(2)
    expect(await commit(setItemCounter(item, 1))).toBe('conflict')
    await sound()
  })
})

describe('expiry times', () => {
  test('let DynamoDB delete a token only after its generation', async () => {
    const now = Math.floor(clock.ms / 1000)
    await commit(createItem(key('token', `${owner}x`), { createdAt: 1 } as never, { expires: now + 600 }))
    const item = await raw(cluster, key('token', `${owner}x`))
    const generation = Math.ceil((now + 600) / 345_600)
    expect(item?.['ttl']).toBe(ttlOfGeneration(generation))
    expect(readStoredLeafInTree(item as never, record.treeId ?? '')?.gen).toBe(generation)
    await sound()
  })

  test('are absent on a token of ten years', async () => {
    const now = Math.floor(clock.ms / 1000)
    await commit(
      createItem(key('token', `${owner}x`), { createdAt: 1 } as never, { expires: now + 10 * 365 * 86_400 }),
    )
    const item = await raw(cluster, key('token', `${owner}x`))
    expect([item?.['ttl'], readStoredLeafInTree(item as never, record.treeId ?? '')?.gen]).toEqual([
      undefined,
      null,
    ])
    await sound()
  })

  test('let DynamoDB delete expired items only', async () => {
    await commit(createItem(key('deny', owner, 'tag'), { createdAt: 0, expiresAt: 0 }, { due: 5, ttl: 9 }))
    const item = await raw(cluster, key('deny', owner, 'tag'))
    expect([item?.['due'], item?.['ttl']]).toEqual([5, undefined])
    await sound()
  })

  test('let DynamoDB delete items at any later time without changing a sum', async () => {
    const now = Math.floor(clock.ms / 1000)
    await commit(
      createItem(key('token', `${owner}x`), { createdAt: 1 } as never, { expires: now + 600 }),
      put('a'),
    )
    const item = (await standing(journal)).find(one => one.kind === 'token' && own(one))
    if (!item?.ttl) throw new Error('no ttl')
    await journal.transact([{ kind: 'item', item, put: null, if: { rev: item.rev } }])
    expect(await wrongSums(journal, record.treeId ?? '', item.ttl)).toEqual([])
    clock.ms = item.ttl * 1000
    expect(
      await commit(
        createItem(key('token', `${owner}x`), { createdAt: 2 } as never, { expires: item.ttl + 600 }),
      ),
    ).toBe('done')
    expect(await wrongSums(journal, record.treeId ?? '', item.ttl)).toEqual([])
  })
})

describe('journal positions', () => {
  const shapes: [string, () => Promise<Change[]>, unknown[]][] = [
    ['a creation', async () => [put('b')], ['a', 'b']],
    [
      'a replacement and a creation',
      async () => [await stored('a').then(a => replaceItem(a, a, data('new'))), put('b')],
      ['new', 'b'],
    ],
    ['a deletion of whatever is there', async () => [removeItem(place('a'))], [undefined, undefined]],
    ['a deletion as read', async () => [removeItemIfUnchanged(await stored('a'))], [undefined, undefined]],
    [
      'a deletion unless changed',
      async () => [removeItemUnlessChanged(await stored('a'))],
      [undefined, undefined],
    ],
  ]
  const cuts = ['before', 'after'].flatMap(when =>
    [0, 1, 2, 3].map(skip => ({ when: when as 'before' | 'after', skip })),
  )

  /** Fills holes in the journal as the worker does after a process died. */
  async function filled(): Promise<void> {
    const { head, holes } = await replayed(journal)
    for (const seq of holes) await journal.putEntry(createNoopEntry({ epoch: head.epoch, seq }, 0))
  }

  test.each(shapes)(
    '%s whose process dies at any call is all or nothing, and sound after the hole is filled',
    async (_, make, after) => {
      for (const cut of cuts) {
        owner = fresh('owner')
        await commit(put('a'))
        const changes = await make()
        await storage.reset()
        await storage.fault({ kind: 'reset', ...cut, times: 1000 })
        const verdict = await commit(...changes).catch(error => error.code)
        expect(['done', 'busy']).toContain(verdict)
        await storage.reset()
        await filled()
        const found = await roles('a', 'b')
        expect([after, ['a', undefined]]).toContainEqual(found)
        if (verdict === 'done') expect(found).toEqual(after)
      }
      await sound()
    },
  )

  test.each(shapes)(
    '%s whose answer is lost at any call is written once, and reported as written',
    async (_, make, after) => {
      for (const cut of cuts) {
        owner = fresh('owner')
        await commit(put('a'))
        const changes = await make()
        await storage.reset()
        await storage.fault({ kind: 'reset', ...cut })
        expect(await commit(...changes)).toBe('done')
        await storage.reset()
        await filled()
        expect(await roles('a', 'b')).toEqual(after)
      }
      await sound()
    },
  )

  test.each(['throttle', 'conflict', 'error'] as const)(
    'a busy engine (%s) is retried with new positions',
    async kind => {
      await storage.fault({ kind, when: 'before', skip: 1, times: 1, operation: 'TransactWriteItems' })
      await storage.fault({ kind, when: 'before', skip: 0, times: 1, operation: 'TransactWriteItems' })
      expect(await commit(put('a'), put('b'))).toBe('done')
      await sound()
    },
  )

  test('a commit tries at most five positions, then fails as busy; all five positions are closed', async () => {
    await storage.fault({
      kind: 'conflict',
      when: 'before',
      skip: 0,
      times: 1000,
      operation: 'TransactWriteItems',
    })
    await expect(commit(put('a'))).rejects.toMatchObject({ code: 'busy' })
    await storage.reset()
    const { head, entries } = await replayed(journal)
    expect([head.last, entries.every(entry => entry?.noop)]).toEqual([5, true])
    expect(await roles('a')).toEqual([undefined])
    await sound()
  })

  test('a position that another process closed is abandoned, and the commit takes another one', async () => {
    const { epoch = '' } = record
    await journal.putEntry(createNoopEntry({ epoch, seq: 1 }, 0))
    expect(await commit(put('a'))).toBe('done')
    const { entries } = await replayed(journal)
    expect(entries.map(entry => entry?.noop ?? false)).toEqual([true, false])
    await sound()
  })

  test('a late writer of a bucket takes a new position, because marks only rise', async () => {
    await commit(put('a'))
    const { epoch = '', treeId = '' } = record
    const { incarnation = 0 } = (await journal.head()) ?? {}
    const mark = bucketMarkText(incarnation, positionText({ epoch, seq: 3 }))
    const [a] = (await standing(journal)).filter(own)
    const at = a?.bucket?.lastIndexOf('/') ?? 0
    const bucket = { pk: a?.bucket?.slice(0, at) ?? '', sk: a?.bucket?.slice(at + 1) ?? '' }
    await journal.transact([{ kind: 'bucket', bucket, sums: new Map(), mark }])
    expect(bucket.pk).toContain(treeId)
    expect(await commit(replaceItem(await stored('a'), await stored('a'), data('new')))).toBe('done')
    expect((await journal.head())?.last).toBe(4)
    await sound()
  })

  test('no element of a transaction is shared by all commits', async () => {
    await commit(put('a'))
    await commit(put('b'))
    const { entries } = await replayed(journal)
    expect(entries.map(entry => entry?.body.map(change => change.sk))).toEqual([['a'], ['b']])
  })
})

describe('concurrent commits', () => {
  test('of 64 writers to few items: entries are dense, the journal replays to the table, and sums are right', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    await commit(...names.map(name => put(name)))
    const verdicts = await Promise.all(
      Array.from({ length: 64 }, async (_, index) => {
        const [one, other] = [names[index % 8] ?? '', names[(index * 3 + 1) % 8] ?? '']
        const [a, b] = [await stored(one), await stored(other)]
        const changes =
          one === other
            ? [replaceItem(a, a, data(`${index}`))]
            : [replaceItem(a, a, data(`${index}`)), replaceItem(b, b, data(`${index}`))]
        return commit(...changes).catch(error => error.code)
      }),
    )
    expect(verdicts).toContain('done')
    for (const verdict of verdicts) expect(['done', 'conflict', 'busy']).toContain(verdict)
    await sound()
  })

  test('in any sequence leave the journal sound', async () => {
    const change = fc.record({
      name: fc.constantFrom('a', 'b', 'c'),
      act: fc.constantFrom('put', 'any', 'remove', 'replace'),
      text: fc.string(),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uniqueArray(change, { minLength: 1, maxLength: 3, selector: one => one.name }), {
          maxLength: 12,
        }),
        async commits => {
          for (const wanted of commits) {
            const items = await store.read(wanted.map(({ name }) => place(name)))
            await commit(
              ...wanted.map(({ name, act, text }, index) => {
                const item = items[index] as Item<'sts-role'> | undefined
                if (act === 'put') return createItem(place(name), data(text))
                if (act === 'any') return putAny(place(name), data(text))
                return act === 'remove' || !item
                  ? removeItem(place(name))
                  : replaceItem(item, item, data(text))
              }),
            )
          }
        },
      ),
      { numRuns: 15 },
    )
    await sound()
  })
})

describe('a request that read the cluster record before a journal was begun', () => {
  const late = (since?: string): ClusterRead => ({
    record: { ...record, mode: 'disabled', ...(since === undefined ? {} : { journalStart: since }) },
    readAt: clock.ms,
  })

  test('changes no item that the journal has written', async () => {
    await commit(put('a'))
    const a = await stored('a')
    for (const change of [
      putAny(place('a'), data('late')),
      removeItem(place('a')),
      replaceItem(a, a, data('late')),
      removeItemIfUnchanged(a),
    ])
      for (const more of [[], [createItem(place('late'), data('late'))]])
        expect(await store.commit([change, ...more], late())).toBe('conflict')
    expect(await roles('a', 'late')).toEqual(['a', undefined])
    await sound()
  })

  test('writes plain items, and items of an ended journal', async () => {
    expect(await store.commit([put('b')], late())).toBe('done')
    expect(await store.commit([putAny(place('b'), data('b2'))], late())).toBe('done')
    await commit(put('a'))
    const { epoch } = record
    expect(await store.commit([putAny(place('a'), data('late'))], late(`${epoch}/000000000001`))).toBe(
      'conflict',
    )
    expect(await store.commit([putAny(place('a'), data('late'))], late(`${epoch}/000000000002`))).toBe('done')
    expect(await store.commit([removeItem(place('a'))], late(`${epoch}/000000000002`))).toBe('done')
  })

  test('begins no attempt once the record is 20 s old', async () => {
    const old = { ...late(), readAt: clock.ms - 20_001 }
    await expect(store.commit([put('b')], old)).rejects.toMatchObject({ code: 'busy' })
    await storage.fault({ kind: 'throttle', when: 'before', skip: 0, times: 6 })
    const { clock: own, store: slow } = tableStore(cluster, {
      sleep: ms => {
        own.ms += ms + 15_000
      },
    })
    own.ms = clock.ms
    await expect(slow.commit([put('b')], { ...late(), readAt: clock.ms })).rejects.toMatchObject({
      code: 'busy',
    })
    await storage.reset()
    expect(await roles('b')).toEqual([undefined])
  })

  test('leaves a plain item, which the next writer adds to the journal', async () => {
    await store.commit([put('a')], late())
    expect(await commit(replaceItem(await stored('a'), await stored('a'), data('new')))).toBe('done')
    await sound()
  })
})

describe('backfill', () => {
  test('gives items their place at one position, and yields to concurrent writers', async () => {
    const late: ClusterRead = { record: { ...record, mode: 'disabled' }, readAt: clock.ms }
    await store.commit([put('a'), put('b')], late)
    const items = (await standing(journal)).filter(own)
    await commit(replaceItem(await stored('a'), await stored('a'), data('changed')))
    expect(await journal.backfill(items, as())).toBe('conflict')
    expect(
      await journal.backfill(
        items.filter(item => item.sk === 'b'),
        as(),
      ),
    ).toBe('done')
    expect(await roles('a', 'b')).toEqual(['changed', 'b'])
    await sound()
  })

  test('is undone by detach: plain items with the earlier expiry and revision', async () => {
    const now = Math.floor(clock.ms / 1000)
    await commit(
      put('a'),
      createItem(key('token', `${owner}x`), { createdAt: 1 } as never, { expires: now + 600 }),
    )
    const items = (await standing(journal)).filter(own)
    await commit(replaceItem(await stored('a'), await stored('a'), data('changed')))
    expect(await journal.detach(items)).toBe(1)
    const token = await raw(cluster, key('token', `${owner}x`))
    const before = items.find(item => item.kind === 'token')
    expect(token).toEqual({
      pk: before?.pk,
      sk: 'token',
      kind: 'token',
      rev: before?.rev,
      data: { createdAt: 1 },
      expires: now + 600,
      ttl: now + 4200,
    })
  })
})

describe('a cluster that follows another one', () => {
  test.each([
    ['secondary', 'path_disabled'],
    ['bootstrapping', 'busy'],
  ] as const)('%s: writes no replicated items, and writes its own items', async (mode, code) => {
    const cluster: ClusterRead = { record: { ...record, mode }, readAt: clock.ms }
    await expect(store.commit([put('a')], cluster)).rejects.toMatchObject({ code })
    const mine = key('tidy-stamp', owner, 'identity-accesslist')
    expect(await store.commit([createItem(mine, { seenVersion: '', appliedVersion: '' })], cluster)).toBe(
      'done',
    )
  })
})
