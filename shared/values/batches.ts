/** The size limit of a batch: number of elements, and bytes as JSON. A batch has at least one element. */
interface LargestBatch {
  readonly elements: number
  readonly bytes: number
}

/** Splits a list into batches, in order. */
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

/** Splits a list into lists of `size` elements, in order; the last one may be shorter. */
export const splitIntoChunks = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )
