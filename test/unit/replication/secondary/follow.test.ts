import { describe, expect, test } from 'vitest'
import { firstHead, type Head } from '../../../../shared/journal/head.ts'
import type { JournalEntry } from '../../../../shared/journal/journal-entry.ts'
import type { Lineage } from '../../../../shared/journal/position.ts'
import {
  type KnownSource,
  nextEntries,
  nextFollowStep,
  takePrefetched,
} from '../../../../shared/replication/secondary/follow.ts'
import {
  type Follower,
  isOutdated,
  newSession,
  sendHeartbeat,
} from '../../../../shared/replication/secondary/follower.ts'

const FIRST = '000001.aaaaaaaaaaaa'
const SECOND = '000002.bbbbbbbbbbbb'
const OTHER = '000002.cccccccccccc'

/** A secondary that has followed the first epoch up to position 100. */
const following: Head = {
  ...firstHead(FIRST, 1),
  mode: 'applying',
  ownEpoch: '',
  last: 100,
  applied: 100,
}
const source: KnownSource = { epoch: FIRST, lineage: [[FIRST, 1]], from: 0 }
const promoted: KnownSource = {
  epoch: SECOND,
  lineage: [
    [FIRST, 1],
    [SECOND, 91],
  ],
  from: 0,
}
/** A primary that was demoted after 20 positions of its own. */
const demoted: Head = {
  ...following,
  mode: 'closed',
  epoch: OTHER,
  ownEpoch: OTHER,
  last: 120,
  applied: 100,
  lineage: [
    [FIRST, 1],
    [OTHER, 101],
  ],
}
const successor: KnownSource = {
  epoch: '000003.bbbbbbbbbbbb',
  lineage: [
    [FIRST, 1],
    [OTHER, 101],
    ['000003.bbbbbbbbbbbb', 121],
  ],
  from: 0,
}

const step = (head: Partial<Head>, from: KnownSource | undefined = source, ownEpochClosed = true) =>
  nextFollowStep({ ...following, ...head }, from, ownEpochClosed)

describe('a secondary', () => {
  test('that has something staged applies it before anything else', () => {
    for (const mode of ['applying', 'draining'] as const)
      for (const one of [source, promoted, undefined])
        expect(step({ mode, applied: 90 }, one)).toEqual({ do: 'applyStaged' })
  })

  test('stages while its journal and the source are one', () => {
    expect(step({})).toEqual({ do: 'fetchNext' })
    expect(step({ last: 90, applied: 90 }, promoted)).toEqual({ do: 'fetchNext' })
  })

  test('does nothing by itself without a source', () => {
    for (const mode of ['applying', 'draining', 'syncing', 'closed', 'writing'] as const)
      expect(nextFollowStep({ ...following, mode }, undefined, true)).toEqual({ do: 'wait' })
  })

  test('never touches a journal that is being written', () => {
    expect(step({ mode: 'writing' })).toEqual({ do: 'wait' })
  })

  test('ends staging before a sync', () => {
    expect(step({}, promoted)).toEqual({ do: 'stopStaging' })
    expect(step({ mode: 'draining' }, promoted)).toMatchObject({ do: 'sync' })
  })

  test('rewinds what it has beyond the common end', () => {
    expect(step({ mode: 'draining' }, promoted)).toEqual({
      do: 'sync',
      what: 'touched',
      forkPoint: 90,
      diverged: true,
    })
  })

  test('fetches everything where own journal entries from the fork point on are not kept', () => {
    expect(step({ mode: 'draining', retainedFrom: 91 }, promoted)).toMatchObject({ do: 'sync', what: 'all' })
    expect(step({ mode: 'draining', retainedFrom: 90 }, promoted)).toMatchObject({
      do: 'sync',
      what: 'touched',
    })
  })

  test('fetches everything where the source has trimmed what would come next, or nothing is common', () => {
    expect(step({ mode: 'draining' }, { ...source, from: 101 })).toMatchObject({ do: 'sync', what: 'all' })
    expect(step({ mode: 'draining' }, { ...source, from: 100 })).toEqual({ do: 'resume' })
    const strange = { epoch: OTHER, lineage: [[OTHER, 1]], from: 0 } as const
    expect(step({ mode: 'draining' }, strange)).toMatchObject({ do: 'sync', what: 'all', forkPoint: -1 })
  })

  test('a wiped one fetches everything', () => {
    const wiped = {
      mode: 'syncing',
      epoch: '',
      lineage: [],
      seq: 0,
      done: 0,
      unfinishedSync: 'all',
      unfinishedSyncEpoch: '',
    } as const
    expect(step(wiped)).toMatchObject({ do: 'sync', what: 'all', forkPoint: -1 })
  })

  describe('what an unfinished sync has touched is right only with the rest of the same journal', () => {
    test('the replay goes on while the source stays the same', () => {
      for (const unfinishedSync of ['all', 'report']) {
        const replaying = { replayUntil: 130, unfinishedSync, unfinishedSyncEpoch: FIRST }
        expect(step(replaying)).toEqual({ do: 'fetchNext' })
      }
    })

    test('another source: fetched again', () => {
      const after: KnownSource = {
        epoch: SECOND,
        lineage: [
          [FIRST, 1],
          [SECOND, 110],
        ],
        from: 0,
      }
      const replaying = { replayUntil: 130, unfinishedSyncEpoch: FIRST }
      expect(step({ ...replaying, unfinishedSync: 'report' }, after)).toEqual({ do: 'stopStaging' })
      expect(step({ ...replaying, unfinishedSync: 'report', mode: 'draining' }, after)).toEqual({
        do: 'sync',
        what: 'touched',
        forkPoint: 100,
        diverged: false,
      })
      expect(step({ ...replaying, unfinishedSync: 'all', mode: 'draining' }, after)).toMatchObject({
        do: 'sync',
        what: 'all',
      })
    })

    test('a sync that never ended is done again', () => {
      expect(step({ mode: 'syncing', unfinishedSync: 'report' })).toMatchObject({
        do: 'sync',
        what: 'touched',
      })
      expect(step({ mode: 'syncing', unfinishedSync: 'all' })).toMatchObject({ do: 'sync', what: 'all' })
    })
  })
})

