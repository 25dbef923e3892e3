import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bucketOf, bucketText } from '../../../../shared/journal/tree.ts'
import { componentsOf, packs } from '../../../../shared/replication/apply/pieces.ts'
import { neighbours, policyAt, TREE_ID, tokenAt, writer } from '../../../builders/journal.ts'

const { a, b, apart } = neighbours

describe('components of a window', () => {
  test('every change is in exactly one piece, and no two components share a bucket', () => {
    const place = fc.oneof(
      fc.constantFrom(a, b, apart),
      fc.integer({ min: 0, max: 5 }).map(n => tokenAt(`t${n}`)),
    )
    const commits = fc.array(
      fc.uniqueArray(place, { minLength: 1, maxLength: 4, selector: one => one.pk + one.sk }),
      {
        maxLength: 12,
      },
    )
    fc.assert(
      fc.property(commits, all => {
        const { commit, cells } = writer()
        for (const places of all) commit(0, ...places.map(one => [one, 'v'] as const))
        const components = componentsOf(TREE_ID, cells)
        const buckets = components.map(one => [
          ...new Set(
            one.flatMap(piece =>
              piece.changes.map(({ kind, pk, sk }) => bucketText(bucketOf(TREE_ID, kind, pk, sk))),
            ),
          ),
        ])
        expect(buckets.every(one => one.length === 1)).toBe(true)
        expect(new Set(buckets.flat()).size).toBe(components.length)
        expect(components.flatMap(one => one.flatMap(piece => piece.changes)).length).toBe(
          cells.flatMap(cell => cell.body).length,
        )
        for (const one of components) {
          const seqs = one.map(piece => piece.seq)
          expect(seqs).toEqual([...new Set(seqs)].sort((x, y) => x - y))
        }
      }),
    )
  })

  test('two changes of one cell in one bucket are one piece', () => {
    const { commit, cells } = writer()
    commit(0, [a, '1'], [apart, '1'], [b, '1'])
    const components = componentsOf(TREE_ID, cells)
    expect(components.map(one => one.map(piece => piece.changes.map(change => change.sk)))).toEqual([
      [[a.sk, b.sk]],
      [[apart.sk]],
    ])
  })

  test('a token whose expiry changes stays in one component, in the order of its cells', () => {
    const { commit, cells } = writer()
    const token = tokenAt('t')
    const DAY = 86_400
    for (const days of [1, 9, 3, 400, 2]) commit(0, [token, `${days}`, days * DAY])
    const [only, ...others] = componentsOf(TREE_ID, cells)
    expect(others).toEqual([])
    expect(only?.map(piece => piece.seq)).toEqual([1, 2, 3, 4, 5])
  })

  test('a cell without changes is in no component', () => {
    expect(
      componentsOf(TREE_ID, [{ epoch: '000001.aaaaaaaaaaaa', seq: 1, id: '', at: 0, body: [], noop: true }]),
    ).toEqual([])
  })
})

describe('transactions of pieces', () => {
  const pieces = (count: number, changes = 1) => {
    const { commit, cells } = writer()
    for (let n = 0; n < count; n++)
      commit(0, ...Array.from({ length: changes }, (_, i) => [policyAt(`n${n}-${i}`), 'v'] as const))
    return componentsOf(TREE_ID, cells).map(one => one.slice(0, 1))
  }

  test('hold 98 elements at most, and every piece is in one', () => {
    const all = pieces(300)
    const groups = packs(all, 2)
    expect(groups.flat()).toEqual(all)
    for (const group of groups)
      expect(group.flat().reduce((sum, { changes }) => sum + changes.length + 1, 0)).toBeLessThanOrEqual(98)
  })

  test('are shared among the workers before they are filled', () => {
    expect(packs(pieces(16), 8).map(one => one.length)).toEqual([2, 2, 2, 2, 2, 2, 2, 2])
  })
})
