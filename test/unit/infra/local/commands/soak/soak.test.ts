import { describe, expect, test } from 'vitest'
import {
  brokenIn,
  type ChangeSeen,
  growthOf,
  type SoakSeen,
} from '../../../../../../infra/local/commands/soak/judge.ts'
import { chanceFrom, changesOf } from '../../../../../../infra/local/commands/soak/plan.ts'

const change: ChangeSeen = { kind: 'planned', to: 'west', seconds: 5, looked: 100, lost: [], unnamed: [] }
const good: SoakSeen = {
  changes: [change],
  mostAtOnce: 1,
  logins: 1000,
  failed: 3,
  weather: {},
  faults: [],
  leftOut: 0,
  end: { position: 1200, root: 'abc' },
  memory: Array.from({ length: 80 }, (_, index) => 500 + (index % 7)),
}

describe('what a soak does', () => {
  test('an hour of it: a switch every five minutes, every third one by force', () => {
    expect(changesOf({ minutes: 60, planned: 5, forced: 15 }).map(({ kind, at }) => `${at} ${kind}`)).toEqual(
      [
        '5 planned',
        '10 planned',
        '15 forced',
        '20 planned',
        '25 planned',
        '30 forced',
        '35 planned',
        '40 planned',
        '45 forced',
        '50 planned',
        '55 planned',
      ],
    )
  })

  test('one that is shorter than its periods changes nothing', () =>
    expect(changesOf({ minutes: 5, planned: 5, forced: 15 })).toEqual([]))

  test('faults follow from the seed', () => {
    const some = (seed: number) => Array.from({ length: 5 }, chanceFrom(seed))
    expect(some(1)).toEqual(some(1))
    expect(some(1)).not.toEqual(some(2))
  })
})

describe('what breaks a soak', () => {
  test('nothing in a good one, and none of what was lost by force and is named', () => {
    expect(brokenIn(good)).toEqual([])
    expect(brokenIn({ ...good, changes: [{ ...change, kind: 'forced', lost: ['a', 'b'] }] })).toEqual([])
  })

  test.each<[name: string, seen: Partial<SoakSeen>, text: string]>([
    ['two primaries', { mostAtOnce: 2 }, '2 clusters served at once'],
    ['no logins', { logins: 0 }, 'nobody could log in'],
    [
      'a login that a planned switch lost',
      { changes: [change, { ...change, lost: ['a'] }] },
      'change 2: the planned switch to west lost 1 logins: a',
    ],
    [
      'lost logins that no report names',
      {
        changes: [{ ...change, kind: 'forced', lost: ['a', 'b', 'c', 'd'], unnamed: ['a', 'b', 'c', 'd'] }],
      },
      'change 1: 4 lost logins are in no report: a, b, c …',
    ],
    ['roots that differ', { end: 'they do not come to one root' }, 'they do not come to one root'],
    ['a change that did not come about', { faults: ['west refuses'] }, 'west refuses'],
    [
      'memory that grows',
      { memory: Array.from({ length: 80 }, (_, index) => 500 + index * 5) },
      'memory grew from 650 to 850 MiB',
    ],
  ])('%s', (_, seen, text) => expect(brokenIn({ ...good, ...seen })).toEqual([text]))

  test('memory says nothing in a few minutes', () => {
    expect(growthOf([1, 1, 1, 1, 100, 100, 100, 100])).toBeUndefined()
  })
})
