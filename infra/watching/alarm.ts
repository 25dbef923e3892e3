import { CfnAlarm, type CfnAlarmProps } from 'aws-cdk-lib/aws-cloudwatch'
import { CfnMetricFilter, type LogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { metricNamespace } from '../../shared/watching/metrics.ts'
import type { Settings } from '../settings.ts'
import {
  type AlarmName,
  type AlarmRow,
  alarmNameInStage,
  alarmNames,
  alarmPageLink,
  rowOfAlarm,
} from './alarms.ts'

/** A CloudWatch metric, in the form in which alarms reference it. */
export interface MetricSeries {
  namespace: string
  metricName: string
  dimensions: { name: string; value: string }[]
}

/** Maximum number of metrics that CloudWatch allows in one alarm. */
const MOST_METRICS = 10

/**
 * The AWS resource that an alarm counts: the value of its dimension, or a complete metric that replaces the table's.
 */
type Whose = string | MetricSeries

/** Returns the metrics that an alarm counts. @param whose one entry for each counted AWS resource */
function seriesOf(
  name: AlarmName,
  { counts }: AlarmRow,
  stage: string,
  whose: readonly Whose[],
): MetricSeries[] {
  const own = (metricName: string) => ({ namespace: metricNamespace(stage), metricName, dimensions: [] })
  if (counts.kind === 'pattern') return [own(name)]
  if (counts.kind === 'own') return counts.own.map(own)
  const { aws: namespace, metric: metricName, dimension } = counts
  return whose.map(one =>
    typeof one === 'string' ? { namespace, metricName, dimensions: [{ name: dimension, value: one }] } : one,
  )
}

/** Returns the condition and the actions of an alarm. */
function conditionOf(name: AlarmName, row: AlarmRow, settings: Settings): Omit<CfnAlarmProps, 'metrics'> {
  const { description, above = 0, below, of: [datapointsToAlarm, evaluationPeriods] = [1, 1] } = row
  return {
    alarmName: alarmNameInStage(name, settings.stage),
    alarmDescription: `${description}. What to do: ${alarmPageLink(name)}`,
    evaluationPeriods,
    datapointsToAlarm,
    threshold: below ?? above,
    comparisonOperator: below === undefined ? 'GreaterThanThreshold' : 'LessThanThreshold',
    treatMissingData: 'notBreaching',
    alarmActions: [...settings.alarmActionArns],
  }
}

/**
 * Adds an alarm of the table.
 * @param whose counted AWS resources, for example function names; empty for alarms on log lines
 * @throws Error if CloudWatch would reject the alarm
 */
export function addMetricAlarm(
  scope: Construct,
  name: AlarmName,
  settings: Settings,
  whose: readonly Whose[] = [],
): CfnAlarm {
  const row = rowOfAlarm(name)
  const { period = 300, below } = row
  const stat = below === undefined ? 'Sum' : 'Minimum'
  const all = seriesOf(name, row, settings.stage, whose)
  const condition = conditionOf(name, row, settings)
  const [only, ...others] = all
  if (!only || all.length > MOST_METRICS)
    throw new Error(`an alarm must have 1 to ${MOST_METRICS} metrics, but ${name} has ${all.length}`)
  if (others.length === 0)
    return new CfnAlarm(scope, name, { ...condition, ...only, period, statistic: stat })
  const metrics = all.map((metric, index) => ({
    id: `m${index}`,
    returnData: false,
    metricStat: { metric, period, stat },
  }))
  const expression = `SUM([${metrics.map(one => `FILL(${one.id}, 0)`).join(', ')}])`
  return new CfnAlarm(scope, name, {
    ...condition,
    metrics: [...metrics, { id: 'sum', expression, returnData: true }],
  })
}

interface LineAlarmsProps {
  settings: Settings
  /** log group of the functions */
  logs: LogGroup
}

/**
 * Creates alarms on log lines of the functions, which strangers cannot forge. A metric filter costs money
 * only in hours with a match.
 */
export class LineAlarms extends Construct {
  constructor(scope: Construct, id: string, { settings, logs }: LineAlarmsProps) {
    super(scope, id)
    for (const name of alarmNames) {
      const { counts } = rowOfAlarm(name)
      if (counts.kind === 'aws') continue
      if (counts.kind === 'pattern')
        new CfnMetricFilter(this, `${name} filter`, {
          logGroupName: logs.logGroupName,
          filterPattern: counts.pattern,
          metricTransformations: [
            { metricNamespace: metricNamespace(settings.stage), metricName: name, metricValue: '1' },
          ],
        })
      addMetricAlarm(scope, name, settings)
    }
  }
}