describe('a demoted primary', () => {
  test('gives its journal its exact end first', () => {
    expect(nextFollowStep(demoted, successor, false)).toEqual({ do: 'closeOwnEpoch' })
    expect(nextFollowStep(demoted, undefined, false)).toEqual({ do: 'closeOwnEpoch' })
  })

  test('follows at once whoever goes on where it ended', () => {
    expect(nextFollowStep(demoted, successor, true)).toEqual({ do: 'resume' })
  })

  test('rewinds what nobody else has', () => {
    expect(nextFollowStep(demoted, promoted, true)).toEqual({
      do: 'sync',
      what: 'touched',
      forkPoint: 90,
      diverged: true,
    })
  })
})

const head: Head = { ...firstHead(FIRST, 1), mode: 'applying', ownEpoch: '', last: 10, applied: 10 }
const lineage: Lineage = [
  [FIRST, 1],
  [SECOND, 13],
]

const entry = (seq: number, epoch = seq < 13 ? FIRST : SECOND): JournalEntry => ({
  epoch,
  seq,
  id: `${seq}`,
  at: 0,
  body: [],
})
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => entry(from + at))

describe('what a source sends is staged', () => {
  test('from the next position on, across the end of an epoch, a window at a time', () => {
    expect(nextEntries(head, { entries: range(11, 15), lineage })).toEqual(range(11, 15))
    expect(nextEntries(head, { entries: [], lineage })).toEqual([])
    expect(nextEntries(head, { entries: range(11, 1900), lineage }).length).toBe(1000)
  })

  test('not where a journal entry is missing, comes twice, or comes late', () => {
    for (const entries of [range(12, 13), [entry(11), entry(13)], [entry(11), entry(11)], range(10, 12)])
      expect(() => nextEntries(head, { entries, lineage })).toThrow('is not the next one')
  })

  test('not where a journal entry is of another epoch than the lineage says', () => {
    const foreign = [entry(11), entry(12, SECOND)]
    expect(() => nextEntries(head, { entries: foreign, lineage })).toThrow('is of another epoch')
  })

  test('not where the lineage has left the own one, or never met it', () => {
    const left: Lineage = [
      [FIRST, 1],
      [SECOND, 9],
    ]
    for (const other of [left, [[SECOND, 1]] as const])
      expect(() => nextEntries(head, { entries: range(11, 12), lineage: other })).toThrow('another one')
  })
})

describe('prefetched journal entries', () => {
  const answer = { kind: 'entries' as const, entries: [...range(11, 12)], lineage, frontier: 12 }
  const prefetched = {
    seq: 10,
    incarnation: head.incarnation,
    arrival: Promise.resolve({ answer, stored: true }),
  }

  test('are taken once, behind the position that they were requested for', async () => {
    const streaming = { prefetched }
    expect(await takePrefetched(streaming, head)).toEqual({ answer, stored: true })
    expect(await takePrefetched(streaming, head)).toBeUndefined()
  })

  test.each([
    ['moved on', { last: 11 }],
    ['begun another incarnation', { incarnation: head.incarnation + 1 }],
  ])('are discarded once the head has %s', async (_, change) => {
    const streaming = { prefetched }
    expect(await takePrefetched(streaming, { ...head, ...change })).toBeUndefined()
    expect(streaming).toEqual({})
  })
})

describe('a heartbeat answer', () => {
  test('is outdated once this cluster has written an epoch of its own since, and not before', () => {
    const asked = { ownEpoch: FIRST }
    expect(isOutdated(asked, { ownEpoch: OTHER })).toBe(true)
    expect(isOutdated({ ownEpoch: '' }, { ownEpoch: OTHER })).toBe(true)
    for (const own of [FIRST, '']) expect(isOutdated(asked, { ownEpoch: own })).toBe(false)
  })

  test('keeps the position from which on the source has journal entries, until the source fails', async () => {
    const session = newSession()
    const link = { heartbeat: async () => ({ lineage, epoch: FIRST }) }
    const follower = {
      session,
      link,
      cluster: async () => undefined,
      own: { journal: { head: async () => head } },
    }
    const ask = () => sendHeartbeat(follower as unknown as Follower)
    await ask()
    expect(session.source).toMatchObject({ from: 0, ownEpoch: '' })
    Object.assign(session.source ?? {}, { from: 7 })
    await ask()
    expect(session.source).toMatchObject({ from: 7 })
    delete session.source
    await ask()
    expect(session.source).toMatchObject({ from: 0 })
  })
})
