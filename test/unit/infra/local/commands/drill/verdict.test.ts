import { expect, test } from 'vitest'
import {
  type DrillResults,
  formatDrill,
  judgeDrill,
} from '../../../../../../infra/local/commands/drill/verdict.ts'

const switched = { mostAtOnce: 1, longestGap: 700, logins: 40, lost: [] }
const good: DrillResults = {
  there: switched,
  back: { ...switched, longestGap: 900 },
  disaster: { ...switched, lost: ['a', 'b'], reported: ['b', 'a', 'c'] },
}

test('a drill passes if the loss report names every lost login', () => {
  const result = judgeDrill(good)
  expect(result).toMatchObject({ verdict: 'passed', faults: [] })
  expect(result.parts.map(({ lost, nobody_served_ms }) => ({ lost, nobody_served_ms }))).toEqual([
    { lost: 0, nobody_served_ms: 700 },
    { lost: 0, nobody_served_ms: 900 },
    { lost: 2, nobody_served_ms: 700 },
  ])
  expect(formatDrill(result).split('\n').at(-1)).toMatch(/^PASSED/)
})

test.each<[what: string, seen: Partial<DrillResults>, fault: RegExp]>([
  ['two primaries at once', { back: { ...switched, mostAtOnce: 2 } }, /west to east: 2 primaries/],
  ['a login that a planned switch lost', { there: { ...switched, lost: ['a'] } }, /east to west: 1 .*lost/],
  [
    'a lost login that no report names',
    { disaster: { ...good.disaster, reported: ['a'] } },
    /1 of 2 lost .*missing from the report/,
  ],
  ['a part in which nobody logged in', { there: { ...switched, logins: 0 } }, /no workload/],
])('a drill with %s fails, as the last line says', (_, seen, fault) => {
  const result = judgeDrill({ ...good, ...seen })
  expect(result).toMatchObject({ verdict: 'failed', faults: [expect.stringMatching(fault)] })
  expect(formatDrill(result).split('\n').at(-1)).toMatch(/^FAILED: /)
})

test('an interrupted drill fails with the error, and keeps the parts that were played', () => {
  const result = judgeDrill({ there: switched }, 'promote on west: 503 behind its primary')
  expect(result).toMatchObject({ verdict: 'failed', faults: ['promote on west: 503 behind its primary'] })
  expect(result.parts).toHaveLength(1)
})
