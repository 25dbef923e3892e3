import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { accessorOf, endOf, hashOf, isRoot, isTokenOf, tokenText } from '../../../shared/tokens/token.ts'
import { NOW, token } from './support.ts'

describe('texts of tokens: auth-behaviour 9.1', () => {
  test('a prefix and at least 24 characters of base 62, whatever the random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 21, maxLength: 21 }), bytes => {
        const text = tokenText(() => Buffer.from(bytes)).reveal()
        expect(text).toMatch(/^hvs\.[0-9A-Za-z]{29}$/)
        expect(accessorOf(hashOf(text))).toMatch(/^[0-9A-Za-z]{24}$/)
      }),
    )
  })

  test('asks for 21 random bytes and shows all of them', () => {
    const asked: number[] = []
    const texts = Array.from({ length: 21 }, (_, index) => {
      const text = tokenText(length => {
        asked.push(length)
        const bytes = Buffer.alloc(length)
        bytes[index] = 1
        return bytes
      })
      return text.reveal()
    })
    expect(new Set(asked)).toEqual(new Set([21]))
    expect(new Set(texts).size).toBe(21)
  })

  test('a token is known by its text alone', () => {
    const stored = token({ hash: hashOf('hvs.a') })
    expect(isTokenOf(stored, 'hvs.a')).toBe(true)
    expect(isTokenOf(stored, 'hvs.A')).toBe(false)
    expect(isTokenOf(stored, stored.hash)).toBe(false)
  })
})

describe('the end of a token: T-18', () => {
  const created = NOW - 10_000
  test.each([
    ['from its creation', { ttl: 60 }, 1_799_999_990 + 60],
    ['from its last renewal', { ttl: 60, renewedAt: NOW }, 1_800_000_060],
    ['never, for an endless root token', { ttl: 0 }, undefined],
  ])('%s', (_, parts, end) => {
    expect(endOf(token({ createdAt: created, ...parts }))).toBe(end)
  })
})

test.each([
  [['root'], true],
  [['default', 'dev'], false],
  [['rooted'], false],
])('%j is root: %s', (policies, root) => expect(isRoot({ policies })).toBe(root))
