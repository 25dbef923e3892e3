import { describe, expect, test } from 'vitest'
import { brokenRules, firstHead, type Head, type HeadMode } from '../../../shared/journal/head.ts'
import {
  type HeadMove,
  moves,
  type TransitionName,
  transitions,
} from '../../../shared/journal/transitions.ts'
import { headIn, moveCases, SECOND, THIRD } from '../../builders/head-moves.ts'
import { behind, isExpected, movedBy } from '../../support/heads.ts'

const MODES = Object.keys(headIn) as HeadMode[]
const rows = Object.entries(moveCases) as [TransitionName, (typeof moveCases)[TransitionName]][]

/** What each field may be instead. */
const other: { readonly [K in keyof Head]-?: Head[K] } = {
  mode: 'writing',
  epoch: THIRD,
  own: THIRD,
  seq: 90,
  done: 8,
  hold: 50,
  line: [[THIRD, 1]],
  from: 1,
  until: 70,
  dirty: 'another report',
  dirtyFrom: THIRD,
  n: 80,
  heir: 'another cluster',
  stagedAt: 1,
  link: 'another link',
}

test('every row is tried', () => expect(Object.keys(moveCases)).toEqual(Object.keys(transitions)))

describe.each(rows)('%s', (name, { make, modes, fencedBy, becomes }) => {
  const from = MODES.filter(mode => modes[mode] !== undefined)
  const [first = 'writing'] = from
  const seen: Head = name === 'takeOver' ? { ...headIn[first], dirty: null } : headIn[first]

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
      expect(isExpected(headIn[mode], make(seen)), mode).toBe(false)
    }
  })

  test('begins a journal only where that is its purpose', () => {
    expect(isExpected(undefined, make(seen))).toBe(false)
    if (!modes.none) return
    expect(movedBy(undefined, make(undefined))).toMatchObject({ mode: modes.none, hold: 1 })
    expect(isExpected(seen, make(undefined))).toBe(false)
  })

  test('is refused where somebody else was faster, and only there', () => {
    const fields = (Object.keys(other) as (keyof Head)[]).filter(field => field !== 'mode')
    const asks = fields.filter(field => !isExpected({ ...seen, [field]: other[field] }, make(seen)))
    expect(asks.sort()).toEqual(fencedBy.filter(field => field !== 'mode').sort())
  })

  test('is fenced by another mode of its own where its caller has seen the mode, and only there', () => {
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

describe('a journal of which cells may have been deleted', () => {
  test('is kept from where it is dense', () => {
    expect(played(headIn.writing, head => moves.noteDense(head, 8, { isOld: true }))).toMatchObject({
      ...{ done: 8, from: 8 },
    })
    expect(played(headIn.closed, head => moves.noteEnd(head, { isOld: true }))).toMatchObject({
      ...{ done: 9, from: 9 },
    })
  })

  test('is not kept behind what is applied', () => {
    expect(movedBy(headIn.writing, moves.trim(headIn.writing, 8))).toBe('refused')
  })
})

test('nothing is dense that was not given away', () =>
  expect(movedBy(headIn.writing, moves.noteDense(headIn.writing, 10))).toBe('refused'))

describe('the highest number that was seen', () => {
  test('stays where an epoch is ended by nobody, or by a lower one', () => {
    const head = { ...headIn.writing, n: 20 }
    expect(played(head, one => moves.close(one, '', 7)).n).toBe(20)
  })

  test('stays where the source stages or ends a lower epoch', () => {
    const line = [...headIn.applying.line]
    const last = { epoch: SECOND, seq: 10, at: 1 }
    expect(played({ ...headIn.applying, n: 20 }, head => moves.stage(head, last, line)).n).toBe(20)
    expect(played({ ...headIn.syncing, n: 20 }, head => moves.endSync(head, sync())).n).toBe(20)
  })

  test('never falls', () => {
    const head = { ...headIn.closed, n: 20 }
    expect(movedBy(head, moves.noteFence(head, 'heir', 19))).toBe('refused')
    expect(movedBy(head, moves.leaveSet(head, 19))).toBe('refused')
  })

  test('is that of the epoch that begins', () => {
    expect(movedBy(undefined, moves.begin(undefined, THIRD))).toEqual(firstHead(THIRD, 3))
  })
})

test('what is staged takes the lineage as far as it has come', () => {
  const line = [...headIn.applying.line, [THIRD, 12]] as const
  const staged = played(headIn.applying, head => moves.stage(head, { epoch: SECOND, seq: 11, at: 1 }, line))
  expect(staged.line).toEqual(headIn.applying.line)
})

describe('a replay', () => {
  const replaying: Head = { ...headIn.applying, until: 9, dirty: 'all', dirtyFrom: SECOND }

  test('ends where all of it is applied, and its sync is whole', () => {
    for (const seq of [9, 10])
      expect(played({ ...replaying, seq }, moves.noteApplied)).toMatchObject({
        ...{ done: seq, until: 0, dirty: null, dirtyFrom: '' },
      })
  })

  test('goes on before', () => {
    const { until, dirty, dirtyFrom } = { ...replaying, until: 10 }
    expect(played({ ...replaying, until }, moves.noteApplied)).toMatchObject({
      done: 9,
      until,
      dirty,
      dirtyFrom,
    })
  })

  test('leaves what a report names where there is none', () => {
    const asked: Head = { ...headIn.applying, dirty: 'a report' }
    expect(played(asked, moves.noteApplied)).toMatchObject({ done: 9, dirty: 'a report' })
  })
})

/** A sync of what was touched, to be replayed from 8 to 30. */
const sync = (change: object = {}) => ({
  ...{
    what: 'touched',
    start: 8,
    line: headIn.syncing.line,
    hasFetched: true,
    end: { epoch: SECOND, seq: 30 },
  },
  ...(change as { what: 'touched' }),
})

describe('a sync that ends', () => {
  const ended = (change: object) => played(headIn.syncing, head => moves.endSync(head, sync(change)))

  test('of everything keeps cells from its start on', () => {
    expect(ended({})).toMatchObject({ from: 2, seq: 8, done: 8, until: 30 })
    expect(ended({ what: 'all', hasFetched: false })).toMatchObject({ from: 8, until: 30, dirty: 'a report' })
  })

  test('needs no replay where nothing was fetched, or nothing was written since', () => {
    const whole = { until: 0, dirty: null, dirtyFrom: '' }
    expect(ended({ hasFetched: false })).toMatchObject(whole)
    expect(ended({ end: { epoch: SECOND, seq: 8 } })).toMatchObject(whole)
  })

  test('notes what it may have touched, and of which source, until its replay ends', () => {
    expect(ended({})).toMatchObject({ until: 30, dirty: 'a report', dirtyFrom: SECOND })
  })

  test('is in the epoch of its start, and knows the lineage up to there', () => {
    const line = [...headIn.syncing.line, [THIRD, 9]]
    expect(ended({ line, end: { epoch: THIRD, seq: 30 } })).toMatchObject({
      ...{ epoch: SECOND, line: headIn.syncing.line, n: 3, dirtyFrom: THIRD },
    })
  })

  test('before the first position of its source is in the epoch that begins there', () => {
    const line = [[THIRD, 9]]
    expect(ended({ line, end: { epoch: THIRD, seq: 30 } })).toMatchObject({ epoch: THIRD, line })
  })
})

describe('who takes over', () => {
  test('writes behind what it has, and knows no epoch of which nothing came', () => {
    const head: Head = {
      ...headIn.draining,
      epoch: THIRD,
      n: 3,
      line: [...headIn.draining.line, [THIRD, 10]],
    }
    const fourth = '000004.dddddddddddd'
    expect(played(head, one => moves.takeOver(one, fourth))).toMatchObject({
      ...{ line: [...headIn.draining.line, [fourth, 10]], from: 2, own: fourth },
    })
  })

  test.each(['all', 'a report'])('amid a sync of %s begins a lineage and a journal', dirty => {
    const head: Head = { ...headIn.syncing, until: 30, dirty }
    expect(played(head, one => moves.takeOver(one, THIRD))).toMatchObject({
      ...{ line: [[THIRD, 10]], from: 9, done: 9, until: 0, dirty: null, dirtyFrom: '' },
    })
  })
})

test('a cluster that is emptied goes on with its holds and the highest number that it has seen', () => {
  const head: Head = { ...headIn.closed, n: 20 }
  expect(played(head, one => moves.startEmpty(one, 'link'))).toMatchObject({ n: 20, hold: 6 })
  expect(movedBy(undefined, moves.startEmpty(undefined, 'link'))).toMatchObject({
    n: 0,
    hold: 1,
    mode: 'syncing',
  })
})
