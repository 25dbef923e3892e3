/** Bytes and UUIDs that follow from a seed. */
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
