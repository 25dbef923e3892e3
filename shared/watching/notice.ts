import type { Measures, MetricName } from './metrics.ts'

/** Days before the end of a licence or a certificate from which on operators are told. */
export const NOTICE_DAYS = 30

const DAY_MS = 86_400_000

type Write = (message: string, fields: Readonly<Record<string, unknown>>, measures: Measures) => void

/** What ends, and which metric counts the days until then. */
interface Ending {
  /** epoch milliseconds */
  endsAt: number
  metric: MetricName
}

/** Writes down how many days of something are left, as a warning in its last thirty days and after its end. */
export function logDaysLeft(
  { clock, log }: { clock: { now(): number }; log: Record<'info' | 'warn', Write> },
  message: string,
  fields: Readonly<Record<string, unknown>>,
  { endsAt, metric }: Ending,
): void {
  const days = Math.floor((endsAt - clock.now()) / DAY_MS)
  const write = days < NOTICE_DAYS ? log.warn : log.info
  write(message, { ...fields, days }, { [metric]: days })
}
