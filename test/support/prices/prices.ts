import { alarmNames, rowOfAlarm } from '../../../infra/watching/alarms.ts'
import { type MetricDescription, metricDescriptions } from '../../../infra/watching/metric-descriptions.ts'
import { listPrices } from './price-list.ts'

/** Monthly cost of monitoring a cluster in USD. */
export interface WatchingCost {
  /**
   * monthly cost of the metrics of a cluster of a pair: an idle primary, an idle secondary, a usual month,
   * and all metrics with data in every hour
   */
  metrics: Readonly<Record<'idlePrimary' | 'idleSecondary' | 'usual' | 'most', number>>
  alarms: number
  /** if enabled */
  dashboard: number
}

const cents = (dollars: number): number => Math.round(dollars * 100) / 100

/**
 * Computes the monthly cost of monitoring a cluster. @param alarmMetrics number of metrics in all alarms of a
 * deployment
 */
export function computeWatchingCost(alarmMetrics: number): WatchingCost {
  const { metricSeries, alarmMetric, dashboard } = listPrices
  const rows = Object.values(metricDescriptions)
  const series = (of: readonly MetricDescription[], at: 0 | 1) =>
    of.reduce((sum, row) => sum + row.series[at], 0)
  const idle = rows.filter(row => row.idle !== undefined)
  // metrics of filters have data only while something is wrong
  const filters = alarmNames.filter(name => rowOfAlarm(name).counts.kind === 'pattern').length
  return {
    metrics: {
      idlePrimary: cents(
        series(
          idle.filter(row => row.idle === 'both'),
          0,
        ) * metricSeries,
      ),
      idleSecondary: cents(series(idle, 0) * metricSeries),
      usual: cents(series(rows, 0) * metricSeries),
      most: cents((series(rows, 1) + filters) * metricSeries),
    },
    alarms: cents(alarmMetrics * alarmMetric),
    dashboard,
  }
}
