import { CfnOutput, Stack } from 'aws-cdk-lib'
import { CfnSecurityGroup } from 'aws-cdk-lib/aws-ec2'
import {
  CfnListener,
  CfnListenerCertificate,
  CfnListenerRule,
  CfnLoadBalancer,
  CfnTargetGroup,
} from 'aws-cdk-lib/aws-elasticloadbalancingv2'
import { CfnPermission } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import type { Settings } from '../../settings.ts'
import { buildBalancerRules } from './balancer-rules.ts'
import { addDnsAlias, type DnsAliasTarget } from './domain.ts'
import { DEFAULT_ROUTE, type ServedFunction } from './served.ts'

type Place = Extract<Settings['front'], { kind: 'loadBalancer' }>

interface LoadBalancerProps {
  served: readonly ServedFunction[]
  place: Place
  domain: NonNullable<Settings['domain']>
  /** certificate of a second DNS name that leads to this load balancer */
  moreCertificate: string | undefined
}

/** The load balancer appends its caller's address to X-Forwarded-For and drops headers with invalid names. */
const ATTRIBUTES = {
  'routing.http.drop_invalid_header_fields.enabled': 'true',
  'routing.http.xff_header_processing.mode': 'append',
  'routing.http.xff_client_port.enabled': 'false',
  'routing.http.desync_mitigation_mode': 'defensive',
}

const attributes = (all: Readonly<Record<string, string>>) =>
  Object.entries(all).map(([key, value]) => ({ key, value }))

/**
 * A load balancer that invokes the functions itself. The load balancer passes any verb, and at most 1 MB in
 * each direction.
 */
export class LoadBalancer extends Construct {
  readonly balancer: CfnLoadBalancer
  readonly listener: CfnListener

  constructor(scope: Construct, id: string, { served, place, domain, moreCertificate }: LoadBalancerProps) {
    super(scope, id)
    const { ref: group } = this.securityGroup(place)
    this.balancer = new CfnLoadBalancer(this, 'Balancer', {
      type: 'application',
      scheme: place.internal ? 'internal' : 'internet-facing',
      subnets: place.subnetIds,
      securityGroups: [group],
      loadBalancerAttributes: attributes(ATTRIBUTES),
    })
    const groups = new Map(served.map(one => [one.name, this.targetGroup(one).ref]))
    const forward = (name: string) => [{ type: 'forward', targetGroupArn: groups.get(name) ?? '' }]
    const fallback = served.find(one => one.paths.includes(DEFAULT_ROUTE))?.name ?? ''
    this.listener = new CfnListener(this, 'Listener', {
      loadBalancerArn: this.balancer.ref,
      port: 443,
      protocol: 'HTTPS',
      sslPolicy: 'ELBSecurityPolicy-TLS13-1-2-2021-06',
      certificates: [{ certificateArn: domain.certificateArn }],
      defaultActions: forward(fallback),
    })
    if (moreCertificate !== undefined)
      new CfnListenerCertificate(this, 'Certificate', {
        listenerArn: this.listener.ref,
        certificates: [{ certificateArn: moreCertificate }],
      })
    const routes = served.flatMap(({ name, paths }) =>
      paths.filter(path => path !== DEFAULT_ROUTE).map(path => [path, name] as const),
    )
    for (const [index, { expressions, to }] of buildBalancerRules(routes).entries())
      new CfnListenerRule(this, `Rule${index}`, {
        listenerArn: this.listener.ref,
        priority: index + 1,
        conditions: [{ field: 'path-pattern', pathPatternConfig: { regexValues: expressions } }],
        actions: forward(to),
      })
    const target: DnsAliasTarget = {
      dnsName: this.balancer.attrDnsName,
      zoneId: this.balancer.attrCanonicalHostedZoneId,
    }
    addDnsAlias(this, domain, target)
    new CfnOutput(scope, 'Target', {
      value: target.dnsName,
      description: `point ${domain.name} to this DNS name`,
    })
  }

  private securityGroup({ vpcId, networks }: Place): CfnSecurityGroup {
    return new CfnSecurityGroup(this, 'SecurityGroup', {
      groupDescription: 'who reaches the load balancer',
      vpcId,
      securityGroupIngress: networks.map(cidrIp => ({
        ipProtocol: 'tcp',
        fromPort: 443,
        toPort: 443,
        cidrIp,
        description: 'callers',
      })),
      // the load balancer invokes functions through Lambda's API and connects to nothing in the VPC
      securityGroupEgress: [{ ipProtocol: 'icmp', fromPort: 252, toPort: 86, cidrIp: '255.255.255.255/32' }],
    })
  }

  // Lambda requires the permission before the function becomes a target, so the permission's source ARN cannot name
  // the target group.
  private targetGroup({ name, lambda }: ServedFunction): CfnTargetGroup {
    const permission = new CfnPermission(this, `${name} permission`, {
      action: 'lambda:InvokeFunction',
      functionName: lambda.functionArn,
      principal: 'elasticloadbalancing.amazonaws.com',
      sourceArn: Stack.of(this).formatArn({
        service: 'elasticloadbalancing',
        resource: 'targetgroup',
        resourceName: '*',
      }),
    })
    const group = new CfnTargetGroup(this, `${name} targets`, {
      targetType: 'lambda',
      targets: [{ id: lambda.functionArn }],
      targetGroupAttributes: attributes({ 'lambda.multi_value_headers.enabled': 'true' }),
    })
    group.addResourceDependency(permission)
    return group
  }
}
