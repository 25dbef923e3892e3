import { expect, test } from 'vitest'
import type { PlayedPart } from '../../../../../../infra/local/commands/drill/drill.ts'
import { formatDrill, judgeDrill } from '../../../../../../infra/local/commands/drill/verdict.ts'

const switched = { mostAtOnce: 1, longestGap: 700, logins: 40, lost: [] }
const there: PlayedPart = { part: 'east to west', ...switched }
const back: PlayedPart = { part: 'west to east', ...switched, longestGap: 900 }
const disaster: PlayedPart = {
  part: 'disaster',
  ...switched,
  lost: ['a', 'b'],
  reported: ['b', 'a', 'c'],
}

test('a drill passes if the loss report names every lost login', () => {
  const result = judgeDrill([there, back, disaster])
  expect(result).toMatchObject({ verdict: 'passed', faults: [] })
  expect(result.parts.map(({ lost, nobody_served_ms }) => ({ lost, nobody_served_ms }))).toEqual([
    { lost: 0, nobody_served_ms: 700 },
    { lost: 0, nobody_served_ms: 900 },
    { lost: 2, nobody_served_ms: 700 },
  ])
  expect(formatDrill(result).split('\n').at(-1)).toMatch(/^PASSED/)
})

test.each<[what: string, part: PlayedPart, fault: RegExp]>([
  ['two primaries at once', { ...back, mostAtOnce: 2 }, /west to east: 2 primaries/],
  ['a login that a planned switch lost', { ...there, lost: ['a'] }, /east to west: 1 .*lost/],
  [
    'a lost login that no report names',
    { ...disaster, reported: ['a'] },
    /1 of 2 lost .*missing from the report/,
  ],
  ['a part in which nobody logged in', { ...there, logins: 0 }, /no workload/],
])('a drill with %s fails, as the last line says', (_, part, fault) => {
  const result = judgeDrill([there, back, disaster].map(one => (one.part === part.part ? part : one)))
  expect(result).toMatchObject({ verdict: 'failed', faults: [expect.stringMatching(fault)] })
  expect(formatDrill(result).split('\n').at(-1)).toMatch(/^FAILED: /)
})

test('an interrupted drill fails with the error, and keeps the parts that were played', () => {
  const result = judgeDrill([there], 'promote on west: 503 behind its primary')
  expect(result).toMatchObject({ verdict: 'failed', faults: ['promote on west: 503 behind its primary'] })
  expect(result.parts).toHaveLength(1)
})
