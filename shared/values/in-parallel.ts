const AT_ONCE = 16

/**
 * Maps each element with an asynchronous function, `atOnce` at a time. After an error no further element begins.
 * @returns the results in the elements' order
 */
export async function mapInParallel<T, R>(
  elements: readonly T[],
  work: (element: T) => Promise<R>,
  atOnce = AT_ONCE,
): Promise<R[]> {
  const results: R[] = []
  // an error of one worker ends a generator for all workers; it would not end `entries`
  const waiting = (function* () {
    yield* elements.entries()
  })()
  const worker = async () => {
    for (const [index, element] of waiting) results[index] = await work(element)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, elements.length) }, worker))
  return results
}
