/**
 * Collects the values of one turn of the event loop, and passes them on together.
 * @returns a function that takes one value
 */
export function batchItemsByTick<T>(take: (all: T[]) => void): (one: T) => void {
  let waiting: T[] = []
  const flush = (): void => {
    const all = waiting
    waiting = []
    take(all)
  }
  return one => {
    if (waiting.push(one) === 1) setImmediate(flush)
  }
}
