import { type Metric, metrics } from '../../shared/watching/metrics.ts'
import { alarmNames, rowOfAlarm } from './alarms.ts'
import { listPrices } from './price-list.ts'

/** What watching a cluster costs in a month, USD. */
export interface WatchingCost {
  /**
   * of a member of a pair: of a primary and of a secondary where no client calls; in a usual month; where everything that can
   * be counted is there in every hour
   */
  metrics: Readonly<Record<'idlePrimary' | 'idleSecondary' | 'usual' | 'most', number>>
  alarms: number
  /** where the setting asks for one */
  dashboard: number
}

const cents = (dollars: number): number => Math.round(dollars * 100) / 100

/** @param alarmMetrics that all alarms of a deployment have together, as its templates say */
export function watchingCost(alarmMetrics: number): WatchingCost {
  const { metricSeries, alarmMetric, dashboard } = listPrices
  const rows = Object.values<Metric>(metrics)
  const series = (of: readonly Metric[], at: 0 | 1) => of.reduce((sum, row) => sum + row.series[at], 0)
  const idle = rows.filter(row => row.idle !== undefined)
  // what filters count is there while something is amiss
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
