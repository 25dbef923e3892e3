import { CfnOutput, type CfnResource } from 'aws-cdk-lib'
import { Construct } from 'constructs'
import { carriesLink } from '../../front-settings.ts'
import type { Settings } from '../../settings.ts'
import { ApiDomain } from './domain.ts'
import { HttpApi } from './http-api.ts'
import { LoadBalancer } from './load-balancer.ts'
import { PrivateRestApi } from './rest-api.ts'
import { HEALTH_ROUTE, LINK_ROUTE, type ServedFunction } from './served.ts'
import { SharedName } from './shared-name.ts'

/** A metric of what a front answers with 5xx, and how its alarm is called. */
interface ErrorMetric {
  alarm: string
  namespace: string
  metricName: string
  dimensions: { name: string; value: string }[]
}

/** What stands before the functions. */
export interface Fronts {
  /** where clients reach it */
  address: string
  errors: ErrorMetric[]
  /** before these nobody is let in */
  doors: CfnResource[]
}

/** What the settings want: who takes what clients send, and who takes calls of other clusters. */
export function frontsOf(scope: Construct, settings: Settings, served: readonly ServedFunction[]): Fronts {
  if (carriesLink(settings)) return clientsFront(scope, settings, served)
  const isLink = ({ paths }: ServedFunction) => paths.includes(LINK_ROUTE)
  const front = clientsFront(
    scope,
    settings,
    served.filter(one => !isLink(one)),
  )
  const link = linkFront(scope, settings, served.filter(isLink))
  return {
    ...front,
    errors: [...front.errors, ...link.errors],
    doors: [...front.doors, ...link.doors],
  }
}

function clientsFront(scope: Construct, settings: Settings, served: readonly ServedFunction[]): Fronts {
  const { front } = settings
  if (front.kind === 'httpApi') return publicApi(scope, settings, served)
  return front.kind === 'privateRestApi'
    ? privateApi(scope, settings, served, front.vpcEndpointIds)
    : balanced(scope, settings, served, front)
}

/** Where the only address is that is left; undefined: the one that API Gateway gives stays open. */
const closedFor = ({ apiAddress, closeDefaultEndpoint, domain }: Settings): string | undefined =>
  closeDefaultEndpoint || domain?.truststore ? apiAddress : undefined

const errorsOf = (alarm: string, api: string): ErrorMetric => ({
  alarm,
  namespace: 'AWS/ApiGateway',
  metricName: '5xx',
  dimensions: [{ name: 'ApiId', value: api }],
})

function publicApi(scope: Construct, settings: Settings, served: readonly ServedFunction[]): Fronts {
  const { throttle, linkThrottle, healthThrottle, domain } = settings
  const { api, stage } = new HttpApi(scope, 'Http', {
    settings,
    name: settings.clusterName,
    served,
    closedFor: closedFor(settings),
    log: 'access',
    throttle,
    throttles: {
      ...(carriesLink(settings) ? { [LINK_ROUTE]: linkThrottle } : {}),
      [HEALTH_ROUTE]: healthThrottle,
    },
  })
  if (domain) {
    const { target } = new ApiDomain(scope, 'Domain', { domain, api, stage })
    new CfnOutput(scope, 'Target', {
      value: target.dnsName,
      description: `what ${domain.name} has to lead to`,
    })
  }
  const { sharedAddress: shared, apiAddress = '' } = settings
  if (shared) {
    const { name, certificateArn } = shared
    const { target } = new ApiDomain(scope, 'SharedDomain', { domain: { name, certificateArn }, api, stage })
    new SharedName(scope, 'Shared', { shared, apiAddress, dnsName: target.dnsName })
  }
  return {
    address: settings.apiAddress ?? api.attrApiEndpoint,
    errors: [errorsOf('ServerErrors', api.ref)],
    doors: [stage],
  }
}

function privateApi(
  scope: Construct,
  settings: Settings,
  served: readonly ServedFunction[],
  vpcEndpointIds: readonly string[],
): Fronts {
  const { address, stage } = new PrivateRestApi(scope, 'Rest', { settings, served, vpcEndpointIds })
  const dimensions = [
    { name: 'ApiName', value: settings.clusterName },
    { name: 'Stage', value: stage.ref },
  ]
  return {
    address: settings.apiAddress ?? address,
    errors: [{ alarm: 'ServerErrors', namespace: 'AWS/ApiGateway', metricName: '5XXError', dimensions }],
    doors: [stage],
  }
}

function balanced(
  scope: Construct,
  { domain, apiAddress = '', sharedAddress: shared }: Settings,
  served: readonly ServedFunction[],
  place: Extract<Settings['front'], { kind: 'loadBalancer' }>,
): Fronts {
  if (!domain) throw new Error('a load balancer listens with a certificate')
  const { balancer, listener } = new LoadBalancer(scope, 'Balanced', {
    served,
    place,
    domain,
    moreCertificate: shared?.certificateArn,
  })
  if (shared) new SharedName(scope, 'Shared', { shared, apiAddress, dnsName: balancer.attrDnsName })
  const dimensions = [{ name: 'LoadBalancer', value: balancer.attrLoadBalancerFullName }]
  // of what functions answer, and of what the balancer says itself where they do not
  const counted = [
    ['ServerErrors', 'HTTPCode_Target_5XX_Count'],
    ['BalancerErrors', 'HTTPCode_ELB_5XX_Count'],
  ] as const
  return {
    address: apiAddress,
    errors: counted.map(([alarm, metricName]) => ({
      alarm,
      namespace: 'AWS/ApplicationELB',
      metricName,
      dimensions,
    })),
    doors: [listener],
  }
}

/** An HTTP API that has the link's route alone; without a name there is none. */
function linkFront(
  scope: Construct,
  settings: Settings,
  served: readonly ServedFunction[],
): Pick<Fronts, 'errors' | 'doors'> {
  const { linkDomain: domain, linkAddress, linkThrottle: throttle } = settings
  if (!domain) return { errors: [], doors: [] }
  const link = new Construct(scope, 'Link')
  const { api, stage } = new HttpApi(link, 'Http', {
    settings,
    name: `${settings.clusterName} link`,
    served,
    closedFor: linkAddress,
    log: 'link-access',
    throttle,
  })
  const { target } = new ApiDomain(link, 'Domain', { domain, api, stage })
  new CfnOutput(scope, 'LinkTarget', {
    value: target.dnsName,
    description: `what ${domain.name} has to lead to`,
  })
  return { errors: [errorsOf('LinkErrors', api.ref)], doors: [stage] }
}
