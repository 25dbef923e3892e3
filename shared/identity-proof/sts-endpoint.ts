import { createRefusal, type Refusal } from '../api/errors.ts'
import {
  type AwsPartition,
  GLOBAL_STS_REGION,
  isExistingRegion,
  partitionOfRegion,
  regionOfStsHost,
  stsHost,
  unsupportedRegionFault,
} from '../values/region.ts'
import { failed, ok, type Result } from '../values/result.ts'
import type { SignedRequest } from './signed-request.ts'

/** The settings that decide which STS endpoint gets a caller's request. */
export interface StsEndpointRules {
  /** empty: the partition's default endpoint */
  endpoint: string
  regionFromClient: boolean
  /** region of the configured endpoint; empty: unknown */
  endpointRegion: string
  /** region of this deployment, which also determines the mount's partition */
  homeRegion: string
}

const unknownHost = createRefusal('sts-host', 'iam_request_url does not name an endpoint of STS')
const foreignPartition = createRefusal('sts-partition', 'the signature is for another partition of AWS')
const noRegion = createRefusal('sts-region', 'the signature names no region of STS')
const unconfiguredRegion = createRefusal(
  'sts-region',
  `the request for ${stsHost()} is signed for another region than ${GLOBAL_STS_REGION}: sign for ${GLOBAL_STS_REGION}, or set use_sts_region_from_client or a regional sts_endpoint in config/client`,
)

/**
 * Chooses the STS endpoint for a caller's request. The server always connects to a host of its own choice; the signed host name is
 * sent only as a header.
 */
export function chooseStsEndpoint(request: SignedRequest, rules: StsEndpointRules): Result<string, Refusal> {
  const unsupported = unsupportedRegionFault(request.scope.region, 'the region of the signature')
  if (unsupported) return failed(createRefusal('sts-region', unsupported))
  const region = regionOfStsHost(request.host)
  if (rules.regionFromClient) return regionalEndpoint(request, region, rules)
  if (rules.endpoint !== '') return configuredEndpoint(request, region, rules)
  if (region === undefined) return failed(unknownHost)
  const global = partitionOfRegion(rules.homeRegion) === 'aws'
  const home = global ? stsHost() : stsHost(rules.homeRegion)
  if (region === (global ? GLOBAL_STS_REGION : rules.homeRegion))
    return isRegionalUnderGlobalName(request) ? failed(unconfiguredRegion) : ok(`https://${home}`)
  return failed(
    createRefusal(
      'sts-region',
      `the request is signed for ${request.host}: sign for ${home}, or switch on use_sts_region_from_client in config/client`,
    ),
  )
}

/** Reports whether the request names the global endpoint but is signed for another region, as many clients do. */
const isRegionalUnderGlobalName = ({ host, scope }: SignedRequest): boolean =>
  host === stsHost() && scope.region !== GLOBAL_STS_REGION

function configuredEndpoint(
  request: SignedRequest,
  region: string | undefined,
  { endpoint, endpointRegion }: StsEndpointRules,
): Result<string, Refusal> {
  const { host, origin } = new URL(endpoint)
  if (region === undefined && request.host !== host) return failed(unknownHost)
  // if the region of the configured endpoint is unknown, the endpoint itself checks the scope of the signature
  const served = endpointRegion || regionOfStsHost(host)
  if (!isRegionalUnderGlobalName(request) || !served) return ok(origin)
  const fault =
    regionFault(request, 'aws') ?? (request.scope.region === served ? undefined : unconfiguredRegion)
  return fault ? failed(fault) : ok(origin)
}

/** Returns the endpoint of the signature's region, for requests that name that endpoint or the partition's global one. */
function regionalEndpoint(
  request: SignedRequest,
  region: string | undefined,
  rules: StsEndpointRules,
): Result<string, Refusal> {
  const { scope, host } = request
  const fault =
    regionFault(request, partitionOfRegion(rules.endpointRegion || rules.homeRegion)) ??
    absentFault(request, rules)
  if (fault) return failed(fault)
  if (region === undefined) return failed(unknownHost)
  if (partitionOfRegion(region) !== partitionOfRegion(scope.region)) return failed(foreignPartition)
  if (region !== scope.region && host !== stsHost()) return failed(unknownHost)
  const global = host === stsHost() && scope.region === GLOBAL_STS_REGION
  return ok(`https://${global ? host : stsHost(scope.region)}`)
}

/** Rejects regions that do not exist, because the region becomes part of a host name. The deployment's own regions are allowed. */
const absentFault = (
  { scope: { region } }: SignedRequest,
  { homeRegion, endpointRegion }: StsEndpointRules,
): Refusal | undefined =>
  isExistingRegion(region) || [homeRegion, endpointRegion].includes(region) ? undefined : noRegion

/** Returns the refusal unless the signature is for STS in a region of the partition. */
function regionFault({ scope }: SignedRequest, wanted: AwsPartition | undefined): Refusal | undefined {
  const partition = partitionOfRegion(scope.region)
  if (!partition || scope.service !== 'sts') return noRegion
  return partition === wanted ? undefined : foreignPartition
}
