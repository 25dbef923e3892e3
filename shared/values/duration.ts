/** The largest supported duration, in seconds. @see docs/spec/transport.md#durations */
export const MAX_DURATION_SECONDS = 2 ** 31 - 1

const SECOND = 1_000_000_000n
const NANOSECONDS = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: SECOND,
  m: 60n * SECOND,
  h: 3600n * SECOND,
} as const
const PART = /(?=\.?\d)(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y
/** Durations within the range never need more characters. */
const LONGEST_TEXT = 64
const MINUTE = 60
const HOUR = 3600
const DAY = 86_400

/**
 * Parses a duration as Vault's clients write it: whole seconds (`90`), Go's notation (`1h30m`, `1.5h`, `100ms`) or days (`3d`, alone).
 * Fractions of a second are cut off. The empty text is 0.
 *
 * @returns seconds; undefined for any other text, and for negative or too large durations
 * @see docs/spec/transport.md#durations
 */
export function parseDuration(text: string): number | undefined {
  if (text === '') return 0
  if (text.length > LONGEST_TEXT) return undefined
  if (/^\d+$/.test(text)) return inRange(Number(text))
  const days = /^(\d+)d$/.exec(text)
  if (days) return inRange(Number(days[1]) * DAY)
  let nanoseconds = 0n
  for (let at = 0; at < text.length; at = PART.lastIndex) {
    PART.lastIndex = at
    const part = PART.exec(text)
    if (!part) return undefined
    nanoseconds += nanosecondsOf(part)
  }
  return inRange(Number(nanoseconds / SECOND))
}

/** Returns the whole nanoseconds of one part. Cuts off fractions of a nanosecond, as Go does. */
function nanosecondsOf([, whole = '', fraction = '', unit]: RegExpExecArray): bigint {
  const size = NANOSECONDS[unit as keyof typeof NANOSECONDS]
  return (BigInt(whole + fraction) * size) / 10n ** BigInt(fraction.length)
}

const inRange = (seconds: number): number | undefined =>
  seconds <= MAX_DURATION_SECONDS ? seconds : undefined

/** Formats seconds as Go prints durations: `0s`, `5m0s`, `1h0m0s`. @see docs/spec/login-ec2.md#token */
export function formatDuration(seconds: number): string {
  const h = Math.floor(seconds / HOUR)
  const m = Math.floor((seconds % HOUR) / MINUTE)
  const s = seconds % MINUTE
  if (h > 0) return `${h}h${m}m${s}s`
  return m > 0 ? `${m}m${s}s` : `${s}s`
}
