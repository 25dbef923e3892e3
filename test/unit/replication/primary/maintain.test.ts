import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { lastEnded } from '../../../../shared/journal/generation.ts'
import { firstHead, type Head } from '../../../../shared/journal/head.ts'
import type { Journal } from '../../../../shared/journal/journal.ts'
import { type JournalEntry, noopEntry } from '../../../../shared/journal/journal-entry.ts'
import { posText } from '../../../../shared/journal/position.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import {
  closeHoles,
  maintainJournal,
  pacedRefresh,
  trimJournal,
} from '../../../../shared/replication/primary/maintain.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { movedBy } from '../../../support/tables/heads.ts'
import { item } from '../../../support/tables/items.ts'
import { type MemoryStore, memoryStore } from '../../../support/tables/memory-store.ts'

// On which cluster its journal and its hashes are maintained, and how often. What is done then: `alone/replication/tree.test.ts`.

const EPOCH = '000001.aaaaaaaaaaaa'
const START = 1_800_000_000_000

let now: number
let slept: number[]
/** calls of the journal, by name */
let calls: string[]
let memory: MemoryStore
let head: Head
/** milliseconds that a refresh takes */
let takes: number

beforeEach(() => {
  now = START
  slept = []
  calls = []
  takes = 0
  memory = memoryStore()
  become({ mode: 'secondary', treeId: 'a life' })
  head = { ...firstHead(EPOCH, 1), mode: 'applying', own: '', last: 9, applied: 9 }
})

/** Writes the cluster record. */
const become = (parts: Partial<ClusterRecord>) =>
  memory.stored.put(item(key('cluster'), parts as ClusterRecord))
const record = () => memory.stored.at(key('cluster'))?.data

const ports = () => {
  const roots = () => ({
    hash: 'h',
    asOf: posText({ epoch: EPOCH, seq: 9 }),
    gen: lastEnded(Math.floor(now / 1000)),
  })
  const journal: Partial<Journal> = {
    head: async () => head,
    // as after a refresh: nothing is left to do
    pageHashes: async () => {
      now += takes
      return new Map(['replicated', 'local'].map(of => [of, roots()]))
    },
    entries: async (_, after, to) =>
      Array.from({ length: to - after }, (_one, at) => ({
        epoch: EPOCH,
        seq: after + 1 + at,
        id: 'c',
        at: now,
        body: [],
      })),
  }
  const called = (name: string | symbol): unknown => {
    calls.push(String(name))
    return (journal as Record<string | symbol, unknown>)[name]
  }
  return {
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
  } as unknown as Parameters<typeof closeHoles>[0]
}
const looked = () => calls.filter(name => name === 'pageHashes').length
const primary = (mode: Head['mode'] = 'writing') => {
  become({ mode: 'primary', treeId: 'a life' })
  head = { ...head, mode, own: EPOCH }
}

describe('holes are closed', () => {
  test('on a primary', async () => {
    primary()
    await closeHoles(ports())
    expect(calls).toContain('head')
  })

  test.each<[what: string, change: Partial<ClusterRecord>]>([
    ['a secondary', { mode: 'secondary' }],
    ['a cluster without a tree', { treeId: undefined as never }],
    ['a restored copy', { home: 'other tables' }],
    ['a cluster without replication', { mode: 'disabled' }],
    ['a cluster that is emptied', { mode: 'bootstrapping' }],
  ])('on none but that: %s', async (_, change) => {
    primary()
    become({ ...record(), ...change })
    await closeHoles(ports())
    await (change.mode === 'secondary' ? undefined : maintainJournal(ports(), 'all'))
    expect(calls).toEqual([])
  })
})

describe('hashes are refreshed', () => {
  test.each<[role: 'primary' | 'secondary', mode: Head['mode'], refreshed: boolean]>([
    ['primary', 'writing', true],
    ['primary', 'closed', false],
    ['primary', 'applying', false],
    ['secondary', 'applying', true],
    ['secondary', 'draining', false],
    ['secondary', 'closed', false],
    ['secondary', 'writing', false],
  ])('by a %s whose journal is %s: %s', async (role, mode, refreshed) => {
    if (role === 'primary') primary(mode)
    else head = { ...head, mode }
    await maintainJournal(ports(), 'below')
    expect(looked() > 0).toBe(refreshed)
  })
})

