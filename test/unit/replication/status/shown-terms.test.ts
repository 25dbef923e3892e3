import { describe, expect, test } from 'vitest'
import type { KnownTermHolders } from '../../../../shared/link/admin/holders.ts'
import type { Secondary } from '../../../../shared/model/link.ts'
import { showTermHolders } from '../../../../shared/replication/status/shown-terms.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { item } from '../../../support/tables/items.ts'

const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
const counted = <T>(count: number, make: (number: number) => T): T[] =>
  Array.from({ length: count }, (_, number) => make(number))

const term = (number: number) =>
  item(key('term', `term-${number}`), { number, since: number * 1000, probe: '', signers: [] } as never)
/**
 * Returns clusters in the order of their admission. The first `revoked` clusters were revoked, in the same
 * order.
 */
const known = (clusters: number, revoked = 0, terms = 1): KnownTermHolders => ({
  self: idOf(999),
  terms: counted(terms, term),
  holders: counted(clusters, number =>
    item(key('holder', idOf(number)), {
      name: `n-${number}`,
      at: number,
      ...(number < revoked ? { revoked: { at: 1000 + number, epoch: 'e' } } : {}),
    }),
  ),
})
const secondary = (number: number, heardAt?: number) =>
  ({
    id: `n-${number}`,
    createdAt: number,
    activatedAt: number,
    ...(heardAt ? { heartbeat: { at: heardAt } } : {}),
  }) as Secondary

describe('terms and secondaries in the status of a primary', () => {
  test('in a small set terms and secondaries are shown completely', () => {
    const shown = showTermHolders(
      known(16, 4, 2),
      counted(8, number => secondary(number)),
      undefined,
    )
    expect(shown.notShown).toEqual({ secondaries: 0, terms: 0, clusters: 0 })
    expect(shown.terms.map(({ number, given_to }) => [number, given_to.length])).toEqual([
      [0, 16],
      [1, 16],
    ])
  })

  test('status names the clusters admitted last and revoked last, and counts the other clusters', () => {
    const { terms, notShown: left } = showTermHolders(known(70, 30), [], undefined)
    expect(left).toEqual({ secondaries: 0, terms: 0, clusters: 70 - 32 })
    const names = (isRevoked: boolean) =>
      terms[0]?.given_to.filter(one => one.revoked === isRevoked).map(({ name }) => name)
    expect(names(true)).toEqual(counted(16, number => `n-${14 + number}`))
    expect(names(false)).toEqual(counted(16, number => `n-${54 + number}`))
  })

  test('status keeps a secondary with a heartbeat, however many tokens were made later', () => {
    const { secondaries, notShown: left } = showTermHolders(
      known(0),
      [secondary(0, 5), ...counted(70, number => secondary(number + 1))],
      undefined,
    )
    expect(secondaries).toHaveLength(32)
    expect(secondaries[0]?.id).toBe('n-0')
    expect(secondaries.at(-1)?.id).toBe('n-70')
    expect(left.secondaries).toBe(71 - 32)
  })

  test('in a set with many former members the number of terms and secondaries is limited', () => {
    const sizeOf = (count: number) =>
      JSON.stringify(
        showTermHolders(
          known(count, count / 2, count),
          counted(count, number => secondary(number)),
          undefined,
        ),
      ).length
    expect(sizeOf(1000)).toBeLessThan(sizeOf(100) * 1.1)
  })
})
