import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findBrokenHeadRules, type JournalHead } from '../../../shared/journal/head.ts'
import { appendEpoch, epochAt, epochNumber, type JournalLineage } from '../../../shared/journal/position.ts'
import {
  type HeadMove,
  type HeadTransitionName,
  headMoves,
  headTransitions,
} from '../../../shared/journal/transitions.ts'
import { behind, isExpected, isGrowing, movedBy } from '../../support/tables/heads.ts'

// Plays random sequences of the head's transitions: a caller moves the head according to the head that it has
// read, which may be out of date. See docs/spec/journal-head.md.

/** Random numbers that decide the parameters of a move. */
interface Dice {
  readonly a: number
  readonly b: number
}

const number = { min: 0, max: 40 }
const dice = fc.record({ a: fc.integer(number), b: fc.integer(number) })
const names = Object.keys(headTransitions) as HeadTransitionName[]

const epochOf = (n: number, cluster = 'aaaaaaaaaaaa'): string => `${String(n).padStart(6, '0')}.${cluster}`

/** Returns a continued lineage, sometimes with a new epoch after its last position. */
function goesOn({ lineage, last: seq, maxEpoch }: JournalHead, { a, b }: Dice): JournalLineage {
  const [, last] = lineage.at(-1) ?? ['', 0]
  if (b % 3 > 0) return lineage
  return appendEpoch(
    lineage,
    epochOf(maxEpoch + 1 + (b % 2), 'bbbbbbbbbbbb'),
    Math.max(seq, last) + 1 + (a % 3),
  )
}

/** Returns the lineage of a source: the lineage of a head cut at some epoch, or another lineage. */
function sourceOf({ lineage, maxEpoch }: JournalHead, { a, b }: Dice): JournalLineage {
  const part = lineage.slice(0, 1 + (a % 3))
  const [, last] = part.at(-1) ?? ['', 0]
  const next = epochOf(maxEpoch + 1, 'cccccccccccc')
  return b % 2 === 0 && part.length > 0 ? part : appendEpoch(part, next, last + 1 + (b % 5))
}

/** The moves as their callers make them; undefined if the caller would not move the head that it has read. */
const callers: {
  readonly [N in HeadTransitionName]: (head: JournalHead, dice: Dice) => HeadMove | undefined
} = {
  begin: head => headMoves.begin(head, epochOf(head.maxEpoch + 1)),
  allocate: ({ epoch }) => headMoves.allocate({ epoch }),
  noteDense: (head, { a, b }) =>
    head.applied < head.last
      ? headMoves.noteDense(head, head.applied + 1 + (a % (head.last - head.applied)), { isOld: b % 4 === 0 })
      : undefined,
  close: (head, { a }) => headMoves.close(head, a % 2 === 0 ? '' : 'successor', head.maxEpoch - 3 + (a % 7)),
  noteEnd: (head, { a }) => headMoves.noteEnd(head, { isOld: a % 4 === 0 }),
  nameSuccessor: head => (head.successor === '' ? headMoves.nameSuccessor(head, 'successor') : undefined),
  noteFence: (head, { a }) => headMoves.noteFence(head, `successor ${a % 3}`, head.maxEpoch + (a % 3)),
  trim: (head, { a }) =>
    head.retainedFrom < head.applied
      ? headMoves.trim(head, head.retainedFrom + 1 + (a % (head.applied - head.retainedFrom)))
      : undefined,
  distrustOwn: () => headMoves.distrustOwn({}),
  distrustCopy: () => headMoves.distrustCopy({}, 'nobody'),
  stage: (head, given) => {
    const lineage = goesOn(head, given)
    const seq = head.last + 1 + (given.a % 5)
    return lineage.length > 0
      ? headMoves.stage(head, { seq, epoch: epochAt(lineage, seq), at: 1 }, lineage)
      : undefined
  },
  noteApplied: head => (head.applied < head.last ? headMoves.noteApplied(head) : undefined),
  stopStaging: head => headMoves.stopStaging(head),
  resume: head => headMoves.resume(head),
  follow: head => headMoves.follow(head),
  beginSync: (head, { a }) => headMoves.beginSync(head, a % 2 === 0 ? 'all' : `report ${a}`),
  refetchAll: ({ mode, incarnation }) => headMoves.refetchAll({ mode, incarnation }),
  stopSync: (head, { a }) => headMoves.stopSync(head, head.maxEpoch + (a % 3)),
  endSync: (head, { a, b }) => {
    const lineage = sourceOf(head, { a, b })
    const [epoch, last] = lineage.at(-1) ?? ['', 0]
    const [, first] = lineage[0] ?? ['', 1]
    const what = a % 2 === 0 ? 'all' : 'touched'
    const start =
      Math.max(first - 1, what === 'touched' ? head.retainedFrom : 0, (last - 1) * (b % 2)) + (a % 4)
    const end = { epoch, seq: Math.max(start, last) + (b % 6) }
    return headMoves.endSync(head, { what, start, lineage, hasFetched: b % 3 > 0, end })
  },
  requestSync: (head, { a }) =>
    head.replayUntil === 0 && head.unfinishedSync === null
      ? headMoves.requestSync(head, `report ${a}`)
      : undefined,
  changeLink: (head, { a }) => headMoves.changeLink(head, `link ${a}`),
  restoreLink: ({ link }, { a }) => headMoves.restoreLink({ link }, `link ${a}`),
  leaveSet: (head, { a }) => headMoves.leaveSet(head, head.maxEpoch + 1 + (a % 2)),
  takeOver: (head, { a }) => headMoves.takeOver(head, epochOf(head.maxEpoch + 1 + (a % 2))),
  startEmpty: (head, { a }) => headMoves.startEmpty(head, `link ${a}`),
  skipStaged: head => headMoves.skipStaged(head),
}

