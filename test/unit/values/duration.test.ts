import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatDuration, MAX_DURATION_SECONDS, parseDuration } from '../../../shared/values/duration.ts'

describe('parseDuration', () => {
  test.each([
    ['', 0],
    ['0', 0],
    ['90', 90],
    ['007', 7],
    ['3d', 259_200],
    ['90s', 90],
    ['1h30m', 5400],
    ['1.5h', 5400],
    ['.5m', 30],
    ['1.m', 60],
    ['1h1m1s', 3661],
    ['1s1h', 3601],
    ['100ms', 0],
    ['999999999ns', 0],
    ['1000000000ns', 1],
    ['999.999ms0.001ms', 1],
    ['1000us', 0],
    ['1000000us', 1],
    ['1000000µs', 1],
    ['1000000μs', 1],
    ['1.999999999s', 1],
    ['1.9999999999999999999999s', 1],
    ['2147483647', MAX_DURATION_SECONDS],
    ['2147483647.999999999s', MAX_DURATION_SECONDS],
    ['24855d', 24_855 * 86_400],
  ])('parseDuration reads %j as %i s', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds)
  })

  test.each([
    ['1.15h', 4140],
    ['4.35h', 15_660],
    ['0.29m0.6s', 18],
    ['0.1s0.2s0.7s', 1],
    ['0.1s0.1s0.1s0.1s0.1s0.1s0.1s0.1s0.1s0.1s', 1],
    ['8.7s0.3s', 9],
    ['1.1m0.9m', 120],
    ['2147483646.9s0.1s', MAX_DURATION_SECONDS],
  ])('%s is read without binary rounding', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds)
  })

  test('each part is cut to whole nanoseconds, as in Go', () => {
    expect(parseDuration('0.9ns'.repeat(10))).toBe(0)
    expect(parseDuration('999999999.9ns0.9ns')).toBe(0)
  })

  test.each([
    '1.5',
    '1.5d',
    '1d1h',
    '1h1d',
    '-1',
    '-1s',
    '+1s',
    '1w',
    '1y',
    '1H',
    '1S',
    's',
    '.s',
    '.',
    '1..5s',
    '1 s',
    ' 1',
    '1s ',
    '1s\n',
    '1e3',
    '1e3s',
    '0x10',
    '1_000',
    '１',
    'Infinity',
    'NaN',
    'constructor',
    '2147483648',
    '2147483648s',
    '24856d',
    '596524h',
    '9'.repeat(30),
    `${'9'.repeat(30)}h`,
    `${'9'.repeat(30)}d`,
    '1s'.repeat(1000),
    '9'.repeat(1_000_000),
  ])('the duration $0 is rejected', text => {
    expect(parseDuration(text)).toBeUndefined()
  })

  test('parseDuration never throws', () => {
    const pieces = fc.constantFrom('1', '.', 'h', 'm', 's', 'ns', 'µs', 'd', '-', ' ')
    fc.assert(
      fc.property(fc.array(pieces), list => {
        const seconds = parseDuration(list.join(''))
        expect(seconds === undefined || Number.isSafeInteger(seconds)).toBe(true)
      }),
    )
  })
})

describe('formatDuration', () => {
  test.each([
    [0, '0s'],
    [59, '59s'],
    [300, '5m0s'],
    [3600, '1h0m0s'],
    [3661, '1h1m1s'],
    [2_592_000, '720h0m0s'],
  ])('formatDuration formats %i s as %s', (seconds, text) => {
    expect(formatDuration(seconds)).toBe(text)
  })

  test('a formatted duration is parsed to the same value', () => {
    fc.assert(
      fc.property(fc.nat(MAX_DURATION_SECONDS), seconds => {
        expect(parseDuration(formatDuration(seconds))).toBe(seconds)
      }),
    )
  })
})
