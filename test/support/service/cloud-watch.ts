import * as v from 'valibot'
import { readAssembly, readResourcesIn } from '../../../infra/local/template/assembly.ts'
import { synthesiseTemplates } from '../../../infra/local/template/synth.ts'
import { type AlarmName, type CommonAlarm, commonAlarms } from '../../../infra/watching/alarms.ts'
import { TEST_PLACE } from '../iam/place.ts'
import type { MetricPoint } from './counts.ts'
import { fits } from './filter-pattern.ts'
import { frontSettings, type LocalFront } from './other-fronts.ts'

/*
 * Imitates the parts of CloudWatch that our templates use. Metrics come from events of the functions' log group, by
 * filters and by the embedded metric format, and alarms evaluate periods of them. Data that CloudWatch would drop, or
 * charge for by mistake, is an error here.
 */

const dimension = v.strictObject({ Name: v.string(), Value: v.string() })
const metric = { Namespace: v.string(), MetricName: v.string(), Dimensions: v.array(dimension) }
const common = {
  AlarmName: v.string(),
  EvaluationPeriods: v.number(),
  DatapointsToAlarm: v.number(),
  Threshold: v.number(),
  ComparisonOperator: v.picklist(['GreaterThanThreshold', 'LessThanThreshold']),
  TreatMissingData: v.literal('notBreaching'),
}
const stat = v.picklist(['Sum', 'Minimum'])
const sum = v.looseObject({
  ...common,
  Metrics: v.array(
    v.union([
      v.object({
        MetricStat: v.object({ Metric: v.object(metric), Period: v.number(), Stat: stat }),
      }),
      v.object({ Id: v.literal('sum'), Expression: v.pipe(v.string(), v.startsWith('SUM([FILL(m0, 0)')) }),
    ]),
  ),
})
const single = v.looseObject({
  ...common,
  ...metric,
  Dimensions: v.optional(v.array(dimension), []),
  Period: v.number(),
  Statistic: stat,
})

const filter = v.looseObject({
  FilterPattern: v.string(),
  MetricTransformations: v.tuple([
    v.object({ MetricNamespace: v.string(), MetricName: v.string(), MetricValue: v.literal('1') }),
  ]),
})

/** @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html */
const embedded = v.strictObject({
  Timestamp: v.pipe(v.number(), v.integer(), v.minValue(0)),
  CloudWatchMetrics: v.array(
    v.strictObject({
      Namespace: v.pipe(v.string(), v.nonEmpty(), v.maxLength(1024)),
      Dimensions: v.array(v.pipe(v.array(v.string()), v.maxLength(30))),
      Metrics: v.pipe(
        v.array(
          v.strictObject({
            Name: v.string(),
            Unit: v.picklist(['Count', 'Milliseconds', 'Seconds', 'None']),
          }),
        ),
        v.minLength(1),
        v.maxLength(100),
      ),
    }),
  ),
})

interface Alarm {
  series: string[]
  period: number
  lowest: boolean
  isBreached: (value: number) => boolean
  datapoints: number
  periods: number
}

/** Returns the name of a time series: a metric with its dimensions. */
const nameOf = (namespace: string, name: string, dimensions: readonly { Name: string; Value: string }[]) =>
  JSON.stringify([namespace, name, ...dimensions.map(({ Name, Value }) => `${Name}=${Value}`).sort()])

const seriesOf = ({ Namespace, MetricName, Dimensions }: v.InferOutput<typeof single>) =>
  nameOf(Namespace, MetricName, Dimensions)

function alarmOf(properties: Record<string, unknown>): [name: string, alarm: Alarm] {
  const read = 'Metrics' in properties ? v.parse(sum, properties) : v.parse(single, properties)
  const { AlarmName, Threshold, ComparisonOperator, DatapointsToAlarm, EvaluationPeriods } = read
  const stats =
    'Metrics' in read && Array.isArray(read.Metrics)
      ? read.Metrics.flatMap(one => ('MetricStat' in one ? [one.MetricStat] : []))
      : []
  const first = stats[0]
  const own = read as v.InferOutput<typeof single>
  return [
    AlarmName,
    {
      series: first
        ? stats.map(({ Metric: { Namespace, MetricName, Dimensions = [] } }) =>
            nameOf(Namespace, MetricName, Dimensions),
          )
        : [seriesOf(own)],
      period: (first?.Period ?? own.Period) * 1000,
      lowest: (first?.Stat ?? own.Statistic) === 'Minimum',
      isBreached: value =>
        ComparisonOperator === 'GreaterThanThreshold' ? value > Threshold : value < Threshold,
      datapoints: DatapointsToAlarm,
      periods: EvaluationPeriods,
    },
  ]
}

