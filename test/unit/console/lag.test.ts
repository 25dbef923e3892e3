import { describe, expect, test } from 'vitest'
import {
  addLagSample,
  chooseLagScaleTop,
  computeReplicationLags,
  describeReplicationLags,
  LAG_CHART_SPAN_MS,
  type LagSample,
  plotLagLines,
  withLagHistory,
} from '../../../shared/console/lag.ts'
import type { ObservedCluster } from '../../../shared/set/status.ts'
import { formatCount, formatTimeSpan } from '../../../shared/values/words.ts'
import { seenAs, silent } from '../../builders/cluster-seen.ts'

const NOW = 1_750_000_000_000
const primary = (last: number, set = 'set-1') =>
  seenAs('east', { mode: 'primary', cluster_id: set, last_wal: last, last_dr_wal: last }, 200, { at: NOW })
const secondary = (received: number, age: string | undefined, at = NOW) =>
  seenAs(
    'west',
    {
      mode: 'secondary',
      cluster_id: 'set-1',
      last_remote_wal: received,
      primaries: [age === undefined ? {} : { replication_primary_canary_age_ms: age }],
    },
    472,
    { at },
  )
const gone = async (one: Promise<ObservedCluster>) => silent(await one)

describe('the age of stored entries and the possible loss, in the console', () => {
  test.each<[string, Promise<ObservedCluster>[], object]>([
    [
      'the secondary has all entries: a quiet set loses nothing, whatever the age of the newest entry',
      [primary(5), secondary(5, '9000')],
      { stored: 9000, lost: 0, positions: 0 },
    ],
    [
      'the secondary lacks two positions',
      [primary(7), secondary(5, '300')],
      { stored: 300, lost: 300, positions: 2 },
    ],
    [
      'the secondary answered later than the primary, and has a higher position',
      [primary(5), secondary(6, '10')],
      { stored: 10, lost: 0, positions: 0 },
    ],
    [
      'the primary is silent: all commits after the secondary’s newest entry may be lost',
      [gone(primary(5)), secondary(5, '9000')],
      { stored: 9000, lost: 9000 },
    ],
    [
      'the secondary is silent, and its last answer is 4 s old',
      [primary(5), gone(secondary(5, '1000', NOW - 4000))],
      { stored: 5000, lost: 5000, positions: 0 },
    ],
    ['the secondary reports no age', [primary(5), secondary(4, undefined)], { positions: 1 }],
    [
      'a primary of another set is ignored',
      [primary(5, 'set-2'), secondary(5, '10')],
      { stored: 10, lost: 10 },
    ],
    ['the set has no secondary', [primary(5)], {}],
  ])('%s', async (_, both, lags) => {
    expect(computeReplicationLags(await Promise.all(both), NOW)).toEqual(lags)
  })

  test.each([
    [{}, /The lag is unknown/],
    [{ stored: 400, lost: 0, positions: 0 }, /less than a second old\. A promotion now would lose nothing/],
    [
      { stored: 6200, lost: 6200, positions: 1 },
      /6 s old\. A promotion now would lose at most the commits of the last 6 s\. It lacks 1 position/,
    ],
    [{ stored: 6200, lost: 6200 }, /unknown, because the primary does not answer/],
  ])('the lag %j is shown as a sentence', (lags, text) => expect(describeReplicationLags(lags)).toMatch(text))
})

describe("the console's chart of lags", () => {
  const box = { width: 600, height: 100 }
  const samples: LagSample[] = [
    { at: NOW - LAG_CHART_SPAN_MS, stored: 0, lost: 0 },
    { at: NOW - LAG_CHART_SPAN_MS / 2, stored: 5000, lost: 5000 },
    { at: NOW - LAG_CHART_SPAN_MS / 4 },
    { at: NOW, stored: 10_000, lost: 0 },
  ]

  test('time runs from left to right and lag from bottom to top; unknown lag is not drawn', () => {
    expect(plotLagLines(samples, 'stored', box, NOW)).toEqual(['0.0,100.0 300.0,50.0', '600.0,0.0'])
    expect(plotLagLines(samples, 'lost', box, NOW)).toEqual(['0.0,100.0 300.0,50.0', '600.0,100.0'])
  })

  test('the scale is a round number above all samples, at least ten seconds', () => {
    expect(chooseLagScaleTop([])).toBe(10_000)
    expect(chooseLagScaleTop([{ at: NOW, stored: 10_001 }])).toBe(20_000)
    expect(chooseLagScaleTop([{ at: NOW, lost: 61_000 }])).toBe(100_000)
  })

  test('the reported history precedes the samples of the page', () => {
    const at = (seconds: number) => new Date(NOW - seconds * 1000).toISOString()
    const history = [
      { time: at(700), age_ms: 1 },
      { time: at(20), age_ms: -5 },
      { time: at(5), age_ms: 3 },
      { time: 'odd', age_ms: 4 },
    ]
    expect(withLagHistory([{ at: NOW - 10_000, stored: 7 }], history, NOW)).toEqual([
      { at: NOW - 20_000, stored: 0 },
      { at: NOW - 10_000, stored: 7 },
    ])
  })

  test('samples that are too old are dropped', () => {
    const more = addLagSample(samples, { at: NOW + 1, stored: 1 })
    expect(more.map(({ at }) => at)).toEqual([...samples.slice(1).map(({ at }) => at), NOW + 1])
  })
})

test.each([
  [-5, '0 s'],
  [119_999, '119 s'],
  [120_000, '2 min'],
  [7_200_000, '2 h'],
  [172_800_000, '2 days'],
])('a duration of %d ms is shown as %s', (ms, text) => expect(formatTimeSpan(ms)).toBe(text))

test('a single unit is shown in the singular', () => {
  expect([formatCount(1, 'commit'), formatCount(0, 'commit'), formatCount(2, 'is', 'are')]).toEqual([
    '1 commit',
    '0 commits',
    '2 are',
  ])
})