test('the journal is trimmed where all is maintained, once a minute, and not at every write', async () => {
  const reads = () => calls.filter(name => name === 'head').length
  await maintainJournal(ports(), 'below')
  expect(reads(), 'on a secondary no hole is looked for').toBe(1)
  calls = []
  await maintainJournal(ports(), 'all')
  expect(reads()).toBe(2)
})

describe('where journal entries are written all the time', () => {
  test.each([
    [0, 1000],
    [100, 1000],
    [200, 1800],
    [444, 3996],
  ])('the next refresh after one of %i ms begins %i ms later', async (ms, pause) => {
    const refresh = pacedRefresh(ports())
    takes = ms
    await refresh(false)
    expect([looked(), slept]).toEqual([1, []])
    await refresh(true)
    expect([looked(), slept], 'and is left to those who ask later').toEqual([1, []])
    await refresh(false)
    expect([looked(), slept]).toEqual([2, [pause]])
    now += 5000
    await refresh(true)
    expect([looked(), slept]).toEqual([3, [pause]])
  })

  test.each([
    [500, 4500],
    [1500, 13_500],
    [3000, 15_000],
  ])('after one of %i ms nobody waits for the next, %i ms later', async (ms, pause) => {
    const refresh = pacedRefresh(ports())
    takes = ms
    await refresh(false)
    now += pause - 4001
    await refresh(false)
    expect([looked(), slept], 'it is left to those who ask later, and to the minute').toEqual([1, []])
    now += 1
    await refresh(true)
    expect([looked(), slept]).toEqual([1, []])
    await refresh(false)
    expect([looked(), slept]).toEqual([2, [4000]])
  })

  test('a cluster that has no tree by then refreshes nothing', async () => {
    const refresh = pacedRefresh(ports())
    become({ mode: 'disabled' })
    await refresh(false)
    expect(calls).toEqual([])
  })
})

const DAY = 24 * 3600 * 1000
const NOW = 1_800_000_000_000

/** A journal whose journal entries are so many days old; those older than 30 are gone. */
function journalOf(ages: readonly number[], parts: Partial<Head> = {}) {
  const head: Head = { ...firstHead(EPOCH, 1), last: ages.length, applied: ages.length, ...parts }
  const entries = ages.map((age, index): JournalEntry | undefined =>
    age > 30 ? undefined : noopEntry({ epoch: EPOCH, seq: index + 1 }, NOW - age * DAY),
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

async function trimmed(ages: readonly number[], parts: Partial<Head> = {}): Promise<number> {
  const { head, journal } = journalOf(ages, parts)
  await trimJournal({ journal, clock })
  return head.retainedFrom
}

describe('the beginning of a journal', () => {
  test.each<[string, number[], number]>([
    ['stays while no journal entry is older than 29 days and a half', [29.4, 29.1, 3, 1], 0],
    ['moves to the first journal entry younger than 29 days', [29.6, 29.2, 28.9, 1], 2],
    ['moves over journal entries that are gone already', [40, 35, 29.2, 28.9, 1], 3],
    ['moves to the end where all of them are old', [40, 35, 31], 3],
    ['stays in a journal that is empty', [], 0],
  ])('%s', async (_, ages, from) => {
    expect(await trimmed(ages)).toBe(from)
  })

  test.each<[Head['mode'], number]>([
    ['writing', 2],
    ['closed', 2],
    ['applying', 2],
    ['draining', 0],
    ['syncing', 0],
  ])('of a head that is %s is %i', async (mode, from) => {
    const own = mode === 'writing' || mode === 'closed' ? EPOCH : ''
    const unfinishedSync = mode === 'syncing' ? 'all' : null
    expect(await trimmed([40, 31, 2, 1], { mode, own, unfinishedSync })).toBe(from)
  })

  test('never passes what is not applied, or not dense', async () => {
    expect(await trimmed([40, 40, 40, 40], { applied: 2 })).toBe(2)
  })

  test('loses no journal entry younger than 29 days, and keeps none of those that may be gone', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 60 }), async given => {
        const ages = given.sort((a, b) => b - a)
        const from = await trimmed(ages)
        expect(ages.slice(0, from).every(age => age > 29)).toBe(true)
        expect(ages.slice(from).every(age => age <= 30)).toBe(true)
      }),
    ))
})
