import { describe, expect, test } from 'vitest'
import { isCopyOfPrimary, isRestoredCopy } from '../../../shared/model/cluster.ts'

describe('isRestoredCopy', () => {
  test.each<[what: string, home: string | undefined, here: string, copy: boolean]>([
    ['true if the record names another table', 'a', 'b', true],
    ['false if the record names this table', 'a', 'a', false],
    ['false without a home table, because the cluster is in no set', undefined, 'b', false],
    ['false if the name of this table is unknown', 'a', '', false],
  ])('%s', (_, home, here, copy) => {
    const record = home === undefined ? {} : { homeTable: home }
    expect(isRestoredCopy(record, { home: here })).toBe(copy)
    expect(isCopyOfPrimary({ ...record, mode: 'primary' }, { home: here })).toBe(copy)
    for (const mode of ['secondary', 'bootstrapping', 'disabled'] as const)
      expect(isCopyOfPrimary({ ...record, mode }, { home: here })).toBe(false)
  })

  test('false without a record', () => {
    expect([isRestoredCopy(undefined, { home: 'a' }), isCopyOfPrimary(undefined, { home: 'a' })]).toEqual([
      false,
      false,
    ])
  })
})
