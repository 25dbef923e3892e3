import { describe, expect, test } from 'vitest'
import { brokenRules, firstHead, type Head, type HeadMode } from '../../../shared/journal/head.ts'
import {
  type HeadMove,
  moves,
  type TransitionName,
  transitions,
} from '../../../shared/journal/transitions.ts'
import { headIn, moveCases, SECOND, THIRD } from '../../builders/head-moves.ts'
import { behind, isExpected, movedBy } from '../../support/tables/heads.ts'

const MODES = Object.keys(headIn) as HeadMode[]
const rows = Object.entries(moveCases) as [TransitionName, (typeof moveCases)[TransitionName]][]

/** What each field may be instead. */
const other: { readonly [K in keyof Head]-?: Head[K] } = {
  mode: 'writing',
  epoch: THIRD,
  ownEpoch: THIRD,
  last: 90,
  applied: 8,
  incarnation: 50,
  lineage: [[THIRD, 1]],
  retainedFrom: 1,
  replayUntil: 70,
  unfinishedSync: 'another report',
  unfinishedSyncEpoch: THIRD,
  maxEpoch: 80,
  successor: 'another cluster',
  stagedAt: 1,
  link: 'another link',
}

test('every row is tried', () => expect(Object.keys(moveCases)).toEqual(Object.keys(transitions)))

describe.each(rows)('%s', (name, { make, modes, fencedBy, becomes }) => {
  const from = MODES.filter(mode => modes[mode] !== undefined)
  const [first = 'writing'] = from
  const seen: Head = name === 'takeOver' ? { ...headIn[first], unfinishedSync: null } : headIn[first]

  test('leads from the modes that it names to others, and changes what it says and nothing else', () => {
    for (const mode of from) {
      // it may take over amid a sync: see below
      const head = headIn[mode]
      const to = { mode: modes[mode] }
      expect(behind(head, make(head)), mode).toEqual({ ...head, ...becomes, ...to })
      if (name !== 'takeOver') expect(movedBy(head, make(head)), mode).toEqual({ ...head, ...becomes, ...to })
    }
  })

  test('is refused in every other mode, whatever the caller has seen', () => {
    for (const mode of MODES.filter(one => !from.includes(one))) {
      expect(movedBy(headIn[mode], make(headIn[mode])), mode).toBe('refused')
      const { from: none, expect: asked } = make(headIn[mode])
      expect(asked.mode && none, mode).toEqual(asked.mode && [])
      expect(isExpected(headIn[mode], make(headIn[mode])), mode).toBe(false)
      expect(isExpected(headIn[mode], make(seen)), mode).toBe(false)
    }
  })

  test('has the modes of the picture, and says what it is and what it leads to', () => {
    expect(transitions[name].modes).toEqual(modes)
    const move = make(seen)
    expect(move.name).toBe(name)
    const { adds = {} } = transitions[name] as { adds?: object }
    if (move.expect.mode && !('last' in adds)) expect(move.after).toEqual(behind(seen, move))
  })

  test('begins a journal only where that is its purpose', () => {
    expect(isExpected(undefined, make(seen))).toBe(false)
    if (!modes.none) return
    expect(movedBy(undefined, make(undefined))).toMatchObject({ mode: modes.none, incarnation: 1 })
    expect(isExpected(seen, make(undefined))).toBe(false)
  })

  test('is refused if another caller was faster, and only then', () => {
    const fields = (Object.keys(other) as (keyof Head)[]).filter(field => field !== 'mode')
    const asks = fields.filter(field => !isExpected({ ...seen, [field]: other[field] }, make(seen)))
    expect(asks.sort()).toEqual(fencedBy.filter(field => field !== 'mode').sort())
  })

  test('is refused in another of its modes if its caller has read the mode, and only then', () => {
    for (const mode of from.filter(one => one !== first))
      expect(isExpected({ ...seen, mode }, make(seen)), mode).toBe(!fencedBy.includes('mode'))
  })
})

/** What a move makes of a head that it fits. */
function played(head: Head, make: (head: Head) => HeadMove): Head {
  const moved = movedBy(head, make(head))
  if (moved === 'refused') throw new Error(`refused: ${brokenRules(behind(head, make(head)))}`)
  return moved
}

