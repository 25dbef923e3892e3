/** The largest duration the interface carries, in seconds. @see auth-behaviour 2 */
export const LONGEST_DURATION = 2 ** 31 - 1

const NANOSECONDS = { ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 } as const
const PART = /^(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/
const MINUTE = 60
const HOUR = 3600
const DAY = 86_400

/**
 * Reads a duration as Vault's clients write it: whole seconds (`90`), Go's notation (`1h30m`, `1.5h`,
 * `100ms`) or days (`3d`, alone). Parts of a second are cut off; the empty text is 0.
 *
 * @returns seconds, or undefined when the text is none of these, negative, or out of range
 * @see auth-behaviour 2
 */
export function parseDuration(text: string): number | undefined {
  if (text === '') return 0
  if (/^\d+$/.test(text)) return inRange(Number(text))
  const days = /^(\d+)d$/.exec(text)
  if (days) return inRange(Number(days[1]) * DAY)
  let nanoseconds = 0
  for (let rest = text; rest !== ''; ) {
    const part = PART.exec(rest)
    if (!part) return undefined
    nanoseconds += Number(part[1]) * NANOSECONDS[part[2] as keyof typeof NANOSECONDS]
    rest = rest.slice(part[0].length)
  }
  return inRange(Math.floor(nanoseconds / 1e9))
}

const inRange = (seconds: number): number | undefined => (seconds <= LONGEST_DURATION ? seconds : undefined)

/** Writes seconds as Go prints a duration: `0s`, `5m0s`, `1h0m0s`. @see auth-behaviour 4.2.10 */
export function printDuration(seconds: number): string {
  const h = Math.floor(seconds / HOUR)
  const m = Math.floor((seconds % HOUR) / MINUTE)
  const s = seconds % MINUTE
  if (h > 0) return `${h}h${m}m${s}s`
  return m > 0 ? `${m}m${s}s` : `${s}s`
}
