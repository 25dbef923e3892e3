import { describe, expect, test } from 'vitest'
import {
  type PlannedPage,
  packAccounts,
  planNextPages,
  planParent,
  unpackAccounts,
} from '../../../../shared/auth-method/organization/walk.ts'

const units: PlannedPage = { what: 'units', parent: 'r-1', path: 'o-1/r-1' }
const accounts: PlannedPage = { ...units, what: 'accounts' }

describe('the pages of a round', () => {
  test('a parent has a list of accounts and a list of units', () => {
    expect(planParent('r-1', 'o-1/r-1')).toEqual([accounts, units])
  })

  test('the units of a page are read before what waited, at their own paths', () => {
    expect(planNextPages([units, accounts], { ids: ['ou-1', 'ou-2'] })).toEqual([
      ...planParent('ou-1', 'o-1/r-1/ou-1'),
      ...planParent('ou-2', 'o-1/r-1/ou-2'),
      accounts,
    ])
  })

  test('the next page of a list follows', () => {
    expect(planNextPages([units], { ids: ['ou-1'], next: 'x' })).toEqual([
      ...planParent('ou-1', 'o-1/r-1/ou-1'),
      { ...units, next: 'x' },
    ])
    expect(planNextPages([accounts], { ids: ['111122223333'], next: 'x' })).toEqual([
      { ...accounts, next: 'x' },
    ])
  })

  test('the last page of accounts leaves nothing', () => {
    expect(planNextPages([accounts], { ids: ['111122223333'] })).toEqual([])
  })
})

describe('the accounts that a round has seen', () => {
  test.each([[[]], [['000000000000', '000000000001', '999999999999', '111122223333']]])('%j', ids => {
    const packed = packAccounts(new Set(ids))
    expect([...unpackAccounts(packed)]).toEqual(ids)
    expect(Buffer.from(packed, 'base64')).toHaveLength(5 * ids.length)
  })
})
