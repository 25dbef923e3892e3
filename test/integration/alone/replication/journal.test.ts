import { beforeEach, describe, expect, test } from 'vitest'
import { systemClock, systemEntropy } from '../../../../shared/adapters/aws/system.ts'
import { createFirstHead, type JournalHead } from '../../../../shared/journal/head.ts'
import { createNoopEntry, type JournalEntry } from '../../../../shared/journal/journal-entry.ts'
import { bucketMarkText, formatEpoch, positionText } from '../../../../shared/journal/position.ts'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import { type LeafLimbs, splitLeafIntoLimbs, treeBucketOf } from '../../../../shared/journal/tree.ts'
import { applyEntryWindow, createApplyTarget } from '../../../../shared/replication/apply/window.ts'
import type { StoredItem } from '../../../../shared/storage/requests.ts'
import { cluster, fresh, storage } from '../../../support/service/cluster.ts'
import { tableStore } from '../../../support/tables/store.ts'

// Tests the journal port on the engine: which writes exclude each other, and that sums stay exact.

const { journal } = tableStore(cluster)

let epoch = ''
let number = 0
const at = (seq: number) => ({ epoch, seq })
const bucket = () => ({ pk: `t#${epoch}#r#00`, sk: '00' })
const noop = (seq: number): JournalEntry => createNoopEntry(at(seq), 1_800_000_000_000)
const item = (name: string, more: Partial<StoredItem> = {}): StoredItem => ({
  kind: 'policy',
  pk: `policy-${epoch}`,
  sk: name,
  rev: 'r1',
  data: { text: name },
  ...more,
})
/** Returns 32 random bytes, none of them zero. */
const LEAF = `${'B'.repeat(42)}A`
const entryWith = (seq: number, id: string, text = 'x'): JournalEntry => {
  const next = { leaf: LEAF, gen: null }
  const stored = item('a', { data: { text }, pos: positionText(at(seq)), leaf: next.leaf })
  const { kind, pk, sk } = stored
  return { ...at(seq), id, at: 1_800_000_000_000, body: [{ kind, pk, sk, prev: null, next, item: stored }] }
}
const lineage = () => [[epoch, 1]] as const

beforeEach(async () => {
  number += 1
  epoch = formatEpoch(number, fresh('0000'))
  await storage.reset()
})

describe('the journal head', () => {
  /** Begins a journal in place of the journal of an earlier test. */
  async function began(): Promise<JournalHead> {
    const old = await journal.head()
    if (old?.mode === 'writing') await journal.moveHead(headMoves.close(old, '', 0))
    const head = await journal.moveHead(headMoves.begin(await journal.head(), epoch))
    if (head === 'refused') throw new Error('no journal has begun')
    return head
  }

  test('is created once, and moves only if the stored head is the expected head', async () => {
    const head = await began()
    expect(head).toMatchObject({ ...createFirstHead(epoch, number), incarnation: expect.any(Number) })
    expect(await journal.moveHead(headMoves.begin(undefined, epoch))).toBe('refused')
    expect(await journal.moveHead(headMoves.trim({ ...head, incarnation: head.incarnation + 1 }, 0))).toBe(
      'refused',
    )
    expect(await journal.moveHead(headMoves.close(head, 'one', 0))).toEqual({
      ...head,
      mode: 'closed',
      successor: 'one',
    })
    expect(await journal.moveHead(headMoves.close(head, 'other', 0))).toBe('refused')
    expect(await journal.head()).toMatchObject({ mode: 'closed', successor: 'one' })
  })

  test('allocates a different position to each caller, only while the given epoch is open', async () => {
    const head = await began()
    const given = await Promise.all(Array.from({ length: 20 }, () => journal.allocate(epoch)))
    const seqs = given.map(one => (one === 'refused' ? 0 : one.seq)).sort((a, b) => a - b)
    expect(seqs).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
    expect(given[0]).toMatchObject({ incarnation: head.incarnation })
    expect(await journal.allocate(formatEpoch(999, epoch))).toBe('refused')
    await journal.moveHead(headMoves.close(head, '', 0))
    expect(await journal.allocate(epoch)).toBe('refused')
  })
})

