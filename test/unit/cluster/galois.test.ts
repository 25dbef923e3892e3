import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { combine, split } from 'shamir-secret-sharing'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../../infra/checkout.ts'
import {
  combineKeyShares,
  invertInGf256,
  multiplyInGf256,
  splitKeyIntoShares,
} from '../../../shared/cluster/galois.ts'

const BYTES = [...Array(256).keys()]

/** Multiplies two elements by long multiplication of polynomials, then division with remainder. */
function product(a: number, b: number): number {
  let sum = 0
  for (let bit = 0; bit < 8; bit++) if (b & (1 << bit)) sum ^= a << bit
  for (let bit = 15; bit >= 8; bit--) if (sum & (1 << bit)) sum ^= 0x11b << (bit - 8)
  return sum
}

describe('the field of 256 elements', () => {
  test('every product is that of polynomials modulo 0x11B', () => {
    const wrong = BYTES.flatMap(a =>
      BYTES.filter(b => multiplyInGf256(a, b) !== product(a, b)).map(b => [a, b]),
    )
    expect(wrong).toEqual([])
  })

  test('every element except 0 has an inverse', () => {
    expect(BYTES.slice(1).filter(a => multiplyInGf256(a, invertInGf256(a)) !== 1)).toEqual([])
    expect(invertInGf256(0)).toBe(0)
  })
})

const division = fc
  .integer({ min: 2, max: 9 })
  .chain(threshold =>
    fc.record({ threshold: fc.constant(threshold), shares: fc.integer({ min: threshold, max: 12 }) }),
  )
const some = fc.uint8Array({ minLength: 1, maxLength: 40 })

describe('shares and the npm package shamir-secret-sharing', () => {
  test('the service combines shares made by the npm package to the same key', async () => {
    await fc.assert(
      fc.asyncProperty(some, division, async (key, { shares, threshold }) => {
        const theirs = await split(new Uint8Array(key), shares, threshold)
        expect(combineKeyShares(theirs.slice(-threshold))).toEqual(Buffer.from(key))
      }),
    )
  })

  test('the service and the npm package combine too few shares to the same wrong key', async () => {
    await fc.assert(
      fc.asyncProperty(some, async key => {
        const theirs = (await split(new Uint8Array(key), 5, 4)).slice(0, 3)
        expect(combineKeyShares(theirs)).toEqual(Buffer.from(await combine(theirs)))
      }),
    )
  })

  test('the npm package combines shares made by the service to the same key', async () => {
    await fc.assert(
      fc.asyncProperty(some, division, async (key, wanted) => {
        const ours = splitKeyIntoShares(key, wanted, randomBytes).map(one => new Uint8Array(one))
        expect(Buffer.from(await combine(ours.slice(-wanted.threshold)))).toEqual(Buffer.from(key))
      }),
    )
  })
})

test('one share fewer than the threshold fits every possible key', () => {
  const [first] = splitKeyIntoShares(Buffer.of(7), { shares: 3, threshold: 2 }, randomBytes)
  const keys = BYTES.map(y => combineKeyShares([first as Buffer, Buffer.of(y, 2)])?.[0])
  expect(new Set(keys).size).toBe(256)
})

describe('the arithmetic has no timing side channel (CVE-2023-25000)', () => {
  const source = readFileSync(`${checkoutRoot}shared/cluster/galois.ts`, 'utf8').replaceAll(
    /\/\*[\s\S]*?\*\/|\/\/.*/g,
    '',
  )

  test('the multiplication reads its input in order and uses no lookup table', () => {
    const indexes = [...source.matchAll(/[\w)\]]\[([^\]]+)\]/g)].map(([, index]) => index)
    expect(new Set(indexes)).toEqual(new Set(['at * degree + power', 'at', 'index']))
    expect(source).not.toMatch(/Uint8Array\.(of|from)|\[\s*(0x)?\d+\s*,|new (Map|Uint8Array)/)
  })

  test('the arithmetic branches only on lengths, positions and x, which are not secret', () => {
    expect([...source.matchAll(/\b(if|while|switch)\b.*/g)].map(([text]) => text)).toEqual([
      'if (!first || shares.some(({ length }) => length !== first.length) || new Set(xs).size < xs.length)',
    ])
    expect([...source.matchAll(/(\w+ \S+ \w+) \?[^?]/g)].map(([, condition]) => condition)).toEqual([
      'at === index',
    ])
  })

  test('the service does not depend on an implementation with lookup tables', () => {
    const { dependencies } = JSON.parse(readFileSync(`${checkoutRoot}package.json`, 'utf8')) as {
      dependencies: object
    }
    expect(Object.keys(dependencies).filter(name => /shamir|secrets/.test(name))).toEqual([])
  })
})
