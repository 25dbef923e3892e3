import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  accessorOfHash,
  accessorOfTokenText,
  generateServiceTokenText,
  isRootToken,
  storedTokenHashOf,
  tokenEndTime,
  tokenExpirySecond,
  tokenHashOf,
  tokenSecondsLeft,
} from '../../../shared/model/token.ts'
import { sha256 } from '../../../shared/values/secret.ts'
import { NOW, token } from '../tokens/support.ts'

const chosenId = fc.string({ minLength: 1 }).filter(text => !/^(hvs\.|hvb\.|s\.)/.test(text))

describe('texts of tokens', () => {
  test("a token's text has a prefix and at least 24 characters of base 62", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 21, maxLength: 21 }), bytes => {
        const text = generateServiceTokenText(() => Buffer.from(bytes)).reveal()
        expect(text).toMatch(/^hvs\.[0-9A-Za-z]{29}$/)
        expect(accessorOfHash(tokenHashOf(text))).toMatch(/^[0-9A-Za-z]{24}$/)
      }),
    )
  })

  test("a token's text is made of 21 random bytes, and each byte matters", () => {
    const asked: number[] = []
    const texts = Array.from({ length: 21 }, (_, index) => {
      const text = generateServiceTokenText(length => {
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
})

describe("the stored hash of a token's text", () => {
  const keyed = (key: string) => ({
    hmac: async (text: string) => `hmac-sha256:${createHmac('sha256', key).update(text).digest('hex')}`,
  })
  /** All hashes and accessors that someone without the key can compute from a guess. */
  const guessesAt = (text: string): string[] => {
    const plain = [text, `chosen token id\n${text}`].flatMap(one => [one, sha256(one).toString('hex')])
    return plain.flatMap(one => [tokenHashOf(one), accessorOfHash(tokenHashOf(one)), accessorOfHash(one)])
  }

  test('the hash of a random text is a plain hash of the text', async () => {
    expect(await storedTokenHashOf('hvs.abc', keyed('a'))).toBe(tokenHashOf('hvs.abc'))
    expect(await accessorOfTokenText('hvs.abc', keyed('b'))).toBe(accessorOfHash(tokenHashOf('hvs.abc')))
  })

  test('the hash and the accessor of a chosen ID cannot be guessed without the key', async () => {
    await fc.assert(
      fc.asyncProperty(chosenId, async id => {
        const hash = await storedTokenHashOf(id, keyed('a'))
        const accessor = await accessorOfTokenText(id, keyed('a'))
        expect(accessor).toMatch(/^[0-9A-Za-z]{24}$/)
        expect(accessor).toBe(accessorOfHash(hash))
        expect(await accessorOfTokenText(id, keyed('a'))).toBe(accessor)
        expect(await accessorOfTokenText(id, keyed('b'))).not.toBe(accessor)
        expect(guessesAt(id)).not.toContain(accessor)
        expect(guessesAt(id)).not.toContain(hash)
      }),
    )
  })

  test('the hashes of two texts differ', async () => {
    const texts = ['mine', 'Mine', 'hvs.mine', 'chosen token id\nmine']
    const hashes = await Promise.all(texts.map(text => storedTokenHashOf(text, keyed('a'))))
    expect(new Set(hashes).size).toBe(texts.length)
  })

  test('the stored hash of a chosen ID differs from the text’s HMAC in the audit log', async () => {
    const { hmac } = keyed('a')
    expect(tokenHashOf(await hmac('mine'))).not.toBe(await storedTokenHashOf('mine', { hmac }))
  })
})

describe('the expiry of a token', () => {
  const created = NOW - 10_000
  test.each([
    ['counts from its creation', { ttl: 60 }, created + 60_100],
    ['counts from its last renewal', { ttl: 60, renewedAt: NOW }, NOW + 60_100],
    ['is never for a root token without TTL', { ttl: 0 }, undefined],
  ])('%s', (_, parts, end) => {
    expect(tokenEndTime(token({ createdAt: created, ...parts }))).toBe(end)
  })

  test('a token expires at most 0.1 s after its lifetime, counted from the answer', () => {
    fc.assert(
      fc.property(fc.nat(2000), fc.integer({ min: 1, max: 100 }), fc.nat(100), (after, ttl, answered) => {
        const createdAt = NOW + after
        const lived = (tokenEndTime(token({ createdAt, ttl })) ?? 0) - (createdAt + answered)
        expect(lived).toBeGreaterThanOrEqual(ttl * 1000)
        expect(lived).toBeLessThanOrEqual(ttl * 1000 + 100)
      }),
    )
  })

  test('the expiry is stored as a second, rounded up', () => {
    fc.assert(
      fc.property(fc.nat(2000), fc.integer({ min: 1, max: 100 }), (after, ttl) => {
        const one = token({ createdAt: NOW + after, ttl })
        const early = (tokenExpirySecond(one) ?? 0) * 1000 - (tokenEndTime(one) ?? 0)
        expect(early).toBeGreaterThanOrEqual(0)
        expect(early).toBeLessThan(1000)
      }),
    )
    expect(tokenExpirySecond(token({ ttl: 0 }))).toBeUndefined()
  })

  test('the expiry is shown as whole seconds left, at most the TTL', () => {
    const one = token({ createdAt: NOW, ttl: 60 })
    const shown = [0, 100, 101, 30_000, 60_000, 60_750, 90_000].map(ms => tokenSecondsLeft(one, NOW + ms))
    expect(shown).toEqual([60, 60, 59, 30, 0, 0, 0])
    expect(tokenSecondsLeft(token({ ttl: 0 }), NOW)).toBe(0)
  })
})

test.each([
  [['root'], true],
  [['default', 'dev'], false],
  [['rooted'], false],
])('isRoot(%j) is %s', (policies, root) => expect(isRootToken({ policies })).toBe(root))
