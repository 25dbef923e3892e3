/** An object that has only asynchronous methods, before it is there: it is made when one of them is first called. */
export function loadedLater<T extends object>(names: Record<keyof T, true>, load: () => Promise<T>): T {
  let loaded: Promise<T> | undefined
  return Object.fromEntries(
    Object.keys(names).map(name => [
      name,
      async (...given: unknown[]) => {
        loaded ??= load()
        return ((await loaded) as Record<string, (...given: unknown[]) => unknown>)[name]?.(...given)
      },
    ]),
  ) as T
}