describe('a journal whose old entries may have been deleted', () => {
  test('is kept from where it is dense', () => {
    expect(played(headIn.writing, head => moves.noteDense(head, 8, { isOld: true }))).toMatchObject({
      applied: 8,
      retainedFrom: 8,
    })
    expect(played(headIn.closed, head => moves.noteEnd(head, { isOld: true }))).toMatchObject({
      applied: 9,
      retainedFrom: 9,
    })
  })

  test('is not kept behind what is applied', () => {
    expect(movedBy(headIn.writing, moves.trim(headIn.writing, 8))).toBe('refused')
  })
})

test('no position is dense before it is given to a commit', () =>
  expect(movedBy(headIn.writing, moves.noteDense(headIn.writing, 10))).toBe('refused'))

describe('the highest number that was seen', () => {
  test('stays where an epoch is ended by nobody, or by a lower one', () => {
    const head = { ...headIn.writing, maxEpoch: 20 }
    expect(played(head, one => moves.close(one, '', 7)).maxEpoch).toBe(20)
  })

  test('stays where the source stages or ends a lower epoch', () => {
    const lineage = [...headIn.applying.lineage]
    const last = { epoch: SECOND, seq: 10, at: 1 }
    expect(
      played({ ...headIn.applying, maxEpoch: 20 }, head => moves.stage(head, last, lineage)).maxEpoch,
    ).toBe(20)
    expect(played({ ...headIn.syncing, maxEpoch: 20 }, head => moves.endSync(head, sync())).maxEpoch).toBe(20)
  })

  test('never falls', () => {
    const head = { ...headIn.closed, maxEpoch: 20 }
    expect(movedBy(head, moves.noteFence(head, 'successor', 19))).toBe('refused')
    expect(movedBy(head, moves.leaveSet(head, 19))).toBe('refused')
  })

  test('is that of the epoch that begins', () => {
    expect(movedBy(undefined, moves.begin(undefined, THIRD))).toEqual(firstHead(THIRD, 3))
  })
})

test('staging takes over the lineage up to the staged position', () => {
  const lineage = [...headIn.applying.lineage, [THIRD, 12]] as const
  const staged = played(headIn.applying, head =>
    moves.stage(head, { epoch: SECOND, seq: 11, at: 1 }, lineage),
  )
  expect(staged.lineage).toEqual(headIn.applying.lineage)
})

describe('a replay', () => {
  const replaying: Head = {
    ...headIn.applying,
    replayUntil: 9,
    unfinishedSync: 'all',
    unfinishedSyncEpoch: SECOND,
  }

  test('ends where all of it is applied, and its sync is whole', () => {
    for (const seq of [9, 10])
      expect(played({ ...replaying, last: seq }, moves.noteApplied)).toMatchObject({
        applied: seq,
        replayUntil: 0,
        unfinishedSync: null,
        unfinishedSyncEpoch: '',
      })
  })

  test('goes on before', () => {
    const { unfinishedSync, unfinishedSyncEpoch } = replaying
    expect(played({ ...replaying, replayUntil: 10 }, moves.noteApplied)).toMatchObject({
      applied: 9,
      replayUntil: 10,
      unfinishedSync,
      unfinishedSyncEpoch,
    })
  })

  test('of a single position ends there', () => {
    const { lineage } = headIn.applying
    const first = { ...replaying, lineage: lineage.slice(0, 1), retainedFrom: 0, applied: 0, last: 1 }
    expect(played({ ...first, replayUntil: 1 }, moves.noteApplied)).toMatchObject({
      applied: 1,
      replayUntil: 0,
    })
  })

  test('ends with a new sync, with skipStaged, leaveSet and the moves that distrust it', () => {
    const begins: ((head: Head) => HeadMove)[] = [
      head => moves.beginSync(head, 'all'),
      moves.refetchAll,
      moves.skipStaged,
      () => moves.distrustCopy({}, 'link'),
      head => moves.leaveSet(head, 3),
    ]
    const head: Head = { ...replaying, mode: 'draining', replayUntil: 12 }
    for (const make of begins) expect(played(head, make)).toMatchObject({ unfinishedSyncEpoch: '' })
    expect(behind(replaying, moves.requestSync(replaying, 'report'))).toMatchObject({
      unfinishedSyncEpoch: '',
    })
  })

  test('leaves what a report names where there is none', () => {
    const asked: Head = { ...headIn.applying, unfinishedSync: 'a report' }
    expect(played(asked, moves.noteApplied)).toMatchObject({ applied: 9, unfinishedSync: 'a report' })
  })
})

/** A sync of what was touched, to be replayed from 8 to 30. */
const sync = (change: object = {}) =>
  Object.assign(
    {
      what: 'touched' as const,
      start: 8,
      lineage: headIn.syncing.lineage,
      hasFetched: true,
      end: { epoch: SECOND, seq: 30 },
    },
    change,
  )

