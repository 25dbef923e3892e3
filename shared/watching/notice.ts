import type { MetricMeasures, MetricName } from './metrics.ts'

/** Operators are warned from this many days before the end of a licence or a certificate. */
export const EXPIRY_NOTICE_DAYS = 30

const DAY_MS = 86_400_000

type Write = (message: string, fields: Readonly<Record<string, unknown>>, measures: MetricMeasures) => void

/** An expiry date, and the metric that counts the days until then. */
interface Ending {
  /** epoch milliseconds */
  endsAt: number
  metric: MetricName
}

/** Logs how many days are left: as a warning in the last thirty days and after the end. */
export function logDaysUntilExpiry(
  { clock, log }: { clock: { now(): number }; log: Record<'info' | 'warn', Write> },
  message: string,
  fields: Readonly<Record<string, unknown>>,
  { endsAt, metric }: Ending,
): void {
  const days = Math.floor((endsAt - clock.now()) / DAY_MS)
  const write = days < EXPIRY_NOTICE_DAYS ? log.warn : log.info
  write(message, { ...fields, days }, { [metric]: days })
}
