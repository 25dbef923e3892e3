import { type AwsErrorText, createErrorText } from '../wire/errors.ts'
import { requestHeaderOf, type WireRequest } from '../wire/http.ts'
import type { PresentedSignature } from './presented-signature.ts'

/** DNS suffixes of STS, with the partitions that each serves. */
const partitionsOf: Record<string, readonly string[]> = {
  'amazonaws.com': ['aws', 'aws-us-gov'],
  'amazonaws.com.cn': ['aws-cn'],
  'amazonaws.eu': ['aws-eusc'],
  'api.aws': ['aws', 'aws-us-gov'],
}

const stsName =
  /^(?:[\w.-]+\.)?sts(?:-fips)?(?:\.(?<region>[a-z]{2,4}(?:-[a-z]+)+-\d+))?(?:\.vpce)?\.(?<suffix>amazonaws\.com|amazonaws\.com\.cn|amazonaws\.eu|api\.aws)(?::443)?$/

/** Returns the endpoint that a request was meant for, if the sender names the endpoint (RFC 7239). */
const meantHost = (request: WireRequest): string | undefined =>
  /^host=([\w.-]+)$/.exec(requestHeaderOf(request, 'forwarded') ?? '')?.[1]

const regionName = /^[a-z]{2,4}(-[a-z]+)+-\d+$/

/**
 * Checks the rule of a named STS endpoint for a request signed for this endpoint: the scope must name the
 * endpoint's service and region, and the caller must be in the endpoint's partition. Only a forwarded request
 * names an endpoint of STS; a request with any other host name is not checked. Clients that sign for their
 * region often still use the global endpoint. The endpoint of the signed region is believed to accept a
 * request of such a client; the global endpoint does not. This provider imitates all endpoints at once, so it
 * accepts requests of such clients unless the sender names another endpoint.
 * @param partition partition of the account whose key signed
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_temp_region-endpoints.html
 */
export function checkSignedHost(
  request: WireRequest,
  presented: PresentedSignature,
  partition: string,
): AwsErrorText | undefined {
  const name = stsName.exec(requestHeaderOf(request, 'host')?.toLowerCase() ?? '')?.groups
  if (name === undefined) return undefined
  const { region, service } = presented.scope
  if (service !== 'sts') {
    return createErrorText('bad-signature', "Credential should be scoped to correct service: 'sts'.")
  }
  const reachable = partitionsOf[name['suffix'] ?? ''] ?? []
  const served = [name['region'], regionMeant(request)].every(one => one === undefined || one === region)
  const known = regionName.test(region) && partitionNamed(region) === partition
  // the name without a region belongs to the partition aws only
  const named = name['region'] !== undefined || partition === 'aws'
  if (served && known && named && reachable.includes(partition)) return undefined
  return createErrorText('bad-signature', `Credential should be scoped to a valid region, not '${region}'.`)
}

/**
 * Returns the region of the intended endpoint. Requests to the endpoint without a region in its name are
 * signed for us-east-1.
 */
function regionMeant(request: WireRequest): string | undefined {
  const groups = stsName.exec(meantHost(request) ?? '')?.groups
  return groups && (groups['region'] ?? 'us-east-1')
}

/** Returns the partition of a region, by the region's name. */
function partitionNamed(region: string): string {
  if (region.startsWith('cn-')) return 'aws-cn'
  if (region.startsWith('us-gov-')) return 'aws-us-gov'
  if (region.startsWith('eusc-')) return 'aws-eusc'
  return 'aws'
}
