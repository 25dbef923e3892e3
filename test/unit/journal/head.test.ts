import { describe, expect, test } from 'vitest'
import {
  createFirstHead,
  findBrokenHeadRules,
  growingHeadFields,
  type HeadRuleName,
  type JournalHead,
} from '../../../shared/journal/head.ts'
import { FIRST, headIn, SECOND, THIRD } from '../../builders/head-moves.ts'

const { writing, closed, applying, draining, syncing } = headIn

test.each(Object.entries(headIn))('a head in mode %s breaks no rule', (_, head) =>
  expect(findBrokenHeadRules(head)).toEqual([]),
)

test('a new head and an empty head break no rule', () => {
  expect(findBrokenHeadRules(createFirstHead(FIRST, 1))).toEqual([])
  const empty = {
    ...createFirstHead('', 0),
    mode: 'syncing',
    own: '',
    lineage: [],
    unfinishedSync: 'all',
  } as const
  expect(findBrokenHeadRules(empty)).toEqual([])
})

const twice: JournalHead['lineage'] = [
  [SECOND, 4],
  [SECOND, 5],
]

/** The fields of a head whose replay after a sync goes up to position 12. */
const replay = { replayUntil: 12, unfinishedSync: 'all', unfinishedSyncEpoch: SECOND } as const

describe('rules that a journal head must keep', () => {
  test.each<[HeadRuleName, string, JournalHead, Partial<JournalHead>]>([
    ['applied', 'applied above last', applying, { applied: 10 }],
    ['kept', 'retainedFrom above applied', applying, { retainedFrom: 8 }],
    ['writer', 'writing without an own epoch', writing, { ownEpoch: '' }],
    ['follower', 'applying with an own epoch', applying, { ownEpoch: SECOND }],
    ['follower', 'draining with an own epoch', draining, { ownEpoch: SECOND }],
    ['owner', 'an own epoch that differs from the epoch', closed, { ownEpoch: FIRST }],
    ['owner', 'an own epoch that differs, during a sync', syncing, { ownEpoch: THIRD }],
    ['numbered', 'an epoch number above maxEpoch', writing, { maxEpoch: 1 }],
    ['touching', 'a sync without unfinishedSync', syncing, { unfinishedSync: null }],
    ['replaying', 'a replay without unfinishedSync', applying, { replayUntil: 12 }],
    [
      'replayed',
      'a replay whose end is applied, with its source’s epoch',
      applying,
      { ...replay, replayUntil: 7 },
    ],
    [
      'replayed',
      'a source’s epoch without a replay',
      applying,
      { unfinishedSync: 'all', unfinishedSyncEpoch: SECOND },
    ],
    ['alone', 'a replay while writing', writing, { replayUntil: 12, unfinishedSync: 'all' }],
    ['alone', 'a replay after closing', closed, { replayUntil: 12, unfinishedSync: 'all' }],
    [
      'lineage',
      'a lineage with falling epochs',
      applying,
      {
        lineage: [
          [SECOND, 1],
          [FIRST, 4],
        ],
      },
    ],
    [
      'lineage',
      'two epochs with the same first position',
      applying,
      {
        lineage: [
          [FIRST, 4],
          [SECOND, 4],
        ],
      },
    ],
    ['lineage', 'the same epoch twice', applying, { lineage: twice }],
    ['lineage', 'a lineage that begins an epoch after last + 1', applying, { lineage: [[SECOND, 11]] }],
    ['lineage', 'a lineage that ends with a later epoch', applying, { lineage: [[THIRD, 4]] }],
    ['lineage', 'a lineage of thirteen epochs', { ...applying, last: 20 }, { lineage: epochs(13) }],
    ['lineage', 'a lineage that begins at position 0', applying, { lineage: [[SECOND, 0]] }],
  ])('a head breaks the rule %s, with %s', (rule, _, head, change) =>
    expect(findBrokenHeadRules({ ...head, ...change })).toEqual([rule]),
  )

  test.each<[string, JournalHead, Partial<JournalHead>]>([
    ['everything applied', applying, { applied: 9 }],
    ['retainedFrom equal to applied', applying, { retainedFrom: 7 }],
    ['a maxEpoch above the epoch', writing, { maxEpoch: 3 }],
    ['a replay', applying, replay],
    ['a replay while draining', draining, replay],
    [
      'an unfinished sync after the end of a replay',
      applying,
      { ...replay, unfinishedSyncEpoch: '', applied: 9, replayUntil: 9 },
    ],
    ['a former primary’s sync', syncing, { ownEpoch: SECOND }],
    ['a sync during a replay', syncing, { replayUntil: 12 }],
    ['a restored copy', writing, { unfinishedSync: 'all' }],
    ['a lineage that begins at last + 1', applying, { lineage: [[SECOND, 10]] }],
    ['a lineage that ends with an earlier epoch', applying, { lineage: [[FIRST, 4]] }],
    [
      'a lineage of twelve epochs',
      { ...applying, last: 20, epoch: THIRD, maxEpoch: 3 },
      { lineage: epochs(12) },
    ],
  ])('a head breaks no rule, with %s', (_, head, change) =>
    expect(findBrokenHeadRules({ ...head, ...change })).toEqual([]),
  )
})

test('the fields that never decrease are incarnation and maxEpoch', () =>
  expect(growingHeadFields).toEqual(['incarnation', 'maxEpoch']))

function epochs(count: number): JournalHead['lineage'] {
  return Array.from(
    { length: count },
    (_, index) => [`000001.${String(index).padStart(12, '0')}`, index + 1] as const,
  )
}

test('a partly known head breaks only rules that its known fields decide', () => {
  expect(findBrokenHeadRules({ applied: 5 })).toEqual([])
  expect(findBrokenHeadRules({ applied: 5, last: 4 })).toEqual(['applied'])
  expect(findBrokenHeadRules({ mode: 'writing', replayUntil: 5 })).toEqual(['alone'])
  expect(findBrokenHeadRules({ lineage: [[SECOND, 1]], epoch: FIRST })).toEqual([])
})
