import { CfnOutput } from 'aws-cdk-lib'
import { CfnHealthCheck, CfnRecordSet } from 'aws-cdk-lib/aws-route53'
import { Construct } from 'constructs'
import type { Settings } from '../../settings.ts'
import { HEALTH_ROUTE } from './served.ts'

/** Seconds between two checks of one checker, and for which resolvers keep an answer. */
const INTERVAL = 10
const TTL = 10

/** Where checkers stand: as few as there may be, for each of them asks every ten seconds. */
const REGIONS = ['us-east-1', 'us-west-2', 'eu-west-1']

interface SharedNameProps {
  shared: NonNullable<Settings['sharedAddress']>
  /** the cluster's own address, by which it is checked */
  apiAddress: string
  /** what the shared name leads to when it leads here */
  dnsName: string
}

/**
 * This cluster's part of a name that leads to whichever cluster of a DR set serves: its health is asked for at its own
 * address, and 200 alone is healthy. DNS follows the fence of a set, and never decides it.
 */
export class SharedName extends Construct {
  constructor(scope: Construct, id: string, { shared, apiAddress, dnsName }: SharedNameProps) {
    super(scope, id)
    const { hostname, port } = new URL(apiAddress)
    const check = new CfnHealthCheck(this, 'Check', {
      healthCheckConfig: {
        type: 'HTTPS',
        fullyQualifiedDomainName: hostname,
        port: Number(port || 443),
        resourcePath: HEALTH_ROUTE,
        requestInterval: INTERVAL,
        failureThreshold: 1,
        enableSni: true,
        regions: REGIONS,
      },
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
}
