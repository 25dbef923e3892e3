import { CfnAlarm, type CfnAlarmProps } from 'aws-cdk-lib/aws-cloudwatch'
import { CfnMetricFilter, type LogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { metricNamespace } from '../../shared/watching/metrics.ts'
import type { Settings } from '../settings.ts'
import { type AlarmName, type AlarmRow, alarmNames, nameOfAlarm, pageOfAlarm, rowOfAlarm } from './alarms.ts'

/** A metric of CloudWatch, as alarms name it. */
export interface Series {
  namespace: string
  metricName: string
  dimensions: { name: string; value: string }[]
}

/** Most metrics that CloudWatch takes in one alarm. */
const MOST_METRICS = 10

/** What of AWS's an alarm counts: the value of its dimension, or a metric whole, where it is not the table's. */
type Whose = string | Series

/** The metrics that an alarm counts. @param whose one for each of AWS's own that is counted */
function seriesOf(name: AlarmName, { counts }: AlarmRow, stage: string, whose: readonly Whose[]): Series[] {
  const own = (metricName: string) => ({ namespace: metricNamespace(stage), metricName, dimensions: [] })
  if (counts.kind === 'pattern') return [own(name)]
  if (counts.kind === 'own') return counts.own.map(own)
  const { aws: namespace, metric: metricName, dimension } = counts
  return whose.map(one =>
    typeof one === 'string' ? { namespace, metricName, dimensions: [{ name: dimension, value: one }] } : one,
  )
}

/** When it is on, and whom it tells. */
function conditionOf(name: AlarmName, row: AlarmRow, settings: Settings): Omit<CfnAlarmProps, 'metrics'> {
  const { says, above = 0, below, of: [datapointsToAlarm, evaluationPeriods] = [1, 1] } = row
  return {
    alarmName: nameOfAlarm(name, settings.stage),
    alarmDescription: `${says}. What to do: ${pageOfAlarm(name)}`,
    evaluationPeriods,
    datapointsToAlarm,
    threshold: below ?? above,
    comparisonOperator: below === undefined ? 'GreaterThanThreshold' : 'LessThanThreshold',
    treatMissingData: 'notBreaching',
    alarmActions: [...settings.alarmActionArns],
  }
}

/**
 * An alarm of the table.
 * @param whose what AWS counts: names of functions, say; none for what lines of the log make
 * @throws Error when CloudWatch would refuse it
 */
export function addAlarm(
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
    throw new Error(`an alarm takes 1 to ${MOST_METRICS} metrics, and ${name} would have ${all.length}`)
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
  /** of the functions */
  logs: LogGroup
}

/**
 * Alarms for what functions write down: nobody but us makes such lines. What a filter counts is paid for in hours in which
 * there was something to count.
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
      addAlarm(scope, name, settings)
    }
  }
}
