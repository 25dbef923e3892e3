import { CfnAlarm, type CfnAlarmProps } from 'aws-cdk-lib/aws-cloudwatch'
import type { Construct } from 'constructs'

interface AlarmProps {
  alarmDescription: string
  namespace: string
  metricName: string
  dimensions?: { name: string; value: string }[]
  /** seconds over which is counted; 300 unless told otherwise */
  period?: number
  /** alarm when so many of the last periods were above; [1, 1] unless told otherwise */
  of?: readonly [count: number, periods: number]
  /** what has to be exceeded, 0 unless told otherwise */
  above?: number
}

const always = (
  actions: readonly string[],
  {
    alarmDescription,
    of: [datapointsToAlarm, evaluationPeriods] = [1, 1],
    above = 0,
  }: Omit<AlarmProps, 'namespace' | 'metricName'>,
): Omit<CfnAlarmProps, 'metrics'> => ({
  alarmDescription,
  evaluationPeriods,
  datapointsToAlarm,
  threshold: above,
  comparisonOperator: 'GreaterThanThreshold',
  treatMissingData: 'notBreaching',
  alarmActions: [...actions],
})

/** An alarm when what a metric counts comes to more than nothing, or than a number. */
export const alarm = (
  scope: Construct,
  id: string,
  actions: readonly string[],
  { namespace, metricName, dimensions = [], period = 300, ...about }: AlarmProps,
): CfnAlarm =>
  new CfnAlarm(scope, id, {
    ...always(actions, about),
    namespace,
    metricName,
    dimensions,
    period,
    statistic: 'Sum',
  })

/** Most metrics that CloudWatch takes in one alarm. */
const MOST_METRICS = 10

/** One alarm for a metric of several functions together. @throws Error when CloudWatch would refuse it */
export function alarmOfFunctions(
  scope: Construct,
  id: string,
  actions: readonly string[],
  {
    metricName,
    functions,
    ...about
  }: Omit<AlarmProps, 'namespace' | 'dimensions'> & { functions: readonly string[] },
): CfnAlarm {
  if (functions.length > MOST_METRICS)
    throw new Error(`an alarm takes ${MOST_METRICS} metrics, and ${id} would have ${functions.length}`)
  const metrics = functions.map((value, index) => ({
    id: `m${index}`,
    returnData: false,
    metricStat: {
      metric: { namespace: 'AWS/Lambda', metricName, dimensions: [{ name: 'FunctionName', value }] },
      period: about.period ?? 300,
      stat: 'Sum',
    },
  }))
  const expression = `SUM([${metrics.map(one => `FILL(${one.id}, 0)`).join(', ')}])`
  return new CfnAlarm(scope, id, {
    ...always(actions, about),
    metrics: [...metrics, { id: 'sum', expression, returnData: true }],
  })
}
