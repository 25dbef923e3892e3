import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { lastEndedGeneration } from '../../../../shared/journal/generation.ts'
import { createFirstHead, type JournalHead } from '../../../../shared/journal/head.ts'
import type { Journal, StoredPageHash } from '../../../../shared/journal/journal.ts'
import { createNoopEntry, type JournalEntry } from '../../../../shared/journal/journal-entry.ts'
import { positionText } from '../../../../shared/journal/position.ts'
import { computeBucketDeltas } from '../../../../shared/journal/tree.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import {
  closeJournalHoles,
  maintainJournal,
  refreshDueTreeHashes,
  trimJournal,
} from '../../../../shared/replication/primary/maintain.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { portsWith } from '../../../builders/ports.ts'
import { movedBy } from '../../../support/tables/heads.ts'
import { item } from '../../../support/tables/items.ts'
import { type MemoryStore, memoryStore } from '../../../support/tables/memory-store.ts'

// Tests on which clusters journal and hashes are maintained, and how often. `alone/replication/tree.test.ts` tests the
// results.

const EPOCH = '000001.aaaaaaaaaaaa'
const START = 1_800_000_000_000

let now: number
let slept: number[]
/** calls of the journal by name */
let calls: string[]
let memory: MemoryStore
let head: JournalHead
/** the pages that the last journal entry changes if the hashes are those of the entry before; absent: the hashes are current */
let body: JournalEntry['body'] | undefined
/** time of the stored root of the whole tree */
let whole: Pick<StoredPageHash, 'at' | 'pages'>
/** the generation of both stored roots; absent: the current generation */
let gen: number | undefined

beforeEach(() => {
  whole = {}
  gen = undefined
  now = START
  slept = []
  calls = []
  body = undefined
  memory = memoryStore()
  become({ mode: 'secondary', treeId: 'a life' })
  head = { ...createFirstHead(EPOCH, 1), mode: 'applying', ownEpoch: '', last: 9, applied: 9 }
})

/** Stores the cluster record. */
const become = (parts: Partial<ClusterRecord>) =>
  memory.stored.put(item(key('cluster'), { keyringEdition: 1, ...parts } as ClusterRecord))
const record = () => memory.stored.at(key('cluster'))?.data

const ports = () => {
  const roots = () => ({
    hash: 'h',
    asOf: positionText({ epoch: EPOCH, seq: body ? 8 : 9 }),
    gen: gen ?? lastEndedGeneration(Math.floor(now / 1000)),
  })
  const journal: Partial<Journal> = {
    head: async () => head,
    pageHashes: async () =>
      new Map([
        ...['replicated', 'local'].map(of => [of, roots()] as const),
        ['whole', { ...roots(), ...whole }],
      ]),
    page: async () => new Map(),
    putPageHash: async (_root, name, stored) => {
      if (name === 'whole') whole = stored
    },
    entries: async (_, after, to) =>
      Array.from({ length: to - after }, (_one, at) => ({
        epoch: EPOCH,
        seq: after + 1 + at,
        id: 'c',
        at: now,
        body: body ?? [],
      })),
  }
  const called = (name: string | symbol): unknown => {
    calls.push(String(name))
    return (journal as Record<string | symbol, unknown>)[name]
  }
  return portsWith({
    journal: new Proxy({}, { get: (_, name) => called(name) }),
    clock: {
      now: () => now,
      sleep: async (ms: number) => {
        if (ms > 0) slept.push(ms)
        now += ms
      },
    },
    deployment: { home: 'these tables' },
    store: memory.as('on-journal'),
  })
}
const looked = () => calls.filter(name => name === 'pageHashes').length
/** Makes each journal entry change `pages` pages. */
function changing(pages: number): void {
  const changes = new Map<string, JournalEntry['body'][number]>()
  for (let sk = 0; changes.size < pages; sk++) {
    const change = {
      kind: 'policy',
      pk: 'policy',
      sk: String(sk),
      prev: null,
      next: { leaf: `${'B'.repeat(42)}A`, gen: null },
      item: null,
    } as const
    for (const { bucket } of computeBucketDeltas('a life', [change], 0)) changes.set(bucket.pk, change)
  }
  body = [...changes.values()]
}
const primary = (mode: JournalHead['mode'] = 'writing') => {
  become({ mode: 'primary', treeId: 'a life' })
  head = { ...head, mode, ownEpoch: EPOCH }
}

describe('closing holes in the journal', () => {
  test('a primary closes the holes', async () => {
    primary()
    await closeJournalHoles(ports())
    expect(calls).toContain('head')
  })

  test.each<[what: string, change: Partial<ClusterRecord>]>([
    ['a secondary', { mode: 'secondary' }],
    ['a cluster without a tree', { treeId: undefined as never }],
    ['a restored copy', { homeTable: 'other tables' }],
    ['a cluster without replication', { mode: 'disabled' }],
    ['a cluster that is being wiped', { mode: 'bootstrapping' }],
  ])('holes are not closed on %s', async (_, change) => {
    primary()
    become({ ...record(), ...change })
    await closeJournalHoles(ports())
    await (change.mode === 'secondary' ? undefined : maintainJournal(ports()))
    expect(calls).toEqual([])
  })
})

