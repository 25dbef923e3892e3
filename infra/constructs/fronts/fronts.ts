import { CfnOutput, type CfnResource } from 'aws-cdk-lib'
import type { LogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { frontCarriesLink } from '../../front-settings.ts'
import type { Settings } from '../../settings.ts'
import type { MetricSeries } from '../../watching/alarm.ts'
import type { FrontAlarm } from '../../watching/alarms.ts'
import { ApiDomain } from './domain.ts'
import { HttpApi } from './http-api.ts'
import { LoadBalancer } from './load-balancer.ts'
import { PrivateRestApi } from './rest-api.ts'
import { HEALTH_ROUTE, LINK_ROUTE, type ServedFunction } from './served.ts'
import { SharedName } from './shared-name.ts'

/** A metric that counts 5xx responses of a front end, with its alarm. */
interface ErrorMetric {
  alarm: 'ServerErrors' | FrontAlarm
  series: MetricSeries
}

/**
 * The entrances of a cluster: the clients' front end and, if needed, a separate front end for other clusters.
 */
export interface ApiFronts {
  /** `apiAddress`: base address for clients */
  address: string
  /** the default endpoint of the public HTTP API; absent with other front ends */
  endpoint?: string
  errors: ErrorMetric[]
  /** metrics of requests, and of responses with 4xx and 5xx */
  requests: MetricSeries[]
  /** resources that let requests in, so that other resources can be created before them */
  entrances: CfnResource[]
}

/**
 * Creates the front end that the settings name, and a separate HTTP API for other clusters if that front end
 * cannot carry their calls.
 * @param logs log group of the functions
 */
export function createApiFronts(
  scope: Construct,
  settings: Settings,
  served: readonly ServedFunction[],
  logs: LogGroup,
): ApiFronts {
  if (frontCarriesLink(settings)) return clientsFront(scope, settings, served, logs)
  const isLink = ({ paths }: ServedFunction) => paths.includes(LINK_ROUTE)
  const front = clientsFront(
    scope,
    settings,
    served.filter(one => !isLink(one)),
    logs,
  )
  const link = linkFront(scope, settings, served.filter(isLink))
  return {
    ...front,
    errors: [...front.errors, ...link.errors],
    entrances: [...front.entrances, ...link.entrances],
  }
}

function clientsFront(
  scope: Construct,
  settings: Settings,
  served: readonly ServedFunction[],
  logs: LogGroup,
): ApiFronts {
  const { front } = settings
  if (front.kind === 'httpApi') return publicApi(scope, settings, served, logs)
  return front.kind === 'privateRestApi'
    ? privateApi(scope, settings, served, front.vpcEndpointIds)
    : balanced(scope, settings, served, front, logs)
}

/** Returns the only address that stays open, or undefined if API Gateway's default endpoint stays open. */
const closedFor = ({ apiAddress, closeDefaultEndpoint, domain }: Settings): string | undefined =>
  closeDefaultEndpoint || domain?.truststore ? apiAddress : undefined

const metricsOf =
  (namespace: string, dimensions: Readonly<Record<string, string>>) =>
  (metricName: string): MetricSeries => ({
    namespace,
    metricName,
    dimensions: Object.entries(dimensions).map(([name, value]) => ({ name, value })),
  })
const metricsOfApi = (api: string) => metricsOf('AWS/ApiGateway', { ApiId: api })

function publicApi(
  scope: Construct,
  settings: Settings,
  served: readonly ServedFunction[],
  logs: LogGroup,
): ApiFronts {
  const { throttle, linkThrottle, healthThrottle, domain } = settings
  const { api, stage } = new HttpApi(scope, 'Http', {
    settings,
    name: settings.clusterName,
    served,
    closedFor: closedFor(settings),
    log: 'access',
    throttle,
    throttles: {
      ...(frontCarriesLink(settings) ? { [LINK_ROUTE]: linkThrottle } : {}),
      [HEALTH_ROUTE]: healthThrottle,
    },
  })
  if (domain) {
    const { target } = new ApiDomain(scope, 'Domain', { domain, api, stage })
    new CfnOutput(scope, 'Target', {
      value: target.dnsName,
      description: `point ${domain.name} to this domain`,
    })
  }
  const { sharedAddress: shared } = settings
  if (shared) {
    const { name, certificateArn } = shared
    // clients that use the shared name present the same client certificates
    const named = { name, certificateArn, ...(domain?.truststore && { truststore: domain.truststore }) }
    const { target } = new ApiDomain(scope, 'SharedDomain', { domain: named, api, stage })
    new SharedName(scope, 'Shared', { settings, shared, dnsName: target.dnsName, logs })
  }
  return {
    address: settings.apiAddress ?? api.attrApiEndpoint,
    endpoint: api.attrApiEndpoint,
    errors: [{ alarm: 'ServerErrors', series: metricsOfApi(api.ref)('5xx') }],
    requests: ['Count', '4xx', '5xx'].map(metricsOfApi(api.ref)),
    entrances: [stage],
  }
}

function privateApi(
  scope: Construct,
  settings: Settings,
  served: readonly ServedFunction[],
  vpcEndpointIds: readonly string[],
): ApiFronts {
  const { address, stage } = new PrivateRestApi(scope, 'Rest', { settings, served, vpcEndpointIds })
  const series = metricsOf('AWS/ApiGateway', { ApiName: settings.clusterName, Stage: stage.ref })
  return {
    address: settings.apiAddress ?? address,
    errors: [{ alarm: 'ServerErrors', series: series('5XXError') }],
    requests: ['Count', '4XXError', '5XXError'].map(series),
    entrances: [stage],
  }
}

function balanced(
  scope: Construct,
  settings: Settings,
  served: readonly ServedFunction[],
  place: Extract<Settings['front'], { kind: 'loadBalancer' }>,
  logs: LogGroup,
): ApiFronts {
  const { domain, apiAddress = '', sharedAddress: shared } = settings
  if (!domain) throw new Error('a load balancer needs a domain with a certificate')
  const { balancer, listener } = new LoadBalancer(scope, 'Balanced', {
    served,
    place,
    domain,
    moreCertificate: shared?.certificateArn,
  })
  if (shared) new SharedName(scope, 'Shared', { settings, shared, dnsName: balancer.attrDnsName, logs })
  const series = metricsOf('AWS/ApplicationELB', { LoadBalancer: balancer.attrLoadBalancerFullName })
  return {
    address: apiAddress,
    // first the functions' own errors, then the load balancer's errors when a function does not answer
    errors: [
      { alarm: 'ServerErrors', series: series('HTTPCode_Target_5XX_Count') },
      { alarm: 'BalancerErrors', series: series('HTTPCode_ELB_5XX_Count') },
    ],
    requests: ['RequestCount', 'HTTPCode_Target_4XX_Count', 'HTTPCode_Target_5XX_Count'].map(series),
    entrances: [listener],
  }
}

/** Creates an HTTP API with the link's route only. Returns undefined without `linkDomain`. */
function linkFront(
  scope: Construct,
  settings: Settings,
  served: readonly ServedFunction[],
): Pick<ApiFronts, 'errors' | 'entrances'> {
  const { linkDomain: domain, linkAddress, linkThrottle: throttle } = settings
  if (!domain) return { errors: [], entrances: [] }
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
    description: `point ${domain.name} to this domain`,
  })
  return { errors: [{ alarm: 'LinkErrors', series: metricsOfApi(api.ref)('5xx') }], entrances: [stage] }
}
