/** What a batch may hold: so many elements, and so many bytes of JSON; one element in any case. */
interface LargestBatch {
  readonly elements: number
  readonly bytes: number
}

/** Takes a list apart into batches, in its order. */
export function splitIntoBatches<T>(all: readonly T[], most: LargestBatch): T[][] {
  const batches: T[][] = []
  let bytes = 0
  for (const one of all) {
    const more = Buffer.byteLength(JSON.stringify(one) ?? '')
    const last = batches.at(-1)
    if (last && last.length < most.elements && bytes + more <= most.bytes) {
      last.push(one)
      bytes += more
    } else {
      batches.push([one])
      bytes = more
    }
  }
  return batches
}
