import { type Metric, metrics } from '../../shared/watching/metrics.ts'
import { alarmNames, rowOfAlarm } from './alarms.ts'

/** List prices of CloudWatch in us-east-1, USD a month, as they were published in November 2025; no free tier. */
const PRICES = {
  /** a series of a metric of our own, in whose every hour there was something */
  series: 0.3,
  /** a metric of an alarm, at periods of a minute and more */
  alarm: 0.1,
  dashboard: 3,
} as const

/** What watching a cluster costs in a month, USD. */
export interface WatchingCost {
  /** in a usual month of a member of a pair; where everything that can be counted is there in every hour */
  metrics: readonly [usual: number, most: number]
  alarms: number
  /** where the setting asks for one */
  dashboard: number
}

const cents = (dollars: number): number => Math.round(dollars * 100) / 100

/** @param alarmMetrics that all alarms of a deployment have together, as its templates say */
export function watchingCost(alarmMetrics: number): WatchingCost {
  const { series, alarm, dashboard } = PRICES
  const rows = Object.values<Metric>(metrics)
  const usual = rows.reduce((sum, row) => sum + row.series[0], 0)
  const most = rows.reduce((sum, row) => sum + row.series[1], 0)
  // what filters count is there while something is amiss
  const filters = alarmNames.filter(name => 'pattern' in rowOfAlarm(name).counts).length
  return {
    metrics: [cents(usual * series), cents((most + filters) * series)],
    alarms: cents(alarmMetrics * alarm),
    dashboard,
  }
}
