import { expect, test } from 'vitest'
import { headUpdate, parseHead } from '../../../shared/adapters/aws/storage/head.ts'
import type { Element } from '../../../shared/journal/journal.ts'
import { moves } from '../../../shared/journal/transitions.ts'
import type { SyncSegment } from '../../../shared/model/secondary.ts'
import { openSegments, readSegments } from '../../../shared/replication/sync/segments.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { fromStored, type StoredItem, toStored } from '../../../shared/storage/requests.ts'
import { byOwnNames, byStoredNames } from '../../../shared/storage/stored-names.ts'
import { headIn } from '../../builders/head-moves.ts'

// Clusters of every version read and write the same tables: what stands there keeps the names that it began with.

const EPOCH = '000001.aaaaaaaaaaaa'

test('a head is stored by the names that heads always had', () => {
  const last = { epoch: EPOCH, seq: 1, at: 1 }
  const all = [moves.startEmpty(undefined, 'a link'), moves.stage({ ...headIn.applying }, last, [[EPOCH, 1]])]
  const names = all.flatMap(move => Object.values(headUpdate(move).ExpressionAttributeNames ?? {}))
  expect([...new Set(names)].sort()).toEqual(
    'dirty dirtyFrom done epoch from heir hold kind line link mode n own pk seq stagedAt until'.split(' '),
  )
})

test('and an old one is read', () => {
  const stored = {
    pk: 'journal',
    sk: 'head',
    kind: 'head',
    mode: 'writing',
    epoch: EPOCH,
    own: EPOCH,
    seq: 5,
    done: 4,
    hold: 3,
    line: [[EPOCH, 1]],
    from: 2,
    until: 1,
    dirty: 'all',
    dirtyFrom: EPOCH,
    n: 7,
  }
  expect(parseHead(stored)).toEqual({
    mode: 'writing',
    epoch: EPOCH,
    own: EPOCH,
    last: 5,
    applied: 4,
    incarnation: 3,
    lineage: [[EPOCH, 1]],
    retainedFrom: 2,
    replayUntil: 1,
    unfinishedSync: 'all',
    unfinishedSyncEpoch: EPOCH,
    maxEpoch: 7,
    successor: '',
    link: '',
  })
})

test.each([
  ['cluster', key('cluster'), { id: 'c', treeId: 't' }, { id: 'c', life: 't' }],
  [
    'segment',
    key('segment', '0'),
    { treeId: 't', incarnation: 3, lineage: [] },
    { life: 't', hold: 3, line: [] },
  ],
  ['diverging', key('diverging'), { treeId: 't', keys: [] }, { life: 't', keys: [] }],
  ['reindex', key('reindex'), { treeId: 't', done: 1 }, { life: 't', done: 1 }],
  ['report', key('report', 'r'), { forkPoint: 7, entries: [] }, { cut: 7, cells: [] }],
  ['tree-check', key('tree-check'), { treeId: 't' }, { life: 't' }],
  ['tree-reindex', key('tree-reindex'), { treeId: 't' }, { life: 't' }],
] as const)('so is an item of the kind %s, and comes back', (_, place, own, kept) => {
  const { data } = toStored(
    { kind: 'put', key: place, data: own, times: {}, expected: 'any' } as never,
    'rev',
  )
  expect(typeof data === 'string' ? JSON.parse(data) : data).toEqual(kept)
  expect(fromStored(place.kind, { ...place, rev: 'rev', data } as StoredItem, 0)?.data).toEqual(own)
})

test('the segments of a sync are, which go past the store', async () => {
  const segment: SyncSegment = {
    incarnation: 3,
    treeId: 't',
    what: 'all',
    start: 0,
    lineage: [[EPOCH, 1]],
    phase: 'source',
    seen: 0,
  }
  let written: readonly Element[] = []
  const own = {
    entropy: { bytes: () => Buffer.alloc(12) },
    journal: {
      raw: async (places: readonly unknown[]) =>
        places.map((_, index) => {
          const element = written[index]
          return element?.kind === 'item' ? element.put : undefined
        }),
      transact: async (elements: readonly Element[]) => {
        written = elements
        return 'done'
      },
    },
  } as unknown as Parameters<typeof openSegments>[0]
  await openSegments(own, segment)
  const [first] = written
  expect(first?.kind === 'item' && first.put?.data).toEqual({
    hold: 3,
    life: 't',
    what: 'all',
    start: 0,
    line: [[EPOCH, 1]],
    phase: 'source',
    seen: 0,
  })
  expect((await readSegments(own))[0]?.data).toEqual(segment)
})

test('the event of an epoch that ended, and what a job is started with, are sent by theirs', () => {
  expect(byStoredNames('primary-closed', { reason: 'fence', successor: 's' })).toEqual({
    reason: 'fence',
    heir: 's',
  })
  expect(byStoredNames('job', { job: 'journal-stamp', treeId: 't' })).toEqual({
    job: 'journal-stamp',
    life: 't',
  })
  expect(byOwnNames('job', { job: 'journal-stamp', life: 't' })).toEqual({
    job: 'journal-stamp',
    treeId: 't',
  })
})

test('what has no row stays as it is', () => {
  const data = { life: 1, treeId: 2 }
  expect(byStoredNames('policy', data)).toBe(data)
  expect(byOwnNames('policy', data)).toBe(data)
})
