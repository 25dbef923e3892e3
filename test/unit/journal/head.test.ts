import { describe, expect, test } from 'vitest'
import {
  brokenRules,
  firstHead,
  growingFields,
  type Head,
  type HeadRuleName,
} from '../../../shared/journal/head.ts'
import { FIRST, headIn, SECOND, THIRD } from '../../builders/head-moves.ts'

const { writing, closed, applying, draining, syncing } = headIn

test.each(Object.entries(headIn))('a head that is %s keeps all rules', (_, head) =>
  expect(brokenRules(head)).toEqual([]),
)

test('a new head and an empty one keep all rules', () => {
  expect(brokenRules(firstHead(FIRST, 1))).toEqual([])
  const empty = { ...firstHead('', 0), mode: 'syncing', own: '', lineage: [], unfinishedSync: 'all' } as const
  expect(brokenRules(empty)).toEqual([])
})

const twice: Head['lineage'] = [
  [SECOND, 4],
  [SECOND, 5],
]

/** A replay after a sync, from 7 on to 12. */
const replay = { replayUntil: 12, unfinishedSync: 'all', unfinishedSyncEpoch: SECOND } as const

describe('a rule is broken by', () => {
  test.each<[HeadRuleName, string, Head, Partial<Head>]>([
    ['applied', 'what is applied before it is staged', applying, { applied: 10 }],
    ['kept', 'what is not kept before it is applied', applying, { retainedFrom: 8 }],
    ['writer', 'who writes in an epoch that is not its own', writing, { ownEpoch: '' }],
    ['follower', 'who applies in an epoch of its own', applying, { ownEpoch: SECOND }],
    ['follower', 'who drains in an epoch of its own', draining, { ownEpoch: SECOND }],
    ['owner', 'an own epoch that is not the last one', closed, { ownEpoch: FIRST }],
    ['owner', 'the same amid a sync', syncing, { ownEpoch: THIRD }],
    ['numbered', 'an epoch above all that were seen', writing, { maxEpoch: 1 }],
    ['touching', 'a sync that has noted nothing', syncing, { unfinishedSync: null }],
    ['replaying', 'a replay of nothing', applying, { replayUntil: 12 }],
    ['replayed', 'a replay that goes on behind its end', applying, { ...replay, replayUntil: 7 }],
    [
      'replayed',
      'a source without a replay',
      applying,
      { unfinishedSync: 'all', unfinishedSyncEpoch: SECOND },
    ],
    ['alone', 'who writes and replays', writing, { replayUntil: 12, unfinishedSync: 'all' }],
    ['alone', 'who has ended and replays', closed, { replayUntil: 12, unfinishedSync: 'all' }],
    [
      'lineage',
      'a lineage that falls',
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
      'two epochs that begin at one place',
      applying,
      {
        lineage: [
          [FIRST, 4],
          [SECOND, 4],
        ],
      },
    ],
    ['lineage', 'an epoch that is there twice', applying, { lineage: twice }],
    ['lineage', 'a lineage that ends behind the last position', applying, { lineage: [[SECOND, 11]] }],
    ['lineage', 'a lineage that ends in a later epoch', applying, { lineage: [[THIRD, 4]] }],
    ['lineage', 'a lineage of thirteen epochs', { ...applying, last: 20 }, { lineage: epochs(13) }],
    ['lineage', 'a lineage that begins before the first position', applying, { lineage: [[SECOND, 0]] }],
  ])('%s: %s', (rule, _, head, change) => expect(brokenRules({ ...head, ...change })).toEqual([rule]))

  test.each<[string, Head, Partial<Head>]>([
    ['all is applied', applying, { applied: 9 }],
    ['nothing is kept but what is not applied', applying, { retainedFrom: 7 }],
    ['an epoch was seen that is higher', writing, { maxEpoch: 3 }],
    ['a replay', applying, replay],
    ['a replay that is drained', draining, replay],
    [
      'what an ended replay has left to a sync',
      applying,
      { ...replay, unfinishedSyncEpoch: '', applied: 9, replayUntil: 9 },
    ],
    ['a sync of a former primary', syncing, { ownEpoch: SECOND }],
    ['a sync amid a replay', syncing, { replayUntil: 12 }],
    ['a restored copy', writing, { unfinishedSync: 'all' }],
    ['a lineage that begins behind the last position', applying, { lineage: [[SECOND, 10]] }],
    ['a lineage whose last epoch is not that of the position', applying, { lineage: [[FIRST, 4]] }],
    [
      'a lineage of twelve epochs',
      { ...applying, last: 20, epoch: THIRD, maxEpoch: 3 },
      { lineage: epochs(12) },
    ],
  ])('none, where there is %s', (_, head, change) => expect(brokenRules({ ...head, ...change })).toEqual([]))
})

test('incarnations and epoch numbers are the fields that never fall', () =>
  expect(growingFields).toEqual(['incarnation', 'maxEpoch']))

function epochs(count: number): Head['lineage'] {
  return Array.from(
    { length: count },
    (_, index) => [`000001.${String(index).padStart(12, '0')}`, index + 1] as const,
  )
}

test('a partly known head breaks only rules that its known fields break', () => {
  expect(brokenRules({ applied: 5 })).toEqual([])
  expect(brokenRules({ applied: 5, last: 4 })).toEqual(['applied'])
  expect(brokenRules({ mode: 'writing', replayUntil: 5 })).toEqual(['alone'])
  expect(brokenRules({ lineage: [[SECOND, 1]], epoch: FIRST })).toEqual([])
})