/**
 * Returns the metrics in a log event. @throws when CloudWatch would read no metric or a different metric from
 * the event
 */
function embeddedIn(text: string): { at: number; series: string; value: number }[] {
  const event = JSON.parse(text) as Record<string, unknown>
  if (!('_aws' in event)) return []
  const { Timestamp: at, CloudWatchMetrics } = v.parse(embedded, event['_aws'])
  return CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) =>
    Metrics.flatMap(({ Name }) =>
      Dimensions.map(names => {
        const value = v.parse(v.pipe(v.number(), v.finite()), event[Name], { abortEarly: true })
        const dimensions = names.map(one => ({
          Name: one,
          Value: v.parse(v.pipe(v.string(), v.nonEmpty()), event[one]),
        }))
        return { at, series: nameOf(Namespace, Name, dimensions), value }
      }),
    ),
  )
}

export type CloudWatch = Awaited<ReturnType<typeof cloudWatch>>

/**
 * Starts an imitated CloudWatch of a deployment, with the alarms and metric filters of the synthesised
 * templates. Times are epoch milliseconds.
 */
export async function cloudWatch(front: LocalFront = 'httpApi') {
  const directory = await synthesiseTemplates({ legacySignatures: false, front: frontSettings[front] })
  const { ofType } = readResourcesIn(directory, TEST_PLACE)
  const functions = new Map(readAssembly(directory, TEST_PLACE).functions.map(one => [one.folder, one.name]))
  const alarms = new Map(ofType('AWS::CloudWatch::Alarm').map(({ properties }) => alarmOf(properties)))
  const filters = ofType('AWS::Logs::MetricFilter').map(({ properties }) => v.parse(filter, properties))
  const points: { at: number; series: string; value: number }[] = []
  const find = (name: AlarmName): Alarm => {
    const found = alarms.get(`cloud-auth-local-${name}`)
    if (!found) throw new Error(`there is no alarm ${name}`)
    return found
  }
  const isOn = (name: AlarmName, now: number): boolean => {
    const { series, period, periods, datapoints, lowest, isBreached } = find(name)
    const breached = Array.from({ length: periods }, (_, index) => {
      const end = now - index * period
      const values = points.flatMap(one =>
        series.includes(one.series) && one.at > end - period && one.at <= end ? [one.value] : [],
      )
      if (values.length === 0) return false
      return isBreached(lowest ? Math.min(...values) : values.reduce((all, one) => all + one, 0))
    })
    return breached.filter(Boolean).length >= datapoints
  }
  return {
    /** adds an event to the functions' log group, as JSON */
    event: (text: string, at: number): void => {
      points.push(...embeddedIn(text))
      for (const { FilterPattern, MetricTransformations } of filters) {
        const [{ MetricNamespace, MetricName }] = MetricTransformations
        if (fits(FilterPattern, text))
          points.push({ at, series: nameOf(MetricNamespace, MetricName, []), value: 1 })
      }
    },
    /** counts a metric of Lambda for a function */
    lambda: (folder: string, metric: string, at: number): void => {
      const Value = functions.get(folder)
      if (Value === undefined) throw new Error(`there is no function ${folder}`)
      points.push({ at, series: nameOf('AWS/Lambda', metric, [{ Name: 'FunctionName', Value }]), value: 1 })
    },
    /** counts a metric of AWS that an alarm uses */
    aws: (name: CommonAlarm, at: number, value = 1): void => {
      const [series = ''] = find(name).series
      points.push({ at, series, value })
    },
    /** adds metrics that a host counts as AWS does */
    counted: ({ namespace, metric, dimensions }: MetricPoint, at: number): void => {
      const named = Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value }))
      points.push({ at, series: nameOf(namespace, metric, named), value: 1 })
    },
    /** returns the names of the series of our own metrics */
    series: (): string[] => [...new Set(points.map(one => one.series))].sort(),
    /** returns the alarms that are on */
    on: (now: number): CommonAlarm[] => commonAlarms.filter(name => isOn(name, now)),
    isOn,
  }
}
