import { describe, expect, test } from 'vitest'
import { createFirstHead, type JournalHead } from '../../../../shared/journal/head.ts'
import type { JournalEntry } from '../../../../shared/journal/journal-entry.ts'
import type { JournalLineage } from '../../../../shared/journal/position.ts'
import {
  type KnownPrimaryJournal,
  nextFollowStep,
  selectNextEntries,
  takePrefetchedEntries,
} from '../../../../shared/replication/secondary/follow.ts'
import {
  createFollowerSession,
  type Follower,
  isHeartbeatOutdated,
  sendHeartbeat,
} from '../../../../shared/replication/secondary/follower.ts'

const FIRST = '000001.aaaaaaaaaaaa'
const SECOND = '000002.bbbbbbbbbbbb'
const OTHER = '000002.cccccccccccc'

/** The head of a secondary that has followed the first epoch up to position 100. */
const following: JournalHead = {
  ...createFirstHead(FIRST, 1),
  mode: 'applying',
  ownEpoch: '',
  last: 100,
  applied: 100,
}
const source: KnownPrimaryJournal = { epoch: FIRST, lineage: [[FIRST, 1]], from: 0 }
const promoted: KnownPrimaryJournal = {
  epoch: SECOND,
  lineage: [
    [FIRST, 1],
    [SECOND, 91],
  ],
  from: 0,
}
/** The head of a primary that was demoted after 20 positions of its own. */
const demoted: JournalHead = {
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
const successor: KnownPrimaryJournal = {
  epoch: '000003.bbbbbbbbbbbb',
  lineage: [
    [FIRST, 1],
    [OTHER, 101],
    ['000003.bbbbbbbbbbbb', 121],
  ],
  from: 0,
}

const step = (
  head: Partial<JournalHead>,
  from: KnownPrimaryJournal | undefined = source,
  ownEpochClosed = true,
) => nextFollowStep({ ...following, ...head }, from, ownEpochClosed)

describe('the next step of a secondary', () => {
  test('the secondary applies staged entries before all other work', () => {
    for (const mode of ['applying', 'draining'] as const)
      for (const one of [source, promoted, undefined])
        expect(step({ mode, applied: 90 }, one)).toEqual({ do: 'applyStaged' })
  })

  test('the secondary fetches entries while its journal is a prefix of the source’s journal', () => {
    expect(step({})).toEqual({ do: 'fetchNext' })
    expect(step({ last: 90, applied: 90 }, promoted)).toEqual({ do: 'fetchNext' })
  })

  test('the secondary waits without a source', () => {
    for (const mode of ['applying', 'draining', 'syncing', 'closed', 'writing'] as const)
      expect(nextFollowStep({ ...following, mode }, undefined, true)).toEqual({ do: 'wait' })
  })

  test('the secondary never touches a journal in mode writing', () => {
    expect(step({ mode: 'writing' })).toEqual({ do: 'wait' })
  })

  test('the secondary stops staging before a sync', () => {
    expect(step({}, promoted)).toEqual({ do: 'stopStaging' })
    expect(step({ mode: 'draining' }, promoted)).toMatchObject({ do: 'sync' })
  })

  test('the secondary rewinds its entries after the fork point', () => {
    expect(step({ mode: 'draining' }, promoted)).toEqual({
      do: 'sync',
      what: 'touched',
      forkPoint: 90,
      diverged: true,
    })
  })

  test('the secondary runs a full sync if its own entries after the fork point are deleted', () => {
    expect(step({ mode: 'draining', retainedFrom: 91 }, promoted)).toMatchObject({ do: 'sync', what: 'all' })
    expect(step({ mode: 'draining', retainedFrom: 90 }, promoted)).toMatchObject({
      do: 'sync',
      what: 'touched',
    })
  })

  test('the secondary runs a full sync if the source has trimmed the next entries, or the journals share no entry', () => {
    expect(step({ mode: 'draining' }, { ...source, from: 101 })).toMatchObject({ do: 'sync', what: 'all' })
    expect(step({ mode: 'draining' }, { ...source, from: 100 })).toEqual({ do: 'resume' })
    const strange = { epoch: OTHER, lineage: [[OTHER, 1]], from: 0 } as const
    expect(step({ mode: 'draining' }, strange)).toMatchObject({ do: 'sync', what: 'all', forkPoint: -1 })
  })

  test('the secondary runs a full sync after a wipe', () => {
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

  describe('items of an unfinished sync are consistent only with the same source’s journal', () => {
    test('the replay continues with the same source', () => {
      for (const unfinishedSync of ['all', 'report']) {
        const replaying = { replayUntil: 130, unfinishedSync, unfinishedSyncEpoch: FIRST }
        expect(step(replaying)).toEqual({ do: 'fetchNext' })
      }
    })

    test('with another source the secondary fetches the items again', () => {
      const after: KnownPrimaryJournal = {
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

    test('the secondary repeats a sync that did not end', () => {
      expect(step({ mode: 'syncing', unfinishedSync: 'report' })).toMatchObject({
        do: 'sync',
        what: 'touched',
      })
      expect(step({ mode: 'syncing', unfinishedSync: 'all' })).toMatchObject({ do: 'sync', what: 'all' })
    })
  })
})

describe('the next step of a demoted primary', () => {
  test('the demoted primary closes its journal at its exact end first', () => {
    expect(nextFollowStep(demoted, successor, false)).toEqual({ do: 'closeOwnEpoch' })
    expect(nextFollowStep(demoted, undefined, false)).toEqual({ do: 'closeOwnEpoch' })
  })

  test('the demoted primary follows a successor that continues at its end', () => {
    expect(nextFollowStep(demoted, successor, true)).toEqual({ do: 'resume' })
  })

  test('the demoted primary rewinds entries that no other cluster has', () => {
    expect(nextFollowStep(demoted, promoted, true)).toEqual({
      do: 'sync',
      what: 'touched',
      forkPoint: 90,
      diverged: true,
    })
  })
})

const head: JournalHead = {
  ...createFirstHead(FIRST, 1),
  mode: 'applying',
  ownEpoch: '',
  last: 10,
  applied: 10,
}
const lineage: JournalLineage = [
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

describe("staging entries of the primary's answer", () => {
  test('entries are staged from the next position on, across epochs, one window at a time', () => {
    expect(selectNextEntries(head, { entries: range(11, 15), lineage })).toEqual(range(11, 15))
    expect(selectNextEntries(head, { entries: [], lineage })).toEqual([])
    expect(selectNextEntries(head, { entries: range(11, 1900), lineage }).length).toBe(1000)
  })

  test('entries are not staged if an entry is missing, duplicated or out of order', () => {
    for (const entries of [range(12, 13), [entry(11), entry(13)], [entry(11), entry(11)], range(10, 12)])
      expect(() => selectNextEntries(head, { entries, lineage })).toThrow('is not the next one')
  })

  test('entries are not staged if an entry is of another epoch than the lineage says', () => {
    const foreign = [entry(11), entry(12, SECOND)]
    expect(() => selectNextEntries(head, { entries: foreign, lineage })).toThrow('is of another epoch')
  })

  test('entries are not staged if the lineage has diverged from this cluster’s lineage', () => {
    const left: JournalLineage = [
      [FIRST, 1],
      [SECOND, 9],
    ]
    for (const other of [left, [[SECOND, 1]] as const])
      expect(() => selectNextEntries(head, { entries: range(11, 12), lineage: other })).toThrow(
        'differs from the head',
      )
  })
})

describe('prefetched journal entries', () => {
  const answer = { kind: 'entries' as const, entries: [...range(11, 12)], lineage, frontier: 12 }
  const prefetched = {
    seq: 10,
    incarnation: head.incarnation,
    arrival: Promise.resolve({ answer, stored: true }),
  }

  test('prefetched entries are used once, at the position for which the entries were requested', async () => {
    const streaming = { prefetched }
    expect(await takePrefetchedEntries(streaming, head)).toEqual({ answer, stored: true })
    expect(await takePrefetchedEntries(streaming, head)).toBeUndefined()
  })

  test.each([
    ['moved on', { last: 11 }],
    ['begun another incarnation', { incarnation: head.incarnation + 1 }],
  ])('prefetched entries are discarded once the head has %s', async (_, change) => {
    const streaming = { prefetched }
    expect(await takePrefetchedEntries(streaming, { ...head, ...change })).toBeUndefined()
    expect(streaming).toEqual({})
  })
})

describe('the answer to a heartbeat', () => {
  test('the answer is outdated once this cluster has written a newer epoch itself', () => {
    const asked = { ownEpoch: FIRST }
    expect(isHeartbeatOutdated(asked, { ownEpoch: OTHER })).toBe(true)
    expect(isHeartbeatOutdated({ ownEpoch: '' }, { ownEpoch: OTHER })).toBe(true)
    for (const own of [FIRST, '']) expect(isHeartbeatOutdated(asked, { ownEpoch: own })).toBe(false)
  })

  test('the first retained position of the source is kept until the source fails', async () => {
    const session = createFollowerSession()
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
