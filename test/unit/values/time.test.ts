import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { comparePreciseTimes, formatTime, parsePreciseTime } from '../../../shared/values/time.ts'

const seconds = (text: string) => parsePreciseTime(text)?.seconds

describe('parsePreciseTime', () => {
  test.each([
    ['1970-01-01T00:00:00Z', 0],
    ['2026-03-01T10:20:30Z', Date.UTC(2026, 2, 1, 10, 20, 30) / 1000],
    ['2026-03-01t10:20:30z', Date.UTC(2026, 2, 1, 10, 20, 30) / 1000],
    ['2026-03-01T10:20:30+00:00', Date.UTC(2026, 2, 1, 10, 20, 30) / 1000],
    ['2026-03-01T10:20:30-05:30', Date.UTC(2026, 2, 1, 15, 50, 30) / 1000],
    ['2026-03-01T00:20:30+01:00', Date.UTC(2026, 1, 28, 23, 20, 30) / 1000],
    ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29) / 1000],
    ['2026-03-01T10:20:30.999999999Z', Date.UTC(2026, 2, 1, 10, 20, 30) / 1000],
  ])('parsePreciseTime parses %s', (text, expected) => {
    expect(seconds(text)).toBe(expected)
  })

  test.each([
    '',
    '2026-03-01',
    '2026-03-01 10:20:30Z',
    '2026-03-01T10:20:30',
    '2026-03-01T10:20Z',
    '2026-03-01T10:20:30.Z',
    '2026-03-01T10:20:30,5Z',
    '2026-3-1T10:20:30Z',
    '26-03-01T10:20:30Z',
    '0026-03-01T10:20:30Z',
    '12026-03-01T10:20:30Z',
    '2026-02-29T10:20:30Z',
    '2026-04-31T10:20:30Z',
    '2026-13-01T10:20:30Z',
    '2026-00-01T10:20:30Z',
    '2026-03-00T10:20:30Z',
    '2026-03-01T24:00:00Z',
    '2026-03-01T10:60:00Z',
    '2026-03-01T10:20:60Z',
    '2026-03-01T10:20:30+24:00',
    '2026-03-01T10:20:30+01:60',
    '2026-03-01T10:20:30+0100',
    '2026-03-01T10:20:30+01',
    '2026-03-01T10:20:30Z ',
    '2026-03-01T10:20:30Z\n',
    ' 2026-03-01T10:20:30Z',
    '20２6-03-01T10:20:30Z',
    'Sun, 01 Mar 2026 10:20:30 GMT',
    '1772360430',
    'now',
  ])('parsePreciseTime rejects %j', text => {
    expect(parsePreciseTime(text)).toBeUndefined()
  })

  // A regular expression that tries every zero as a start takes minutes, so this test would time out.
  test('a fraction of 500,000 digits is parsed in one pass', () => {
    const [a, b] = ['1', '2'].map(digit =>
      parsePreciseTime(`2026-03-01T10:20:30.${'0'.repeat(500_000)}${digit}Z`),
    )
    expect(comparePreciseTimes(a ?? expect.fail(), b ?? expect.fail())).toBeLessThan(0)
  })
})

describe('comparePreciseTimes', () => {
  const compare = (a: string, b: string) =>
    Math.sign(comparePreciseTimes(parsePreciseTime(a) ?? expect.fail(), parsePreciseTime(b) ?? expect.fail()))
  test.each([
    ['2026-03-01T10:20:30Z', '2026-03-01T10:20:30Z', 0],
    ['2026-03-01T10:20:30Z', '2026-03-01T10:20:31Z', -1],
    ['2026-03-01T10:20:30Z', '2026-03-01T10:20:30.0Z', 0],
    ['2026-03-01T10:20:30.5Z', '2026-03-01T10:20:30.500Z', 0],
    ['2026-03-01T10:20:30.5Z', '2026-03-01T10:20:30.45Z', 1],
    ['2026-03-01T10:20:30.05Z', '2026-03-01T10:20:30.5Z', -1],
    ['2026-03-01T10:20:30.000000001Z', '2026-03-01T10:20:30.000000002Z', -1],
    ['2026-03-01T10:20:30.9Z', '2026-03-01T10:20:31Z', -1],
    ['2026-03-01T10:20:30+01:00', '2026-03-01T09:20:30Z', 0],
  ])('comparing %s with %s returns the sign of %i', (a, b, sign) => {
    expect(compare(a, b)).toBe(sign)
    expect(compare(b, a)).toBe(sign === 0 ? 0 : -sign)
  })
})

describe('formatTime', () => {
  test.each([
    [0, '1970-01-01T00:00:00Z'],
    [1500, '1970-01-01T00:00:01.5Z'],
    [1050, '1970-01-01T00:00:01.05Z'],
    [1001, '1970-01-01T00:00:01.001Z'],
    [100_000, '1970-01-01T00:01:40Z'],
  ])('formatTime formats %i ms as %s', (ms, text) => {
    expect(formatTime(ms)).toBe(text)
  })

  test('a formatted time is parsed to the same value', () => {
    fc.assert(
      fc.property(fc.nat(4_000_000_000_000), ms => {
        expect(seconds(formatTime(ms))).toBe(Math.floor(ms / 1000))
      }),
    )
  })
})
