/*
 * Shamir's arithmetic over GF(2^8) with the polynomial x^8 + x^4 + x^3 + x + 1. No index and no branch depends on a
 * byte of a key or of a share (CVE-2023-25000): tables of logarithms would reveal these bytes in the processor's
 * cache.
 */

const POLYNOMIAL = 0x11b

/** Returns the product a·b in the field. */
export function multiplyInGf256(a: number, b: number): number {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ (POLYNOMIAL & -(product >> 7))
    product ^= a & -((b >> bit) & 1)
  }
  return product
}

/** Returns the inverse 1/a, computed as a^254. The inverse of 0 is 0. */
export function invertInGf256(a: number): number {
  let power = a
  for (let step = 0; step < 6; step++) power = multiplyInGf256(multiplyInGf256(power, power), a)
  return multiplyInGf256(power, power)
}

/**
 * Splits a key into shares. Each key byte has a polynomial of its own. A share has the polynomials' values at one
 * x, followed by that x as the last byte; x counts from 1.
 * @param random returns the requested number of random bytes
 */
export function splitKeyIntoShares(
  key: Uint8Array,
  { shares, threshold }: { shares: number; threshold: number },
  random: (length: number) => Uint8Array,
): Buffer[] {
  // the coefficients of each byte's polynomial, from x^1 on
  const degree = threshold - 1
  const coefficients = random(key.length * degree)
  return Array.from({ length: shares }, (_, index) => {
    const x = index + 1
    const share = Buffer.alloc(key.length + 1, x)
    for (const [at, byte] of key.entries()) {
      let y = 0
      for (let power = degree - 1; power >= 0; power--)
        y = multiplyInGf256(y ^ (coefficients[at * degree + power] ?? 0), x)
      share[at] = y ^ byte
    }
    return share
  })
}

/**
 * Combines shares to the key, the polynomials' values at 0. Returns undefined if the shares differ in length or two
 * shares have the same x.
 */
export function combineKeyShares(shares: readonly Uint8Array[]): Buffer | undefined {
  const [first] = shares
  const xs = shares.map(share => share.at(-1) ?? 0)
  if (!first || shares.some(({ length }) => length !== first.length) || new Set(xs).size < xs.length)
    return undefined
  const weights = xs.map((x, index) =>
    xs.reduce(
      (product, other, at) =>
        at === index ? product : multiplyInGf256(product, multiplyInGf256(other, invertInGf256(x ^ other))),
      1,
    ),
  )
  const key = Buffer.alloc(first.length - 1)
  for (const [index, share] of shares.entries())
    for (let at = 0; at < key.length; at++)
      key[at] = (key[at] ?? 0) ^ multiplyInGf256(share[at] ?? 0, weights[index] ?? 0)
  return key
}