describe('journal entries', () => {
  test('are written once; writing the same entry again succeeds', async () => {
    const entry = entryWith(1, 'c1')
    expect(await journal.putEntry(entry)).toBe('done')
    expect(await journal.putEntry(entry)).toBe('done')
    expect(await journal.putEntry(noop(1))).toEqual(entry)
    expect(await journal.putEntry(entryWith(1, 'c2'))).toEqual(entry)
    expect(await journal.putEntry(noop(2))).toBe('done')
    expect(await journal.putEntry(entryWith(2, 'c3'))).toEqual(noop(2))
  })

  test('are read by position, with gaps, over more than a hundred positions', async () => {
    await Promise.all(
      Array.from({ length: 130 }, (_, index) =>
        index === 40 ? undefined : journal.putEntry(noop(index + 1)),
      ),
    )
    const found = await journal.entries(lineage(), 0, 130)
    expect(found.map((entry, index) => (entry ? entry.seq : -index - 1))).toEqual(
      Array.from({ length: 130 }, (_, index) => (index === 40 ? -41 : index + 1)),
    )
    expect(await journal.entries(lineage(), 5, 5)).toEqual([])
  })

  test('that are too large for one item are split into several items, and read as one entry', async () => {
    const random = Array.from({ length: 12_000 }, () => Math.random().toString(36)).join('')
    const large: JournalEntry = entryWith(
      1,
      'c1',
      random.repeat(1) +
        [...random].reverse().join('') +
        Array.from({ length: 40_000 }, () => Math.random()).join(''),
    )
    expect(await journal.transact([{ kind: 'entry', entry: large }])).toBe('done')
    expect(await journal.entries(lineage(), 0, 1)).toEqual([large])
    expect(await journal.putEntry(noop(1))).toEqual(large)
    expect(await journal.putEntry(large)).toBe('done')
  })

  test('of another cluster are stored in batches; if a different entry exists, nothing is stored', async () => {
    const random = Array.from({ length: 40_000 }, () => Math.random()).join('')
    const entries = [
      ...Array.from({ length: 60 }, (_, index) =>
        index % 3 ? entryWith(index + 1, `c${index}`) : noop(index + 1),
      ),
      entryWith(61, 'large', random),
    ]
    expect(await journal.putEntries(entries.slice(0, 30))).toBe('done')
    await storage.reset()
    expect(await journal.putEntries(entries)).toBe('done')
    const calls = await storage.calls()
    // existing entries are not stored again, and the other entries are stored 25 per call
    expect(calls.flatMap(({ writes }) => writes).filter(({ sk }) => !sk.includes('.'))).toHaveLength(31)
    // entries that a busy engine did not accept at first are retried, and count once
    expect(new Set(calls.map(one => JSON.stringify([one.operation, one.writes]))).size).toBe(1 + 2 + 1)
    expect(await journal.entries(lineage(), 0, 61)).toEqual(entries)
    expect(await journal.putEntries([noop(62), entryWith(2, 'other')])).toEqual(entries[1])
    expect(await journal.putEntries([noop(62), noop(2)])).toEqual(entries[1])
    expect(await journal.entries(lineage(), 61, 62)).toEqual([undefined])
  })

  test('are undecided after a conflict, and may be written again', async () => {
    await storage.fault({ kind: 'conflict', when: 'before', skip: 0 })
    expect(await journal.putEntry(noop(1))).toBe('conflict')
    expect(await journal.putEntry(noop(1))).toBe('done')
  })
})

