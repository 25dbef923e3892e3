import { type Metric, type MetricName, metricOf, metrics } from '../../shared/watching/metrics.ts'
import { type AlarmName, type AlarmRow, alarmNames, type Counted, rowOfAlarm } from '../watching/alarms.ts'
import { queries, type SavedQuery } from '../watching/queries.ts'

/** Tables of docs/look-up/monitoring.md, each made from the table in code that it shows; by the first line, which is its head. */
export const monitoringTables = (): Record<string, string> => ({
  [METRICS]: tableOf(METRICS, (Object.keys(metrics) as MetricName[]).map(metricRow)),
  [ALARMS]: tableOf(ALARMS, alarmNames.map(alarmRow)),
  [QUERIES]: tableOf(QUERIES, Object.entries<SavedQuery>(queries).map(queryRow)),
})

const METRICS = '| metric | unit | by | written by | tells | series: usually, at most |'
const ALARMS = '| alarm | counts | on when | says |'
const QUERIES = '| query | over | answers |'

const tableOf = (head: string, rows: readonly (readonly string[])[]): string =>
  [head, head.replace(/[^|]+/g, '---'), ...rows.map(row => `| ${row.join(' | ')} |`)].join('\n')

const codes = (names: readonly string[]): string => names.map(name => `\`${name}\``).join(', ')

function metricRow(name: MetricName): string[] {
  const { unit, dimensions, from, tells, series }: Metric = metricOf(name)
  return [codes([name]), unit, codes(dimensions), from, tells, series.join(', ')]
}

const countedIn = (counts: Counted): string => {
  if (counts.kind === 'pattern') return 'lines of functions'
  if (counts.kind === 'own') return codes(counts.own)
  return `\`${counts.metric}\` (${counts.aws}) of ${counts.whose}`
}

const SPANS: Readonly<Record<number, string>> = {
  60: 'a minute',
  300: 'five minutes',
  900: 'a quarter of an hour',
  3600: 'an hour',
}

/** When an alarm is on, in words. */
function conditionIn({ above = 0, below, period = 300, of: [count, periods] = [1, 1] }: AlarmRow): string {
  const span = SPANS[period] ?? `${period} s`
  const what = below === undefined ? (above === 0 ? 'any' : `more than ${above}`) : `less than ${below}`
  return periods === 1 ? `${what} in ${span}` : `${what} in ${span}, in ${count} of ${periods}`
}

function alarmRow(name: AlarmName): string[] {
  const row = rowOfAlarm(name)
  const link = `[\`${name}\`](../do/troubleshooting.md#${name.toLowerCase()})`
  return [link, countedIn(row.counts), conditionIn(row), row.says]
}

const queryRow = ([name, { group, answers }]: [string, SavedQuery]): string[] => [
  codes([name]),
  group === 'audit' ? 'the audit log' : 'lines of functions',
  answers,
]
