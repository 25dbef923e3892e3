import { CfnOutput, Stack } from 'aws-cdk-lib'
import { CfnAlarm } from 'aws-cdk-lib/aws-cloudwatch'
import { CfnMetricFilter, type LogGroup } from 'aws-cdk-lib/aws-logs'
import { CfnHealthCheck, CfnRecordSet } from 'aws-cdk-lib/aws-route53'
import { Construct } from 'constructs'
import { alarmingTexts } from '../../../shared/api/alarming.ts'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import { metricNamespace } from '../../../shared/watching/metrics.ts'
import { isFrontPublic } from '../../front-settings.ts'
import type { Settings } from '../../settings.ts'
import { HEALTH_ROUTE } from './served.ts'

/** Seconds between two health checks of one checker, and the TTL of the DNS record in seconds. */
export const HEALTH_CHECK_INTERVAL_S = 10
export const SHARED_NAME_TTL_S = 10

/**
 * Regions of the health checkers: the least number that Route 53 allows, because each checker calls every ten
 * seconds.
 */
const REGIONS = ['us-east-1', 'us-west-2', 'eu-west-1']

const says = (mode: ClusterRecord['mode']): string =>
  `{ ($.message = "replication" && $.mode = "${mode}") || ($.message = "${alarmingTexts.role}" && $.to = "${mode}") }`

/**
 * Log filter patterns of the metric `Serves`, by the value that a matching line sets. A cluster prints its role
 * once a minute and at each change of its role.
 */
export const servingLogPatterns = {
  '1': says('primary'),
  '0': says('secondary'),
} as const

interface SharedNameProps {
  settings: Settings
  shared: NonNullable<Settings['sharedAddress']>
  /** target of the shared name when this cluster serves */
  dnsName: string
  /** log group of the functions */
  logs: LogGroup
}

/**
 * This cluster's part of a DNS name that leads to the serving cluster of a DR set. Route 53 checks health at
 * the cluster's own address and accepts only status 200. If the cluster is not publicly reachable, the health
 * check follows an alarm on the cluster's log. DNS only follows the fencing of a set, and never decides which
 * cluster serves.
 */
export class SharedName extends Construct {
  constructor(scope: Construct, id: string, { settings, shared, dnsName, logs }: SharedNameProps) {
    super(scope, id)
    const { hostname, port } = new URL(settings.apiAddress ?? '')
    const check = new CfnHealthCheck(this, 'Check', {
      healthCheckConfig: isFrontPublic(settings)
        ? askedAt(hostname, Number(port || 443))
        : seenBy(this.alarm(settings, logs)),
    })
    // an alias record would have the TTL of its target, 60 s
    new CfnRecordSet(this, 'Record', {
      hostedZoneId: shared.zoneId,
      name: shared.name,
      type: 'CNAME',
      ttl: String(SHARED_NAME_TTL_S),
      resourceRecords: [dnsName],
      setIdentifier: hostname,
      failover: shared.preferred ? 'PRIMARY' : 'SECONDARY',
      healthCheckId: check.attrHealthCheckId,
    })
    new CfnOutput(scope, 'HealthCheck', {
      value: check.attrHealthCheckId,
      description: `health check that decides whether ${shared.name} leads to this cluster`,
    })
  }

  /**
   * Creates an alarm that is on while this cluster reports that it does not serve. The alarm notifies nobody,
   * because a secondary never serves.
   */
  private alarm({ stage }: Settings, { logGroupName }: LogGroup): CfnAlarm {
    const [namespace, metricName] = [metricNamespace(stage), 'Serves']
    for (const [metricValue, filterPattern] of Object.entries(servingLogPatterns))
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
      // limits of Route 53 for checks by alarm: whole minutes, one metric, every period counted
      period: 60,
      evaluationPeriods: 1,
      threshold: 1,
      comparisonOperator: 'LessThanThreshold',
      treatMissingData: 'missing',
    })
  }
}

/**
 * Number of failed checks in a row that change the health. One failed check is not enough, because Route 53
 * fails a check after two seconds and a cold start may take longer.
 */
const FAILURES = 2

/** Returns a health check by Route 53's health checkers. */
const askedAt = (hostname: string, port: number): CfnHealthCheck.HealthCheckConfigProperty => ({
  type: 'HTTPS',
  fullyQualifiedDomainName: hostname,
  port,
  resourcePath: HEALTH_ROUTE,
  requestInterval: HEALTH_CHECK_INTERVAL_S,
  failureThreshold: FAILURES,
  enableSni: true,
  regions: REGIONS,
})

/** Returns a health check by a CloudWatch alarm. A cluster without log lines counts as unhealthy. */
const seenBy = (alarm: CfnAlarm): CfnHealthCheck.HealthCheckConfigProperty => ({
  type: 'CLOUDWATCH_METRIC',
  alarmIdentifier: { name: alarm.ref, region: Stack.of(alarm).region },
  insufficientDataHealthStatus: 'Unhealthy',
})