describe('a transaction', () => {
  const sums = (...limbs: bigint[]) => new Map<string, LeafLimbs>([['p', limbs as unknown as LeafLimbs]])
  const place = (name: string) => ({ kind: 'policy', pk: `policy-${epoch}`, sk: name }) as const

  test('returns every element whose condition failed, and writes nothing', async () => {
    await journal.transact([{ kind: 'item', item: place('a'), put: item('a'), if: 'absent' }])
    const verdict = await journal.transact([
      { kind: 'item', item: place('b'), put: item('b'), if: 'absent' },
      { kind: 'item', item: place('a'), put: item('a', { rev: 'r2' }), if: { rev: 'r9' } },
      { kind: 'entry', entry: entryWith(1, 'c1') },
      { kind: 'check', check: place('c'), if: { rev: 'r1' } },
    ])
    expect(verdict).toEqual({ condition: [1, 3] })
    expect((await journal.readRaw([place('a'), place('b')])).map(one => one?.rev)).toEqual(['r1', undefined])
    expect(await journal.entries(lineage(), 0, 1)).toEqual([undefined])
  })

  test.each<
    [
      string,
      Partial<StoredItem> | undefined,
      Parameters<typeof journal.transact>[0][number] extends infer _ ? object | string : never,
      boolean,
    ]
  >([
    ['absent, without an item', undefined, 'absent', true],
    ['absent, with an item', {}, 'absent', false],
    ['a leaf', { leaf: 'x' }, { leaf: 'x' }, true],
    ['another leaf', { leaf: 'x' }, { leaf: 'y' }, false],
    ['absent or a leaf, without an item', undefined, ['absent', { leaf: 'x' }], true],
    ['one of three: expired', { leaf: 'y', expires: 5 }, ['absent', { leaf: 'x' }, { expiredBy: 5 }], true],
    [
      'three conditions that all fail',
      { leaf: 'y', expires: 6 },
      ['absent', { leaf: 'x' }, { expiredBy: 5 }],
      false,
    ],
    [
      'a later position',
      { pos: '000002.aaaaaaaaaaaa/000000000001' },
      { posFrom: '000001.bbbbbbbbbbbb/000000000009' },
      true,
    ],
    [
      'an earlier position',
      { pos: '000001.aaaaaaaaaaaa/000000000008' },
      { posFrom: '000001.aaaaaaaaaaaa/000000000009' },
      false,
    ],
    ['revision and position', { pos: 'p' }, { rev: 'r1', pos: 'p' }, true],
    ['revision and another position', { pos: 'p' }, { rev: 'r1', pos: 'q' }, false],
    ['of no tree', {}, { notOf: 'life' }, true],
    ['of another tree', { bucket: 't#other#r#00/00' }, { notOf: 'life' }, true],
    ['of the tree', { bucket: 't#life#r#00/00' }, { notOf: 'life' }, false],
  ])('condition on an item: %s', async (_, there, condition, holds) => {
    if (there)
      await journal.transact([{ kind: 'item', item: place('a'), put: item('a', there), if: 'absent' }])
    const verdict = await journal.transact([
      { kind: 'item', item: place('a'), put: null, if: condition as never },
    ])
    expect(verdict).toEqual(holds ? 'done' : { condition: [0] })
  })

  test('raises a bucket’s mark together with its sums, and refuses a lower or equal mark', async () => {
    const mark = (seq: number) => bucketMarkText(1, positionText(at(seq)))
    expect(
      await journal.transact([{ kind: 'bucket', bucket: bucket(), sums: sums(1n, 2n, 3n), mark: mark(2) }]),
    ).toBe('done')
    for (const seq of [1, 2])
      expect(
        await journal.transact([
          { kind: 'bucket', bucket: bucket(), sums: sums(1n, 1n, 1n), mark: mark(seq) },
        ]),
      ).toEqual({ condition: [0] })
    expect(
      await journal.transact([{ kind: 'bucket', bucket: bucket(), sums: new Map(), mark: mark(3) }]),
    ).toBe('done')
    expect(await journal.transact([{ kind: 'bucket', bucket: bucket(), sums: sums(-1n, -2n, 4n) }])).toBe(
      'done',
    )
    expect(await journal.buckets([bucket(), { ...bucket(), sk: '01' }])).toEqual([
      { mark: mark(3), sums: sums(0n, 0n, 7n) },
      undefined,
    ])
  })

  test('distinguishes a conflict from a failed condition', async () => {
    await storage.fault({ kind: 'conflict', when: 'before', skip: 0 })
    expect(await journal.transact([{ kind: 'entry', entry: entryWith(1, 'c1') }])).toBe('conflict')
  })

  test('whose answer is lost once is written once', async () => {
    await storage.fault({ kind: 'reset', when: 'after', skip: 0 })
    expect(await journal.transact([{ kind: 'bucket', bucket: bucket(), sums: sums(1n, 2n, 3n) }])).toBe(
      'done',
    )
    expect((await journal.buckets([bucket()]))[0]?.sums).toEqual(sums(1n, 2n, 3n))
  })

  test('whose answer is lost once is recognised by its mark, and its window is applied once', async () => {
    const [entry, own] = [entryWith(1, 'c1'), { journal, clock: systemClock, entropy: systemEntropy }]
    await storage.fault({ kind: 'reset', when: 'after', skip: 0, operation: 'TransactWriteItems' })
    const setting = { treeId: `life-${epoch}`, incarnation: 1, replayUntil: 0, now: 1_800_000_000 }
    expect(await applyEntryWindow([entry], setting, createApplyTarget(own))).toEqual({
      busy: false,
      mismatch: [],
    })
    const [change] = entry.body
    const [there] = await journal.readRaw(change ? [change] : [])
    expect(there).toMatchObject({ rev: 'r1', pos: positionText(at(1)) })
    const [sums] = await journal.buckets(
      change ? [treeBucketOf(setting.treeId, change.kind, change.pk, change.sk)] : [],
    )
    expect(sums?.sums.get('p')).toEqual(splitLeafIntoLimbs(LEAF))
  })

  test('without any answer fails as busy', async () => {
    await storage.fault({ kind: 'reset', when: 'after', skip: 0, whole: true })
    await expect(journal.transact([{ kind: 'entry', entry: entryWith(1, 'c1') }])).rejects.toMatchObject({
      code: 'busy',
    })
    expect((await journal.entries(lineage(), 0, 1))[0]?.id).toBe('c1')
  })
})

