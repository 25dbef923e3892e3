/** Returns bytes and UUIDs that follow from a seed. */
export function seededEntropy(random: () => number) {
  const bytes = (length: number): Buffer =>
    Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)))
  const uuid = (): string => {
    const hex = bytes(16).toString('hex')
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20),
    ].join('-')
  }
  return { bytes, uuid }
}

/** Returns a generator of numbers from 0 to 1 that follow from a seed (mulberry32). */
export function chanceFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
