import { CfnMetricFilter, type LogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { alarming } from '../../shared/api/alarming.ts'
import type { Settings } from '../settings.ts'
import { alarm } from './alarm.ts'

interface LogAlarm {
  /** which events of the functions' log group are counted @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html */
  pattern: string
  description: string
  /** seconds over which events are counted; 300 unless told otherwise */
  period?: number
  /** alarm when so many of the last periods had an event: [1, 1] unless told otherwise */
  of?: readonly [count: number, periods: number]
}

const errorText = (text: string): string =>
  ['$.cause[0]', '$.message.errorMessage', '$.errorMessage']
    .map(place => `$.level = "ERROR" && ${place} = "${text}"`)
    .map(one => `(${one})`)
    .join(' || ')

/** Alarms for what functions write down: nobody but us makes such lines. */
export const logAlarms: Readonly<Record<string, LogAlarm>> = {
  OperationToken: {
    pattern:
      '{ $.message.audit = "response" && $.message.request.path = "sys/replication/dr/secondary/generate-operation-token/update" && $.message.response.data.complete IS TRUE }',
    description: 'Holders of recovery shares have made a DR operation token',
  },
  FunctionFailed: {
    // a Web Function has no report of a request: it says itself what went wrong, and Lambda only whether it has started
    pattern:
      '{ (($.type = "platform.report" || $.type = "platform.initReport") && ($.record.status = "error" || $.record.status = "failure" || $.record.status = "timeout")) || $.message.errorType = "WebFunction.*" }',
    description: 'A function ended with an error or ran out of time: its log says why',
  },
  Keyring: {
    pattern: `{ ${errorText(alarming.keyring)} }`,
    description: 'KMS does not open the keyring: look at the state and the policy of the key',
  },
  Head: {
    pattern: `{ $.message = "${alarming.head}" }`,
    description:
      'The head of the journal is broken, or would have been: the log line says which rules, and by which move',
  },
  Peer: {
    pattern: `{ $.message = "${alarming.peer}" }`,
    description: 'A cluster of the DR set is silent or behind: the log line says which, status what it was',
    // told once a minute: a change of role may leave one or two
    period: 60,
    of: [3, 10],
  },
  Licence: {
    pattern: `{ $.message = "${alarming.licence}" }`,
    description:
      'The licence ends within 30 days, or has ended: nothing new of DR replication can begin without one',
    // told once an hour
    period: 3600,
    of: [1, 3],
  },
}

interface LogAlarmsProps {
  settings: Settings
  logs: LogGroup
}

/** A filter and an alarm for each of them. A metric is paid for in hours in which there was something to count. */
export class LogAlarms extends Construct {
  constructor(scope: Construct, id: string, { settings, logs }: LogAlarmsProps) {
    super(scope, id)
    const metricNamespace = `cloud-auth/${settings.stage}`
    for (const [metricName, { pattern, description, period, of }] of Object.entries(logAlarms)) {
      new CfnMetricFilter(this, `${metricName} filter`, {
        logGroupName: logs.logGroupName,
        filterPattern: pattern,
        metricTransformations: [{ metricNamespace, metricName, metricValue: '1' }],
      })
      alarm(scope, metricName, settings.alarmActionArns, {
        alarmDescription: description,
        namespace: metricNamespace,
        metricName,
        period: period ?? 300,
        of: of ?? [1, 1],
      })
    }
  }
}
