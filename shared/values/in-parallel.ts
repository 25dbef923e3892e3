const AT_ONCE = 16

/** Maps each element with an asynchronous function, `atOnce` at a time. @returns the results in the elements' order */
export async function mapInParallel<T, R>(
  elements: readonly T[],
  work: (element: T) => Promise<R>,
  atOnce = AT_ONCE,
): Promise<R[]> {
  const results: R[] = []
  const waiting = elements.entries()
  const worker = async () => {
    for (const [index, element] of waiting) results[index] = await work(element)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, elements.length) }, worker))
  return results
}
