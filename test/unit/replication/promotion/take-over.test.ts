import { describe, expect, test } from 'vitest'
import { createFirstHead, type JournalHead } from '../../../../shared/journal/head.ts'
import { checkJournalIsWhole, computeNextEpoch } from '../../../../shared/replication/promotion/take-over.ts'

const FIRST = '000001.aaaaaaaaaaaa'
const SECOND = '000002.bbbbbbbbbbbb'
const head: JournalHead = {
  ...createFirstHead(FIRST, 1),
  mode: 'draining',
  ownEpoch: '',
  last: 40,
  applied: 40,
  incarnation: 7,
  retainedFrom: 5,
}
test.each([
  ['the highest number that the head contains', { ...head, maxEpoch: 4 }, [], '000005.bbbbbbbbbbbb'],
  [
    'the epochs that other clusters have reported',
    head,
    [undefined, '000007.cccccccccccc', FIRST],
    '000008.bbbbbbbbbbbb',
  ],
  [
    'the epoch of its own successor, known or not',
    { ...head, mode: 'closed' as const, ownEpoch: FIRST, successor: 'some cluster' },
    [],
    '000003.bbbbbbbbbbbb',
  ],
  [
    'only its own epoch if that was closed without a successor',
    { ...head, mode: 'closed' as const, ownEpoch: FIRST },
    [],
    SECOND,
  ],
  [
    'only its own epoch once it has followed another cluster',
    { ...head, successor: 'some cluster' },
    [],
    SECOND,
  ],
])('a take-over begins an epoch higher than %s', (_, before, seen, next) => {
  expect(computeNextEpoch(before, seen, '00000000-0000-4000-8000-bbbbbbbbbbbb')).toBe(next)
})

describe('the required end of the journal in a take-over without force', () => {
  const end = { epoch: FIRST, seq: 40, closedEpoch: FIRST }

  test("a journal that ends exactly where the primary's answer says is accepted", () => {
    expect(() => checkJournalIsWhole(head, { force: false, end })).not.toThrow()
  })

  test.each<[string, Partial<JournalHead>]>([
    ['the same position in another epoch', { epoch: SECOND }],
    ['one position less', { last: 39 }],
    ['one position more', { last: 41 }],
    ['a sync that has begun', { unfinishedSync: 'all' }],
    ['a replay that has not ended', { replayUntil: 50 }],
  ])('an incomplete journal is refused: %s', (_, change) => {
    expect(() => checkJournalIsWhole({ ...head, ...change }, { force: false, end })).toThrow()
    expect(() => checkJournalIsWhole({ ...head, ...change }, { force: true, end })).not.toThrow()
  })
})
