/**
 * Adds to a list that keeps only the newest entries, because a host may run for days.
 * @param most least number of kept entries
 */
export function keepNewestElements<T>(list: T[], most: number, added: readonly T[]): void {
  for (const one of added) list.push(one)
  if (list.length >= 2 * most) list.splice(0, list.length - most)
}
