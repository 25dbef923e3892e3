import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { combine } from 'shamir-secret-sharing'
import { describe, expect, test } from 'vitest'
import {
  checkShareDivision,
  combineShares,
  parseShare,
  splitIntoShares,
} from '../../../shared/cluster/shares.ts'
import { inEachForm } from '../../builders/base64-forms.ts'

const key = Uint8Array.from({ length: 32 }, (_, index) => index * 7)
const whole = (parts: readonly Buffer[]) => combine(parts.map(part => new Uint8Array(part)))

/** Interpolates at 0 in GF(2^8) with the polynomial 0x11B, for shares of y bytes followed by x. */
function interpolate(shares: readonly Uint8Array[]): Uint8Array {
  const times = (a: number, b: number): number => {
    let product = 0
    for (let x = a, y = b; y > 0; y >>= 1) {
      if (y & 1) product ^= x
      x = x & 0x80 ? ((x << 1) ^ 0x11b) & 0xff : x << 1
    }
    return product
  }
  const inverse = (a: number): number =>
    Array.from({ length: 256 }, (_, b) => b).find(b => times(a, b) === 1) ?? 0
  const xs = shares.map(share => share.at(-1) ?? 0)
  const weights = xs.map((x, i) =>
    xs.reduce(
      (product, other, j) => (i === j ? product : times(product, times(other, inverse(other ^ x)))),
      1,
    ),
  )
  return Uint8Array.from({ length: 32 }, (_, at) =>
    shares.reduce((sum, share, i) => sum ^ times(share[at] ?? 0, weights[i] ?? 0), 0),
  )
}

describe('shares of a key', () => {
  test('each share has 32 bytes of y, followed by a different last byte x', async () => {
    const shares = splitIntoShares(key, { shares: 5, threshold: 3 }, randomBytes)
    expect(shares.map(share => share.length)).toEqual([33, 33, 33, 33, 33])
    const xs = shares.map(share => share.at(-1))
    expect(new Set(xs).size).toBe(5)
    expect(xs).not.toContain(0)
  })

  test('a single share is the key itself', async () => {
    expect(splitIntoShares(key, { shares: 1, threshold: 1 }, randomBytes)).toEqual([Buffer.from(key)])
  })

  test('another implementation of GF(2^8) with the polynomial 0x11B combines the shares to the key', async () => {
    const [a, b, c, d] = splitIntoShares(key, { shares: 4, threshold: 3 }, randomBytes)
    if (!a || !b || !c || !d) throw new Error('four shares')
    expect(interpolate([a, b, c])).toEqual(key)
    expect(interpolate([d, b, a])).toEqual(key)
    expect(interpolate([a, b])).not.toEqual(key)
  })

  test('any threshold of the shares combines to the key, and fewer shares do not', async () => {
    const division = fc
      .integer({ min: 2, max: 8 })
      .chain(threshold =>
        fc.record({ threshold: fc.constant(threshold), shares: fc.integer({ min: threshold, max: 10 }) }),
      )
    await fc.assert(
      fc.asyncProperty(division, fc.infiniteStream(fc.nat()), async (wanted, order) => {
        const shares = splitIntoShares(key, wanted, randomBytes)
        const shuffled = shares
          .map(share => ({ share, at: order.next().value }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ share }) => share)
        expect(await whole(shuffled.slice(0, wanted.threshold))).toEqual(key)
        if (wanted.threshold > 2)
          expect(await whole(shuffled.slice(0, wanted.threshold - 1))).not.toEqual(key)
      }),
      { numRuns: 20 },
    )
  })

  test('255 shares with threshold 255 combine to the key', async () => {
    const shares = splitIntoShares(key, { shares: 255, threshold: 255 }, randomBytes)
    expect(new Set(shares.map(share => share.at(-1))).size).toBe(255)
    expect(await whole(shares)).toEqual(key)
  })
})

describe('allowed numbers of shares and thresholds', () => {
  test.each([
    [1, 1],
    [2, 2],
    [5, 3],
    [255, 2],
    [255, 255],
  ])('%i shares with threshold %i are allowed', (shares, threshold) => {
    expect(() => checkShareDivision({ shares, threshold })).not.toThrow()
  })

  test.each([
    [0, 1],
    [-1, 1],
    [256, 3],
    [5, 0],
    [5, -1],
    [5, 6],
    [2, 1],
    [1, 2],
  ])('%i shares with threshold %i are rejected', (shares, threshold) => {
    expect(() => checkShareDivision({ shares, threshold })).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    )
  })
})

describe('parsing a share', () => {
  const share = Buffer.from([...Array(33).keys()])

  test.each([
    ['hex', share.toString('hex')],
    ['capital hex', share.toString('hex').toUpperCase()],
    ['base64', share.toString('base64')],
    ['with a line end', `${share.toString('hex')}\n`],
    ['hex in lines', share.toString('hex').replace(/.{60}/, '$&\n')],
    ['with blanks around', `  ${share.toString('base64')} `],
    ...inEachForm(share.toString('base64')),
  ])('parsing accepts %s', (_, text) => expect(parseShare(text)).toEqual(share))

  test('a share in hex digits of a wrong length is parsed as base64', () => {
    // 68 hexadecimal digits would be 34 bytes, which is too long; 24 hexadecimal digits are 18 bytes of
    // base64
    const text = 'abcdef0123456789abcdef01'
    expect(parseShare(text)).toEqual(Buffer.from(text, 'base64'))
  })

  test.each([
    ['a text that is neither hex nor base64', 'not a share!', 'key must be a valid hex or base64 string'],
    [
      'base64 without padding',
      share.subarray(0, 32).toString('base64').replace('=', ''),
      'key must be a valid hex or base64 string',
    ],
    ['too short', 'abcd', 'key is shorter than minimum 16 bytes'],
    ['too long', Buffer.alloc(34).toString('base64'), 'key is longer than maximum 33 bytes'],
    [
      'all shares at once',
      [share, share].map(one => one.toString('hex')).join(','),
      'key must be a valid hex or base64 string',
    ],
  ])('parsing rejects %s', (_, text, message) => expect(() => parseShare(text)).toThrow(message))
})

describe('combining shares', () => {
  test.each([
    [1, 1],
    [2, 2],
    [5, 3],
    [255, 255],
  ])('of %i shares, any %i combine to the key', async (shares, threshold) => {
    const key = Buffer.from([...Array(32).keys()])
    const parts = splitIntoShares(key, { shares, threshold }, randomBytes).map(part => part.toString('hex'))
    expect(combineShares(parts.slice(-threshold))).toEqual(key)
  })

  test('shares that cannot belong together combine to nothing, and wrong shares combine to another key', async () => {
    const key = Buffer.alloc(32, 1)
    const [one = '', two = ''] = splitIntoShares(key, { shares: 3, threshold: 2 }, randomBytes).map(part =>
      part.toString('hex'),
    )
    expect(combineShares([one, one])).toBeUndefined()
    expect(combineShares([one, two.slice(2)])).toBeUndefined()
    const changed = `${two.startsWith('0') ? '1' : '0'}${two.slice(1)}`
    expect(combineShares([one, changed])).not.toEqual(key)
  })
})