describe('refreshing hashes of the tree', () => {
  test.each<[role: 'primary' | 'secondary', mode: JournalHead['mode'], refreshed: boolean]>([
    ['primary', 'writing', true],
    ['primary', 'closed', false],
    ['primary', 'applying', false],
    ['secondary', 'applying', true],
    ['secondary', 'draining', false],
    ['secondary', 'closed', false],
    ['secondary', 'writing', false],
  ])('hashes are refreshed on a %s whose journal is %s: %s', async (role, mode, refreshed) => {
    if (role === 'primary') primary(mode)
    else head = { ...head, mode }
    await refreshDueTreeHashes(ports(), 'paced')
    expect(looked() > 0).toBe(refreshed)
  })
})

describe("a paced refresh of the tree's hashes", () => {
  /** Returns the numbers of the pages that were read since the last call. */
  function pagesRead(): number {
    const read = calls.filter(name => name === 'page').length
    calls = []
    return read
  }
  const paced = async (): Promise<number> => {
    await refreshDueTreeHashes(ports(), 'paced')
    return pagesRead()
  }

  test.each([
    [1, 1200],
    [10, 12_000],
    [256, 307_200],
  ])(
    'a refresh after one that computed %i pages begins %i ms later at the earliest',
    async (pages, pause) => {
      changing(pages)
      whole = { at: now - pause + 1000, pages }
      expect(await paced()).toBe(0)
      whole = { at: now - pause, pages }
      expect(await paced()).toBe(pages)
    },
  )

  test('a refresh after one of all pages begins ten minutes later at the earliest', async () => {
    body = []
    head = { ...head, retainedFrom: 9 }
    whole = { at: now - 599_000, pages: 512 }
    expect(await paced()).toBe(0)
    whole = { at: now - 600_000, pages: 512 }
    expect(await paced()).toBe(512)
  })

  test('a refresh stores its start time and its number of pages, which pace the next refresh', async () => {
    changing(20)
    expect(await paced()).toBe(20)
    expect(whole).toMatchObject({ at: now, pages: 20 })
    now += 23_000
    expect(await paced()).toBe(0)
    now += 1000
    expect(await paced()).toBe(20)
  })

  test('a refresh of a tree without roots begins immediately', async () => {
    changing(1)
    head = { ...head, retainedFrom: 9 }
    whole = { at: now, pages: 512 }
    gen = 0
    expect(await paced()).toBe(512)
  })

  test('a requested refresh begins immediately', async () => {
    changing(3)
    whole = { at: now, pages: 512 }
    await refreshDueTreeHashes(ports(), 'now')
    expect(pagesRead()).toBe(3)
  })

  test('a paced refresh never sleeps, because waiting Lambdas cost money', async () => {
    changing(10)
    whole = { at: now, pages: 512 }
    await paced()
    await refreshDueTreeHashes(ports(), 'now')
    expect(slept).toEqual([])
  })
})

const DAY = 24 * 3600 * 1000
const NOW = 1_800_000_000_000

/** Makes a journal with entries of the given ages in days. Entries older than 30 days are deleted. */
function journalOf(ages: readonly number[], parts: Partial<JournalHead> = {}) {
  const head: JournalHead = {
    ...createFirstHead(EPOCH, 1),
    last: ages.length,
    applied: ages.length,
    ...parts,
  }
  const entries = ages.map((age, index): JournalEntry | undefined =>
    age > 30 ? undefined : createNoopEntry({ epoch: EPOCH, seq: index + 1 }, NOW - age * DAY),
  )
  const port: Pick<Journal, 'head' | 'entries' | 'moveHead'> = {
    head: async () => ({ ...head }),
    entries: async (_, after, to) => entries.slice(after, to),
    moveHead: async move => {
      const moved = movedBy(head, move)
      return moved === 'refused' ? moved : Object.assign(head, moved)
    },
  }
  return { head, journal: port as Journal }
}

const clock = { now: () => NOW, sleep: async () => undefined }

async function trimmed(ages: readonly number[], parts: Partial<JournalHead> = {}): Promise<number> {
  const { head, journal } = journalOf(ages, parts)
  await trimJournal({ journal, clock })
  return head.retainedFrom
}

describe('the first retained position of a journal, retainedFrom', () => {
  test.each<[string, number[], number]>([
    ['stays while no journal entry is older than 29.5 days', [29.4, 29.1, 3, 1], 0],
    ['moves to the first journal entry younger than 29 days', [29.6, 29.2, 28.9, 1], 2],
    ['moves over deleted journal entries', [40, 35, 29.2, 28.9, 1], 3],
    ['moves to the end if all entries are old', [40, 35, 31], 3],
    ['stays in an empty journal', [], 0],
  ])('%s', async (_, ages, from) => {
    expect(await trimmed(ages)).toBe(from)
  })

  test.each<[JournalHead['mode'], number]>([
    ['writing', 2],
    ['closed', 2],
    ['applying', 2],
    ['draining', 0],
    ['syncing', 0],
  ])('retainedFrom stays in mode %s at %i', async (mode, from) => {
    const own = mode === 'writing' || mode === 'closed' ? EPOCH : ''
    const unfinishedSync = mode === 'syncing' ? 'all' : null
    expect(await trimmed([40, 31, 2, 1], { mode, ownEpoch: own, unfinishedSync })).toBe(from)
  })

  test('retainedFrom never exceeds the applied position', async () => {
    expect(await trimmed([40, 40, 40, 40], { applied: 2 })).toBe(2)
  })

  test('retainedFrom keeps all journal entries younger than 29 days, and no entry that may be deleted', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 60 }), async given => {
        const ages = given.sort((a, b) => b - a)
        const from = await trimmed(ages)
        expect(ages.slice(0, from).every(age => age > 29)).toBe(true)
        expect(ages.slice(from).every(age => age <= 30)).toBe(true)
      }),
    ))
})
