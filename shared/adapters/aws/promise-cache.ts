/** A cache of asynchronous results by name. The cache does not keep failures. When the cache is full, it is emptied. */
export interface PromiseCache<T> {
  /** `get` returns the cached result, or the result of the work, which runs once for all callers that wait for it */
  get(name: string, work: () => Promise<T>): Promise<T>
  delete(name: string): void
}

export function createPromiseCache<T>(most: number): PromiseCache<T> {
  const kept = new Map<string, Promise<T>>()
  return {
    get: (name, work) => {
      const found = kept.get(name)
      if (found !== undefined) return found
      if (kept.size >= most) kept.clear()
      const made = work()
      kept.set(name, made)
      made.catch(() => {
        if (kept.get(name) === made) kept.delete(name)
      })
      return made
    },
    delete: name => void kept.delete(name),
  }
}
