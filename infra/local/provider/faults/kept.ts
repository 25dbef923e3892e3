/**
 * Adds to a list that keeps only the newest entries, because a host may run for days.
 * @param most least number of kept entries
 */
export function keepNewestElements<T>(list: T[], most: number, added: readonly T[]): void {
  for (const one of added) list.push(one)
  if (list.length >= 2 * most) list.splice(0, list.length - most)
}

/** A log that numbers its entries from 1, never resets the number, and keeps only the newest entries. */
export interface NumberedLog<T> {
  records: (T & { seq: number })[]
  nextSeq: number
}

export const createNumberedLog = <T>(): NumberedLog<T> => ({ records: [], nextSeq: 1 })

/** Adds and numbers an entry. */
export function recordNumbered<T>(log: NumberedLog<T>, most: number, entry: T): void {
  keepNewestElements(log.records, most, [{ seq: log.nextSeq++, ...entry }])
}

/** Returns the entries numbered above `since`. */
export const listSince = <T>({ records }: NumberedLog<T>, since: number): NumberedLog<T>['records'] =>
  records.filter(({ seq }) => seq > since)
