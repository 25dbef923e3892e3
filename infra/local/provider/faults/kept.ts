/**
 * Adds to a list that keeps the newest: a host that runs for days must not fill the memory.
 * @param most how many are kept at least
 */
export function keepNewest<T>(list: T[], most: number, added: readonly T[]): void {
  for (const one of added) list.push(one)
  if (list.length >= 2 * most) list.splice(0, list.length - most)
}
