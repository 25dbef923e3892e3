import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isExactNumber } from '../../../shared/values/number.ts'

describe('exact numbers', () => {
  test.each([
    '0',
    '-0',
    '0.0',
    '1',
    '01',
    '-12.50',
    '0.1',
    '1e3',
    '1.5E-7',
    '100000',
    '9007199254740991',
    '5e-324',
    '0e9999',
  ])('%s is exact', literal => expect(isExactNumber(literal)).toBe(true))

  test.each([
    '9007199254740992',
    '9007199254740993',
    '-9007199254740993',
    '12345678901234567890',
    '1e21',
    '1e400',
    '1e-400',
    '0.1000000000000000055511151231257827',
    '9007199254740991.5',
  ])('%s is not exact', literal => expect(isExactNumber(literal)).toBe(false))

  test('printed doubles are exact, except unsafe integers', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), value => {
        expect(isExactNumber(String(value))).toBe(!Number.isInteger(value) || Number.isSafeInteger(value))
      }),
    )
  })

  test('an eighteenth digit of a number is lost', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10 ** 15, max: 9 * 10 ** 15 }), value => {
        expect(isExactNumber(`0.${value}001`)).toBe(false)
      }),
    )
  })
})
