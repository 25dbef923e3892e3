import {
  type AlarmName,
  type AlarmRow,
  alarmNames,
  type Counted,
  rowOfAlarm,
} from '../../../infra/watching/alarms.ts'
import { queries, type SavedQuery } from '../../../infra/watching/queries.ts'
import { type Metric, type MetricName, metricOf, metrics } from '../../../shared/watching/metrics.ts'

/** Tables of docs/look-up/monitoring.md, each made from the table in code that it shows; by the first line, which is its head. */
export const renderMonitoringTables = (): Record<string, string> => ({
  [METRICS]: tableOf(METRICS, (Object.keys(metrics) as MetricName[]).map(metricRow)),
  [ALARMS]: tableOf(ALARMS, alarmNames.map(alarmRow)),
  [QUERIES]: tableOf(QUERIES, Object.entries<SavedQuery>(queries).map(queryRow)),
})

const METRICS = '| metric | unit | dimensions | written by | value |'
const ALARMS = '| alarm | counts | on after |'
const QUERIES = '| query | reads | shows |'

const tableOf = (head: string, rows: readonly (readonly string[])[]): string =>
  [head, head.replace(/[^|]+/g, '---'), ...rows.map(row => `| ${row.join(' | ')} |`)].join('\n')

const codes = (names: readonly string[]): string => names.map(name => `\`${name}\``).join(', ')

function metricRow(name: MetricName): string[] {
  const { unit, dimensions, from, meaning }: Metric = metricOf(name)
  return [codes([name]), unit, codes(dimensions), from, meaning]
}

const countedIn = (counts: Counted): string => {
  if (counts.kind === 'pattern') return 'log lines'
  if (counts.kind === 'own') return codes(counts.own)
  return `\`${counts.metric}\` (${counts.aws}) of ${counts.whose}`
}

const SPANS: Readonly<Record<number, string>> = {
  60: '1 min',
  300: '5 min',
  900: '15 min',
  3600: '1 h',
}

/** Prints the condition that switches an alarm on. */
function conditionIn({ above = 0, below, period = 300, of: [count, periods] = [1, 1] }: AlarmRow): string {
  const span = SPANS[period] ?? `${period} s`
  const what = below === undefined ? (above === 0 ? 'any' : `more than ${above}`) : `less than ${below}`
  return periods === 1 ? `${what} in ${span}` : `${what} in ${span}, in ${count} of ${periods} periods`
}

function alarmRow(name: AlarmName): string[] {
  const row = rowOfAlarm(name)
  const link = `[\`${name}\`](../do/troubleshooting.md#${name.toLowerCase()})`
  return [link, countedIn(row.counts), conditionIn(row)]
}

const queryRow = ([name, { group, answers }]: [string, SavedQuery]): string[] => [
  codes([name]),
  group === 'audit' ? 'audit log' : 'log lines',
  answers,
]