describe('a sync that ends', () => {
  const ended = (change: object) => played(headIn.syncing, head => moves.endSync(head, sync(change)))

  test('of everything keeps journal entries from its start on', () => {
    expect(ended({})).toMatchObject({ retainedFrom: 2, last: 8, applied: 8, replayUntil: 30 })
    expect(ended({ what: 'all', hasFetched: false })).toMatchObject({
      retainedFrom: 8,
      replayUntil: 30,
      unfinishedSync: 'a report',
    })
  })

  test('needs no replay where nothing was fetched, or nothing was written since', () => {
    const whole = { replayUntil: 0, unfinishedSync: null, unfinishedSyncEpoch: '' }
    expect(ended({ hasFetched: false })).toMatchObject(whole)
    expect(ended({ end: { epoch: SECOND, seq: 8 } })).toMatchObject(whole)
  })

  test('notes what it may have touched, and of which source, until its replay ends', () => {
    expect(ended({})).toMatchObject({
      replayUntil: 30,
      unfinishedSync: 'a report',
      unfinishedSyncEpoch: SECOND,
    })
  })

  test('is in the epoch of its start, and knows the lineage up to there', () => {
    const lineage = [...headIn.syncing.lineage, [THIRD, 9]]
    expect(ended({ lineage, end: { epoch: THIRD, seq: 30 } })).toMatchObject({
      epoch: SECOND,
      lineage: headIn.syncing.lineage,
      maxEpoch: 3,
      unfinishedSyncEpoch: THIRD,
    })
  })

  test('of a former primary leaves it without an epoch of its own', () => {
    const head: Head = { ...headIn.syncing, ownEpoch: SECOND }
    expect(played(head, one => moves.endSync(one, sync()))).toMatchObject({ ownEpoch: '' })
  })

  test('at the very beginning is replayed from there, in the first epoch that it knows', () => {
    const lineage = [
      [SECOND, 1],
      [THIRD, 2],
    ] as const
    const end = { epoch: THIRD, seq: 1 }
    expect(ended({ what: 'all', start: 0, lineage, end })).toMatchObject({
      last: 0,
      replayUntil: 1,
      lineage: [[SECOND, 1]],
      unfinishedSync: 'a report',
    })
  })

  test('before the first position of its source is in the epoch that begins there', () => {
    const lineage = [[THIRD, 9]]
    expect(ended({ lineage, end: { epoch: THIRD, seq: 30 } })).toMatchObject({ epoch: THIRD, lineage })
  })
})

describe('who takes over', () => {
  test('writes behind what it has, and knows no epoch of which nothing came', () => {
    const head: Head = {
      ...headIn.draining,
      epoch: THIRD,
      maxEpoch: 3,
      lineage: [...headIn.draining.lineage, [THIRD, 10]],
    }
    const fourth = '000004.dddddddddddd'
    expect(played(head, one => moves.takeOver(one, fourth))).toMatchObject({
      lineage: [...headIn.draining.lineage, [fourth, 10]],
      retainedFrom: 2,
      ownEpoch: fourth,
    })
  })

  test('knows the epoch in which it has one position', () => {
    const lineage = [...headIn.draining.lineage.slice(0, 1), [SECOND, 9]] as const
    const head: Head = { ...headIn.draining, lineage }
    expect(played(head, one => moves.takeOver(one, THIRD)).lineage).toEqual([...lineage, [THIRD, 10]])
  })

  test.each(['all', 'a report'])('amid a sync of %s begins a lineage and a journal', unfinishedSync => {
    const head: Head = { ...headIn.syncing, replayUntil: 30, unfinishedSync }
    expect(played(head, one => moves.takeOver(one, THIRD))).toMatchObject({
      lineage: [[THIRD, 10]],
      retainedFrom: 9,
      applied: 9,
      replayUntil: 0,
      unfinishedSync: null,
      unfinishedSyncEpoch: '',
    })
  })
})

test('a cluster that is emptied goes on with its incarnation and the highest number that it has seen', () => {
  const head: Head = { ...headIn.closed, maxEpoch: 20 }
  expect(played(head, one => moves.startEmpty(one, 'link'))).toMatchObject({ maxEpoch: 20, incarnation: 6 })
  expect(movedBy(undefined, moves.startEmpty(undefined, 'link'))).toMatchObject({
    maxEpoch: 0,
    incarnation: 1,
    mode: 'syncing',
  })
})