describe('the sums of buckets', () => {
  test('stay exact over 2,000 additions of 26 to 34 digits with both signs, plain and in transactions; 38 digits too', async () => {
    const digits = (count: number) =>
      BigInt(
        `${1 + Math.floor(Math.random() * 9)}${Array.from({ length: count - 1 }, () => Math.floor(Math.random() * 10)).join('')}`,
      )
    const total: [bigint, bigint, bigint] = [0n, 0n, 0n]
    let seq = 0
    const additions = Array.from({ length: 667 }, (): LeafLimbs => {
      const limb = () => digits(26 + Math.floor(Math.random() * 9)) * (Math.random() < 0.5 ? -1n : 1n)
      return [limb(), limb(), limb()]
    })
    for (const [index, limbs] of additions.entries()) {
      for (const part of [0, 1, 2] as const) total[part] += limbs[part]
      const element = { kind: 'bucket' as const, bucket: bucket(), sums: new Map([['p', limbs]]) }
      const marked =
        index % 2 === 0 ? [{ ...element, mark: bucketMarkText(1, positionText(at(++seq))) }] : [element]
      expect(
        await journal.transact(
          index % 3 === 0 ? [...marked, { kind: 'entry', entry: noop(index + 1) }] : marked,
        ),
      ).toBe('done')
    }
    const [stored] = await journal.buckets([bucket()])
    expect(stored?.sums.get('p')).toEqual(total)
    const long = { pk: bucket().pk, sk: 'ff' }
    const most = digits(38)
    await journal.transact([
      { kind: 'bucket', bucket: long, sums: new Map([['g5300', [most, -most, 1n] as LeafLimbs]]) },
    ])
    await journal.transact([
      { kind: 'bucket', bucket: long, sums: new Map([['g5300', [-1n, 1n, 1n] as LeafLimbs]]) },
    ])
    const [longest] = await journal.buckets([long])
    expect(longest?.sums.get('g5300')).toEqual([most - 1n, 1n - most, 2n])
    expect((await journal.page(bucket().pk)).get('ff')).toEqual(longest)
  })
})

describe('stored items', () => {
  test('are scanned in pages with all attributes', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `i${index}`)
    for (const name of names)
      await journal.transact([
        {
          kind: 'item',
          item: { kind: 'policy', pk: `policy-${epoch}`, sk: name },
          put: item(name, { pos: name, leaf: 'x', bucket: 'b' }),
          if: 'absent',
        },
      ])
    const found: StoredItem[] = []
    let from: { pk: string; sk: string } | undefined
    for (let index = 0; index < 3; index++)
      do {
        const page = await journal.scan({ index, of: 3, from })
        found.push(...page.items)
        from = page.next
      } while (from)
    const own = found.filter(one => one.pk === `policy-${epoch}`)
    expect(own.map(one => one.pos).sort()).toEqual([...names].sort())
  })

  test('are deleted by a wipe unless they are in the given tree', async () => {
    const places = ['a', 'b', 'c'].map(name => ({ kind: 'policy', pk: `policy-${epoch}`, sk: name }) as const)
    const [a, b] = places
    if (!a || !b) throw new Error('places')
    await journal.transact([
      { kind: 'item', item: a, put: item('a'), if: 'absent' },
      { kind: 'item', item: b, put: item('b', { bucket: 't#life#r#00/00' }), if: 'absent' },
    ])
    expect(await journal.wipe(places, 'life')).toBe(2)
    expect((await journal.readRaw(places)).map(one => one?.sk)).toEqual([undefined, 'b', undefined])
  })

  test('of unknown kinds are deleted by a wipe too', async () => {
    const place = { kind: 'policy', pk: `policy-${epoch}`, sk: 'by hand' } as const
    const foreign = { ...item('by hand'), kind: 'put by hand' } as unknown as StoredItem
    await journal.transact([{ kind: 'item', item: place, put: foreign, if: 'absent' }])
    const [found] = await journal.readRaw([place])
    if (!found) throw new Error('it is not there')
    expect(await journal.wipe([found], 'life')).toBe(1)
    expect(await journal.readRaw([place])).toEqual([undefined])
  })
})

describe('hashes of pages', () => {
  test('an older hash of a page does not replace a newer hash', async () => {
    const root = `t#${epoch}#r#root`
    await journal.putPageHash(root, '00', { hash: 'second', asOf: '2' })
    await journal.putPageHash(root, '00', { hash: 'first', asOf: '1' })
    await journal.putPageHash(root, '01', { hash: 'other', asOf: '1' })
    expect(await journal.pageHashes(root)).toEqual(
      new Map([
        ['00', { hash: 'second', asOf: '2' }],
        ['01', { hash: 'other', asOf: '1' }],
      ]),
    )
  })
})
