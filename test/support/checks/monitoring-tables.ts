import {
  type AlarmName,
  type AlarmRow,
  alarmNames,
  type CountedByAlarm,
  rowOfAlarm,
} from '../../../infra/watching/alarms.ts'
import { metricDescriptions } from '../../../infra/watching/metric-descriptions.ts'
import { type SavedLogQuery, savedLogQueries } from '../../../infra/watching/queries.ts'
import type { MetricName } from '../../../shared/watching/metrics.ts'

/** Returns the generated tables of docs/look-up/monitoring.md, by the head line of each table. */
export const renderMonitoringTables = (): Record<string, string> => ({
  [METRICS]: tableOf(METRICS, metricRows()),
  [ALARMS]: tableOf(ALARMS, alarmRows()),
  [QUERIES]: tableOf(QUERIES, Object.entries<SavedLogQuery>(savedLogQueries).map(queryRow)),
})

const METRICS = '| metric | written by | value |'
const ALARMS = '| alarm | counts | on after |'
const QUERIES = '| query | shows |'

const tableOf = (head: string, rows: readonly (readonly string[])[]): string =>
  [head, head.replace(/[^|]+/g, '---'), ...rows.map(row => `| ${row.join(' | ')} |`)].join('\n')

const codes = (names: readonly string[]): string => names.map(name => `\`${name}\``).join(', ')

/** Returns the rows of the table of metrics. Metrics with the same row in code share a row of the page. */
function metricRows(): string[][] {
  const names = Map.groupBy(Object.keys(metricDescriptions) as MetricName[], name => metricDescriptions[name])
  return [...names].map(([{ from, meaning }, group]) => [codes(group), from, meaning])
}

const countedIn = (counts: CountedByAlarm): string => {
  if (counts.kind === 'pattern') return 'log lines'
  if (counts.kind === 'own') return codes(counts.own)
  return `\`${counts.metric}\` (${counts.aws}): ${counts.whose}`
}

const SPANS: Readonly<Record<number, string>> = {
  60: '1 min',
  300: '5 min',
  900: '15 min',
  3600: '1 h',
}

/**
 * Prints the condition that switches an alarm on. Empty for one count in five minutes, because the page names
 * this as the default.
 */
function conditionIn({ above = 0, below, period = 300, of: [count, periods] = [1, 1] }: AlarmRow): string {
  const span = SPANS[period] ?? `${period} s`
  if (periods === 1 && above === 0 && below === undefined && period === 300) return ''
  const what = below === undefined ? (above === 0 ? 'not 0' : `over ${above}`) : `under ${below}`
  const counted = below === undefined ? 'sum' : 'lowest value'
  return `The ${counted} is ${what} in ${count} of ${periods} periods of ${span}`
}

/** Returns the rows of the table of alarms. Alarms with the same count and condition share a row. */
function alarmRows(): string[][] {
  const cellsOf = (name: AlarmName): string[] => {
    const row = rowOfAlarm(name)
    return [countedIn(row.counts), conditionIn(row)]
  }
  const link = (name: AlarmName): string => `[\`${name}\`](../do/troubleshooting.md#${name.toLowerCase()})`
  const groups = Map.groupBy(alarmNames, name => cellsOf(name).join(' | '))
  return [...groups].map(([cells, names]) => [names.map(link).join(', '), cells])
}

const queryRow = ([name, { answers }]: [string, SavedLogQuery]): string[] => [codes([name]), answers]
