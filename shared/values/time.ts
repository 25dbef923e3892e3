const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/

/** An instant with more digits than a `Date` keeps. */
export interface PreciseTime {
  /** whole seconds since 1970 */
  seconds: number
  /** digits of the fraction, as written */
  fraction: string
}

/**
 * Parses an RFC 3339 time strictly: `T`, an offset, and an existing date. `Date.parse` accepts more and cuts fractions to milliseconds.
 * @see https://www.rfc-editor.org/rfc/rfc3339#section-5.6
 */
export function parsePreciseTime(text: string): PreciseTime | undefined {
  const match = RFC3339.exec(text)
  if (!match) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const offsetHours = Number(match[9] ?? 0)
  const offsetMinutes = Number(match[10] ?? 0)
  if (hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59) return undefined
  const utc = Date.UTC(year, month - 1, day, hour, minute, second)
  const date = new Date(utc)
  if (year < 100 || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  const offset = (match[8] === '-' ? -1 : 1) * (offsetHours * 3600 + offsetMinutes * 60)
  return { seconds: utc / 1000 - offset, fraction: match[7] ?? '' }
}

/** Returns a negative number, zero or a positive number if `a` is before, at or after `b`. */
export function comparePreciseTimes(a: PreciseTime, b: PreciseTime): number {
  if (a.seconds !== b.seconds) return a.seconds - b.seconds
  const digits = Math.max(a.fraction.length, b.fraction.length)
  const [x, y] = [a.fraction.padEnd(digits, '0'), b.fraction.padEnd(digits, '0')]
  return x === y ? 0 : x < y ? -1 : 1
}

/** Formats a time as RFC 3339 in UTC, without trailing zeros of the fraction. @param ms milliseconds since 1970 */
export const formatTime = (ms: number): string =>
  new Date(ms).toISOString().replace(/\.(\d*?)0*Z$/, (_, digits) => (digits ? `.${digits}Z` : 'Z'))

/** Returns the milliseconds since a time; 0 if the time is in the future, because clocks differ. */
export const ageSince = (at: number, now: number): number => Math.max(0, now - at)
