import { describe, expect, test } from 'vitest'
import { isCopyOfPrimary, isRestoredCopy } from '../../../shared/model/cluster.ts'

describe('a record is that of a restored copy', () => {
  test.each<[what: string, home: string | undefined, here: string, copy: boolean]>([
    ['in other tables than those that it names', 'a', 'b', true],
    ['not in those', 'a', 'a', false],
    ['not where it names none: it has no role in a set', undefined, 'b', false],
    ['not where nobody knows what these tables are called', 'a', '', false],
  ])('%s', (_, home, here, copy) => {
    const record = home === undefined ? {} : { homeTable: home }
    expect(isRestoredCopy(record, { home: here })).toBe(copy)
    expect(isCopyOfPrimary({ ...record, mode: 'primary' }, { home: here })).toBe(copy)
    for (const mode of ['secondary', 'bootstrapping', 'disabled'] as const)
      expect(isCopyOfPrimary({ ...record, mode }, { home: here })).toBe(false)
  })

  test('not where there is none', () => {
    expect([isRestoredCopy(undefined, { home: 'a' }), isCopyOfPrimary(undefined, { home: 'a' })]).toEqual([
      false,
      false,
    ])
  })
})
