import { describe, expect, test } from 'vitest'
import { listReportedPlaces, splitDifferenceReport } from '../../../../shared/replication/sync/report.ts'
import { policyAt, tokenAt, writer } from '../../../builders/journal.ts'

const facts = { at: 1, epoch: '000002.bbbbbbbbbbbb', forkPoint: 3 }
const [x, y] = [policyAt('x'), tokenAt('y')]

describe('the report of a rewind', () => {
  test('the report contains journal entries, keys and items as they were stored, but no empty journal entries', () => {
    const { commit, entries } = writer()
    commit(5, [x, '1'], [y, '1', 99])
    commit(6, [x, null])
    const noop = { epoch: '000001.aaaaaaaaaaaa', seq: 3, id: '', at: 7, body: [], noop: true } as const
    const [part, ...more] = splitDifferenceReport(facts, [...entries, noop], [])
    expect(more).toEqual([])
    expect(part).toMatchObject({ ...facts, keys: [] })
    expect(part?.entries.map(({ pos, at, changes }) => [pos, at, changes.map(one => 'item' in one)])).toEqual(
      [
        ['000001.aaaaaaaaaaaa/000000000001', 5, [true, true]],
        ['000001.aaaaaaaaaaaa/000000000002', 6, [false]],
      ],
    )
    expect(part?.entries[0]?.changes[0]?.item).toMatchObject({ data: { value: '1' } })
  })

  test('the report names each key once: keys of journal entries, and keys that a sync may have changed', () => {
    const { commit, entries } = writer()
    commit(5, [x, '1'])
    commit(6, [x, '2'])
    expect(listReportedPlaces(splitDifferenceReport(facts, entries, [y, x]))).toEqual([x, y])
  })

  test('the report has one part even if nothing is lost', () => {
    expect(splitDifferenceReport(facts, [], [])).toEqual([{ ...facts, entries: [], keys: [] }])
  })

  test('the report is split into parts that fit into items, and the parts are complete', () => {
    const { commit, entries } = writer()
    const places = Array.from({ length: 200 }, (_, index) => policyAt(`p${index}`))
    for (const place of places) commit(0, [place, 'v'.repeat(3000)])
    commit(0, [policyAt('huge'), 'v'.repeat(300_000)])
    const parts = splitDifferenceReport(facts, entries, places)
    expect(parts.length).toBeGreaterThan(5)
    for (const part of parts) expect(JSON.stringify(part).length).toBeLessThan(130_000)
    expect(listReportedPlaces(parts).length).toBe(201)
  })

  test('the report does not make a sync fetch an item of an unknown kind', () => {
    const keys = [{ kind: 'nonsense', pk: 'a', sk: 'b' }]
    expect(listReportedPlaces([{ ...facts, entries: [], keys }])).toEqual([])
  })
})
