/**
 * Collects what comes in one turn of the event loop, and hands it on together at its end.
 * @returns takes one
 */
export function byTick<T>(take: (all: T[]) => void): (one: T) => void {
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
