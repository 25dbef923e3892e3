import { CfnOutput, Stack } from 'aws-cdk-lib'
import { CfnAlarm } from 'aws-cdk-lib/aws-cloudwatch'
import { CfnMetricFilter, type LogGroup } from 'aws-cdk-lib/aws-logs'
import { CfnHealthCheck, CfnRecordSet } from 'aws-cdk-lib/aws-route53'
import { Construct } from 'constructs'
import { alarming } from '../../../shared/api/alarming.ts'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import { metricNamespace } from '../../../shared/watching/metrics.ts'
import { isPubliclyReachable } from '../../front-settings.ts'
import type { Settings } from '../../settings.ts'
import { HEALTH_ROUTE } from './served.ts'

/** Seconds between two checks of one checker, and for which resolvers keep an answer. */
export const INTERVAL = 10
export const TTL = 10

/** Where checkers stand: as few as there may be, for each of them asks every ten seconds. */
const REGIONS = ['us-east-1', 'us-west-2', 'eu-west-1']

const says = (mode: ClusterRecord['mode']): string =>
  `{ ($.message = "replication" && $.mode = "${mode}") || ($.message = "${alarming.role}" && $.to = "${mode}") }`

/**
 * Lines of the functions' log that tell whether a cluster serves, by the value that each makes: one a minute, and one
 * with each change of its role.
 */
export const servingLinePatterns = {
  '1': says('primary'),
  '0': says('secondary'),
} as const

interface SharedNameProps {
  settings: Settings
  shared: NonNullable<Settings['sharedAddress']>
  /** what the shared name leads to when it leads here */
  dnsName: string
  /** of the functions */
  logs: LogGroup
}

/**
 * This cluster's part of a name that leads to whichever cluster of a DR set serves. Its health is asked for at its own
 * address, and 200 alone is healthy; where strangers cannot ask, an alarm looks at what the cluster says of its role. DNS
 * follows the fence of a set, and never decides it.
 */
export class SharedName extends Construct {
  constructor(scope: Construct, id: string, { settings, shared, dnsName, logs }: SharedNameProps) {
    super(scope, id)
    const { hostname, port } = new URL(settings.apiAddress ?? '')
    const check = new CfnHealthCheck(this, 'Check', {
      healthCheckConfig: isPubliclyReachable(settings)
        ? askedAt(hostname, Number(port || 443))
        : seenBy(this.alarm(settings, logs)),
    })
    // an alias would have the TTL of what it leads to, a minute
    new CfnRecordSet(this, 'Record', {
      hostedZoneId: shared.zoneId,
      name: shared.name,
      type: 'CNAME',
      ttl: String(TTL),
      resourceRecords: [dnsName],
      setIdentifier: hostname,
      failover: shared.preferred ? 'PRIMARY' : 'SECONDARY',
      healthCheckId: check.attrHealthCheckId,
    })
    new CfnOutput(scope, 'HealthCheck', {
      value: check.attrHealthCheckId,
      description: `decides whether ${shared.name} leads to this cluster`,
    })
  }

  /** On while this cluster says that it does not serve. It wakes nobody: a secondary is in that state all its life. */
  private alarm({ stage }: Settings, { logGroupName }: LogGroup): CfnAlarm {
    const [namespace, metricName] = [metricNamespace(stage), 'Serves']
    for (const [metricValue, filterPattern] of Object.entries(servingLinePatterns))
      new CfnMetricFilter(this, `Says${metricValue}`, {
        logGroupName,
        filterPattern,
        metricTransformations: [{ metricNamespace: namespace, metricName, metricValue }],
      })
    return new CfnAlarm(this, 'NotServing', {
      alarmName: `cloud-auth-${stage}-NotServing`,
      alarmDescription: 'Decides where the shared name leads: docs/do/one-address.md',
      namespace,
      metricName,
      statistic: 'Minimum',
      // what checks by alarms take: whole minutes, one metric, each of its periods
      period: 60,
      evaluationPeriods: 1,
      threshold: 1,
      comparisonOperator: 'LessThanThreshold',
      treatMissingData: 'missing',
    })
  }
}

/** Answers in turn that decide: Route 53 counts one that takes longer than two seconds as none, as that of a cold start may. */
const FAILURES = 2

/** A check by checkers of Route 53. */
const askedAt = (hostname: string, port: number): CfnHealthCheck.HealthCheckConfigProperty => ({
  type: 'HTTPS',
  fullyQualifiedDomainName: hostname,
  port,
  resourcePath: HEALTH_ROUTE,
  requestInterval: INTERVAL,
  failureThreshold: FAILURES,
  enableSni: true,
  regions: REGIONS,
})

/** A check by what an alarm of CloudWatch looks at. A cluster of which nothing is heard is not healthy. */
const seenBy = (alarm: CfnAlarm): CfnHealthCheck.HealthCheckConfigProperty => ({
  type: 'CLOUDWATCH_METRIC',
  alarmIdentifier: { name: alarm.ref, region: Stack.of(alarm).region },
  insufficientDataHealthStatus: 'Unhealthy',
})
