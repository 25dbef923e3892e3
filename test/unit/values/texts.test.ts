import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeBase62 } from '../../../shared/values/base62.ts'
import { canonicalHeaderName, lowerAscii, NAME_PATTERN, toSortedSet } from '../../../shared/values/names.ts'

describe('NAME_PATTERN', () => {
  test.each([
    'a',
    'A',
    '_',
    '1',
    'a-b',
    'a.b',
    'a..b',
    'a-.b',
    '111122223333',
    'i-0123456789abcdef0',
    '__proto__',
  ])('%s is a valid name', name => {
    expect(NAME_PATTERN.test(name)).toBe(true)
  })
  test.each([
    '',
    '-',
    '.',
    '..',
    'a-',
    '-a',
    '.a',
    'a.',
    'a/b',
    'a b',
    ' a',
    'a\n',
    'ä',
    'a%2fb',
    'a:b',
    'a+b',
  ])('%j is not a valid name', name => {
    expect(NAME_PATTERN.test(name)).toBe(false)
  })
})

describe('lowerAscii', () => {
  test.each([
    ['DEV', 'dev'],
    ['Ünïcode-İ-ẞ-Σ', 'Ünïcode-İ-ẞ-Σ'],
    ['\u212a', '\u212a'],
    ['', ''],
  ])('lowerAscii converts %s to %s', (text, lower) => {
    expect(lowerAscii(text)).toBe(lower)
  })
})

test.each([
  ['x-amz-date', 'X-Amz-Date'],
  ['X-SERVICE-CLOUD-IAM-SERVER-ID', 'X-Service-Cloud-Iam-Server-Id'],
  ['x--1a', 'X--1a'],
  ['', ''],
])('canonicalHeaderName converts %s to %s', (given, written) => {
  expect(canonicalHeaderName(given)).toBe(written)
})

test('toSortedSet sorts by code units and drops empty and repeated texts', () => {
  expect(toSortedSet(['b', '', 'a', 'B', 'b', 'ä'])).toEqual(['B', 'a', 'b', 'ä'])
})

describe('base62', () => {
  test.each([
    [[0], 1, '0'],
    [[61], 1, 'z'],
    [[62], 2, '10'],
    [[255], 2, '47'],
    [[1, 0], 4, '0048'],
  ])('encodeBase62 encodes %j in %i characters as %s', (bytes, length, text) => {
    expect(encodeBase62(Uint8Array.from(bytes), length)).toBe(text)
  })

  test('21 bytes fill 29 characters, and different bytes give different texts', () => {
    const bytes = fc.uint8Array({ minLength: 21, maxLength: 21 })
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(encodeBase62(a, 29)).toMatch(/^[0-9A-Za-z]{29}$/)
        expect(encodeBase62(a, 29) === encodeBase62(b, 29)).toBe(Buffer.from(a).equals(b))
      }),
    )
  })
})
