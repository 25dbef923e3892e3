import { describe, expect, test } from 'vitest'
import {
  createFirstHead,
  findBrokenHeadRules,
  type JournalHead,
  type JournalHeadMode,
} from '../../../shared/journal/head.ts'
import {
  type HeadMove,
  type HeadTransitionName,
  headMoves,
  headTransitions,
} from '../../../shared/journal/transitions.ts'
import { headIn, moveCases, SECOND, THIRD } from '../../builders/head-moves.ts'
import { behind, isExpected, movedBy } from '../../support/tables/heads.ts'

const MODES = Object.keys(headIn) as JournalHeadMode[]
const rows = Object.entries(moveCases) as [HeadTransitionName, (typeof moveCases)[HeadTransitionName]][]

/** A value for each field of the head that differs from the value in `headIn`. */
const other: { readonly [K in keyof JournalHead]-?: JournalHead[K] } = {
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

test('every row of transitions has a case', () =>
  expect(Object.keys(moveCases)).toEqual(Object.keys(headTransitions)))

describe.each(rows)('the transition %s of a journal head', (name, { make, modes, fencedBy, becomes }) => {
  const from = MODES.filter(mode => modes[mode] !== undefined)
  const [first = 'writing'] = from
  const seen: JournalHead = name === 'takeOver' ? { ...headIn[first], unfinishedSync: null } : headIn[first]

  test('the transition leads from its modes to the expected mode, and changes only the expected fields', () => {
    for (const mode of from) {
      // another test below covers takeOver during a sync
      const head = headIn[mode]
      const to = { mode: modes[mode] }
      expect(behind(head, make(head)), mode).toEqual({ ...head, ...becomes, ...to })
      if (name !== 'takeOver') expect(movedBy(head, make(head)), mode).toEqual({ ...head, ...becomes, ...to })
    }
  })

  test('the transition is refused in every other mode, whatever the caller has read', () => {
    for (const mode of MODES.filter(one => !from.includes(one))) {
      expect(movedBy(headIn[mode], make(headIn[mode])), mode).toBe('refused')
      const { from: none, expect: asked } = make(headIn[mode])
      expect(asked.mode && none, mode).toEqual(asked.mode && [])
      expect(isExpected(headIn[mode], make(headIn[mode])), mode).toBe(false)
      expect(isExpected(headIn[mode], make(seen)), mode).toBe(false)
    }
  })

  test('the transition has the expected modes, and `after` is the head that results', () => {
    expect(headTransitions[name].modes).toEqual(modes)
    const move = make(seen)
    expect(move.name).toBe(name)
    const { adds = {} } = headTransitions[name] as { adds?: object }
    if (move.expect.mode && !('last' in adds)) expect(move.after).toEqual(behind(seen, move))
  })

  test('the transition begins a journal only if its row allows `none`', () => {
    expect(isExpected(undefined, make(seen))).toBe(false)
    if (!modes.none) return
    expect(movedBy(undefined, make(undefined))).toMatchObject({ mode: modes.none, incarnation: 1 })
    expect(isExpected(seen, make(undefined))).toBe(false)
  })

  test('the transition is refused exactly if a field that it expects has changed', () => {
    const fields = (Object.keys(other) as (keyof JournalHead)[]).filter(field => field !== 'mode')
    const asks = fields.filter(field => !isExpected({ ...seen, [field]: other[field] }, make(seen)))
    expect(asks.sort()).toEqual(fencedBy.filter(field => field !== 'mode').sort())
  })

  test('the transition is refused in another mode exactly if its caller has read the mode', () => {
    for (const mode of from.filter(one => one !== first))
      expect(isExpected({ ...seen, mode }, make(seen)), mode).toBe(!fencedBy.includes('mode'))
  })
})

/** Applies a move that the head must accept. */
function played(head: JournalHead, make: (head: JournalHead) => HeadMove): JournalHead {
  const moved = movedBy(head, make(head))
  if (moved === 'refused') throw new Error(`refused: ${findBrokenHeadRules(behind(head, make(head)))}`)
  return moved
}

describe('transitions of a journal head with isOld', () => {
  test('transitions with isOld retain entries only from the dense position on', () => {
    expect(played(headIn.writing, head => headMoves.noteDense(head, 8, { isOld: true }))).toMatchObject({
      applied: 8,
      retainedFrom: 8,
    })
    expect(played(headIn.closed, head => headMoves.noteEnd(head, { isOld: true }))).toMatchObject({
      applied: 9,
      retainedFrom: 9,
    })
  })

  test('trim above the applied position is refused', () => {
    expect(movedBy(headIn.writing, headMoves.trim(headIn.writing, 8))).toBe('refused')
  })
})

test('noteDense above the last position is refused', () =>
  expect(movedBy(headIn.writing, headMoves.noteDense(headIn.writing, 10))).toBe('refused'))

describe('maxEpoch of a journal head', () => {
  test('maxEpoch stays when an epoch is closed for a lower number', () => {
    const head = { ...headIn.writing, maxEpoch: 20 }
    expect(played(head, one => headMoves.close(one, '', 7)).maxEpoch).toBe(20)
  })

  test('maxEpoch stays when a lower epoch is staged, or ends a sync', () => {
    const lineage = [...headIn.applying.lineage]
    const last = { epoch: SECOND, seq: 10, at: 1 }
    expect(
      played({ ...headIn.applying, maxEpoch: 20 }, head => headMoves.stage(head, last, lineage)).maxEpoch,
    ).toBe(20)
    expect(
      played({ ...headIn.syncing, maxEpoch: 20 }, head => headMoves.endSync(head, sync())).maxEpoch,
    ).toBe(20)
  })

  test('transitions with a lower number than maxEpoch are refused', () => {
    const head = { ...headIn.closed, maxEpoch: 20 }
    expect(movedBy(head, headMoves.noteFence(head, 'successor', 19))).toBe('refused')
    expect(movedBy(head, headMoves.leaveSet(head, 19))).toBe('refused')
  })

  test('maxEpoch is the number of the epoch that begins', () => {
    expect(movedBy(undefined, headMoves.begin(undefined, THIRD))).toEqual(createFirstHead(THIRD, 3))
  })
})

test('staging takes over the source’s lineage only up to the staged position', () => {
  const lineage = [...headIn.applying.lineage, [THIRD, 12]] as const
  const staged = played(headIn.applying, head =>
    headMoves.stage(head, { epoch: SECOND, seq: 11, at: 1 }, lineage),
  )
  expect(staged.lineage).toEqual(headIn.applying.lineage)
})

describe('the replay after a sync', () => {
  const replaying: JournalHead = {
    ...headIn.applying,
    replayUntil: 9,
    unfinishedSync: 'all',
    unfinishedSyncEpoch: SECOND,
  }

  test('the replay ends when every entry up to its end is applied', () => {
    for (const seq of [9, 10])
      expect(played({ ...replaying, last: seq }, headMoves.noteApplied)).toMatchObject({
        applied: seq,
        replayUntil: 0,
        unfinishedSync: null,
        unfinishedSyncEpoch: '',
      })
  })

  test('the replay continues while its end is not applied', () => {
    const { unfinishedSync, unfinishedSyncEpoch } = replaying
    expect(played({ ...replaying, replayUntil: 10 }, headMoves.noteApplied)).toMatchObject({
      applied: 9,
      replayUntil: 10,
      unfinishedSync,
      unfinishedSyncEpoch,
    })
  })

  test('a replay of a single position ends at that position', () => {
    const { lineage } = headIn.applying
    const first = { ...replaying, lineage: lineage.slice(0, 1), retainedFrom: 0, applied: 0, last: 1 }
    expect(played({ ...first, replayUntil: 1 }, headMoves.noteApplied)).toMatchObject({
      applied: 1,
      replayUntil: 0,
    })
  })

  test('the replay is dropped by beginSync, refetchAll, skipStaged, distrustCopy, leaveSet and requestSync', () => {
    const begins: ((head: JournalHead) => HeadMove)[] = [
      head => headMoves.beginSync(head, 'all'),
      headMoves.refetchAll,
      headMoves.skipStaged,
      () => headMoves.distrustCopy({}, 'link'),
      head => headMoves.leaveSet(head, 3),
    ]
    const head: JournalHead = { ...replaying, mode: 'draining', replayUntil: 12 }
    for (const make of begins) expect(played(head, make)).toMatchObject({ unfinishedSyncEpoch: '' })
    expect(behind(replaying, headMoves.requestSync(replaying, 'report'))).toMatchObject({
      unfinishedSyncEpoch: '',
    })
  })

  test('noteApplied keeps a requested sync if no replay runs', () => {
    const asked: JournalHead = { ...headIn.applying, unfinishedSync: 'a report' }
    expect(played(asked, headMoves.noteApplied)).toMatchObject({ applied: 9, unfinishedSync: 'a report' })
  })
})

/** Returns a head during a sync of touched items, whose replay goes from position 8 to 30. */
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

describe('the transition endSync', () => {
  const ended = (change: object) => played(headIn.syncing, head => headMoves.endSync(head, sync(change)))

  test("endSync of a full sync retains entries only from the sync's start on", () => {
    expect(ended({})).toMatchObject({ retainedFrom: 2, last: 8, applied: 8, replayUntil: 30 })
    expect(ended({ what: 'all', hasFetched: false })).toMatchObject({
      retainedFrom: 8,
      replayUntil: 30,
      unfinishedSync: 'a report',
    })
  })

  test('endSync starts no replay if the sync fetched nothing, or if the source wrote nothing since', () => {
    const whole = { replayUntil: 0, unfinishedSync: null, unfinishedSyncEpoch: '' }
    expect(ended({ hasFetched: false })).toMatchObject(whole)
    expect(ended({ end: { epoch: SECOND, seq: 8 } })).toMatchObject(whole)
  })

  test('endSync keeps unfinishedSync and the source’s epoch until the replay ends', () => {
    expect(ended({})).toMatchObject({
      replayUntil: 30,
      unfinishedSync: 'a report',
      unfinishedSyncEpoch: SECOND,
    })
  })

  test('endSync takes the epoch in which the sync started, and the lineage up to the start', () => {
    const lineage = [...headIn.syncing.lineage, [THIRD, 9]]
    expect(ended({ lineage, end: { epoch: THIRD, seq: 30 } })).toMatchObject({
      epoch: SECOND,
      lineage: headIn.syncing.lineage,
      maxEpoch: 3,
      unfinishedSyncEpoch: THIRD,
    })
  })

  test('endSync clears the own epoch of a former primary', () => {
    const head: JournalHead = { ...headIn.syncing, ownEpoch: SECOND }
    expect(played(head, one => headMoves.endSync(one, sync()))).toMatchObject({ ownEpoch: '' })
  })

  test('after a sync that starts at 0, the replay begins at 0, in the first epoch of the source', () => {
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

  test('endSync before the first position of the source takes the source’s first epoch', () => {
    const lineage = [[THIRD, 9]]
    expect(ended({ lineage, end: { epoch: THIRD, seq: 30 } })).toMatchObject({ epoch: THIRD, lineage })
  })
})

describe('the transition takeOver', () => {
  test('takeOver begins after the last position, and drops an epoch without positions from the lineage', () => {
    const head: JournalHead = {
      ...headIn.draining,
      epoch: THIRD,
      maxEpoch: 3,
      lineage: [...headIn.draining.lineage, [THIRD, 10]],
    }
    const fourth = '000004.dddddddddddd'
    expect(played(head, one => headMoves.takeOver(one, fourth))).toMatchObject({
      lineage: [...headIn.draining.lineage, [fourth, 10]],
      retainedFrom: 2,
      ownEpoch: fourth,
    })
  })

  test('takeOver keeps an epoch with one position in the lineage', () => {
    const lineage = [...headIn.draining.lineage.slice(0, 1), [SECOND, 9]] as const
    const head: JournalHead = { ...headIn.draining, lineage }
    expect(played(head, one => headMoves.takeOver(one, THIRD)).lineage).toEqual([...lineage, [THIRD, 10]])
  })

  test.each(['all', 'a report'])('takeOver during a sync of %s begins a new lineage', unfinishedSync => {
    const head: JournalHead = { ...headIn.syncing, replayUntil: 30, unfinishedSync }
    expect(played(head, one => headMoves.takeOver(one, THIRD))).toMatchObject({
      lineage: [[THIRD, 10]],
      retainedFrom: 9,
      applied: 9,
      replayUntil: 0,
      unfinishedSync: null,
      unfinishedSyncEpoch: '',
    })
  })
})

test('the transition startEmpty never lowers incarnation and maxEpoch', () => {
  const head: JournalHead = { ...headIn.closed, maxEpoch: 20 }
  expect(played(head, one => headMoves.startEmpty(one, 'link'))).toMatchObject({
    maxEpoch: 20,
    incarnation: 6,
  })
  expect(movedBy(undefined, headMoves.startEmpty(undefined, 'link'))).toMatchObject({
    maxEpoch: 0,
    incarnation: 1,
    mode: 'syncing',
  })
})
