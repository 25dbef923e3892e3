import { runOnce } from '../../values/run-once.ts'

/**
 * Returns a stand-in for an object that has only asynchronous methods. The object is loaded at the first call of
 * one of these functions.
 */
export function createLazyLoaded<T extends object>(names: Record<keyof T, true>, load: () => Promise<T>): T {
  const loaded = runOnce(load)
  return Object.fromEntries(
    Object.keys(names).map(name => [
      name,
      async (...given: unknown[]) => {
        return ((await loaded()) as Record<string, (...given: unknown[]) => unknown>)[name]?.(...given)
      },
    ]),
  ) as T
}