interface Step {
  readonly name: HeadTransitionName
  readonly dice: Dice
  /** the number of moves since the caller has read the head */
  readonly age: number
}

const steps = (age: fc.Arbitrary<number>) =>
  fc.array(fc.record({ name: fc.constantFrom(...names), dice, age }), { maxLength: 400, size: 'max' })

/** Plays moves, and returns the heads in order. */
function play(given: readonly Step[], look: (head: JournalHead, move: HeadMove) => void): JournalHead[] {
  const first = movedBy(undefined, headMoves.begin(undefined, epochOf(1)))
  if (first === 'refused') throw new Error('no journal begins')
  const heads = [first]
  for (const { name, dice: thrown, age } of given) {
    const head = heads.at(-1) ?? first
    const seen = heads.at(-1 - age) ?? first
    const move = headTransitions[name].modes[seen.mode as never] && callers[name](seen, thrown)
    if (!move) continue
    look(head, move)
    const moved = movedBy(head, move)
    if (moved !== 'refused') heads.push(moved)
  }
  return heads
}

const NOW = fc.constant(0)
const LATE = fc.nat({ max: 5 })

describe('random sequences of moves of a journal head', () => {
  test('a move from the current head is accepted, and the new head breaks no rule', () => {
    const made = new Set<HeadTransitionName>()
    fc.assert(
      fc.property(steps(NOW), given => {
        play(given, (head, move) => {
          const after = behind(head, move)
          if (findBrokenHeadRules(after).length > 0 || movedBy(head, move) === 'refused')
            throw new Error(`${move.name}: ${findBrokenHeadRules(after)} ${JSON.stringify({ head, after })}`)
          made.add(move.name)
        })
      }),
      { numRuns: 60 },
    )
    expect([...made].sort(), 'every row was played').toEqual([...names].sort())
  })

  test('an accepted move from an old head breaks no rule either', () => {
    fc.assert(
      fc.property(steps(LATE), given => {
        play(given, (head, move) => {
          if (!isExpected(head, move)) return
          const after = behind(head, move)
          if (isGrowing(head, after))
            expect(findBrokenHeadRules(after), `${move.name} ${JSON.stringify(head)}`).toEqual([])
        })
      }),
      { numRuns: 60 },
    )
  })

  test('incarnation and maxEpoch never fall, no position is allocated twice, and a new epoch is above maxEpoch', () => {
    fc.assert(
      fc.property(steps(LATE), given => {
        const taken = new Set<string>()
        const heads = play(given, () => undefined)
        for (const [index, head] of heads.entries()) {
          const old = heads[index - 1]
          expect(head.incarnation).toBeGreaterThanOrEqual(old?.incarnation ?? 0)
          expect(head.maxEpoch).toBeGreaterThanOrEqual(old?.maxEpoch ?? 0)
          const isNew = head.mode === 'writing' && old?.mode === 'writing' && head.last > old.last
          const position = `${head.epoch}/${head.last}`
          expect(isNew && taken.has(position), position).toBe(false)
          if (isNew) taken.add(position)
          const begins = head.mode === 'writing' && old !== undefined && old.mode !== 'writing'
          if (begins) expect(epochNumber(head.epoch)).toBeGreaterThan(old.maxEpoch)
        }
      }),
      { numRuns: 60 },
    )
  })
})
