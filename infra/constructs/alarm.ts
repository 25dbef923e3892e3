import { CfnAlarm, type CfnAlarmProps } from 'aws-cdk-lib/aws-cloudwatch'
import type { Construct } from 'constructs'

/** An alarm as soon as a metric is above zero. */
export const alarm = (
  scope: Construct,
  id: string,
  actions: readonly string[],
  about: Pick<CfnAlarmProps, 'alarmDescription' | 'namespace' | 'metricName' | 'dimensions'>,
): CfnAlarm =>
  new CfnAlarm(scope, id, {
    ...about,
    statistic: 'Maximum',
    period: 300,
    evaluationPeriods: 1,
    threshold: 0,
    comparisonOperator: 'GreaterThanThreshold',
    treatMissingData: 'notBreaching',
    alarmActions: [...actions],
  })
