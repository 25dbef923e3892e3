import { type ErrorText, errorText } from '../wire/errors.ts'
import { headerOf, type WireRequest } from '../wire/http.ts'
import type { PresentedSignature } from './presented-signature.ts'

/** DNS suffixes of STS and the partitions reached under each. */
const partitionsOf: Record<string, readonly string[]> = {
  'amazonaws.com': ['aws', 'aws-us-gov'],
  'amazonaws.com.cn': ['aws-cn'],
  'amazonaws.eu': ['aws-eusc'],
  'api.aws': ['aws', 'aws-us-gov'],
}

const stsName =
  /^(?:[\w.-]+\.)?sts(?:-fips)?(?:\.(?<region>[a-z]{2,4}(?:-[a-z]+)+-\d+))?(?:\.vpce)?\.(?<suffix>amazonaws\.com|amazonaws\.com\.cn|amazonaws\.eu|api\.aws)(?::443)?$/

/** The endpoint that a request would have reached on AWS, where its sender tells (RFC 7239). */
const meantHost = (request: WireRequest): string | undefined =>
  /^host=([\w.-]+)$/.exec(headerOf(request, 'forwarded') ?? '')?.[1]

const regionName = /^[a-z]{2,4}(-[a-z]+)+-\d+$/

/**
 * The rule a named STS endpoint adds to a request that was signed for it: the scope must name the
 * endpoint's service and region, and the caller must live in its partition. A forwarded request reaches
 * this provider under such a name; under any other host there is nothing to compare with.
 *
 * Clients that sign for their region often still name the global endpoint. The endpoint of that region is
 * believed to take them; the global endpoint itself does not. This provider is all endpoints at once, so it
 * takes them unless the sender tells that another endpoint was meant.
 *
 * @param partition partition of the account whose key signed
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_temp_region-endpoints.html
 */
export function checkHost(
  request: WireRequest,
  presented: PresentedSignature,
  partition: string,
): ErrorText | undefined {
  const name = stsName.exec(headerOf(request, 'host')?.toLowerCase() ?? '')?.groups
  if (name === undefined) return undefined
  const { region, service } = presented.scope
  if (service !== 'sts') {
    return errorText('bad-signature', "Credential should be scoped to correct service: 'sts'.")
  }
  const reachable = partitionsOf[name['suffix'] ?? ''] ?? []
  const served = [name['region'], regionMeant(request)].every(one => one === undefined || one === region)
  const known = regionName.test(region) && partitionNamed(region) === partition
  // the name without a region is one of the partition aws alone
  const named = name['region'] !== undefined || partition === 'aws'
  if (served && known && named && reachable.includes(partition)) return undefined
  return errorText('bad-signature', `Credential should be scoped to a valid region, not '${region}'.`)
}

/** Region of the endpoint that was meant; the one without a region in its name signs as us-east-1. */
function regionMeant(request: WireRequest): string | undefined {
  const groups = stsName.exec(meantHost(request) ?? '')?.groups
  return groups && (groups['region'] ?? 'us-east-1')
}

/** The partition a region belongs to, by its name. */
function partitionNamed(region: string): string {
  if (region.startsWith('cn-')) return 'aws-cn'
  if (region.startsWith('us-gov-')) return 'aws-us-gov'
  if (region.startsWith('eusc-')) return 'aws-eusc'
  return 'aws'
}
