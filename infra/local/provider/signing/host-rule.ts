import { type HttpRequest, headerOf } from '../wire/http.ts'
import { type Refusal, refusal } from '../wire/trouble.ts'
import type { Claim } from './claim.ts'

/** DNS suffixes of STS and the partitions reached under each. */
const partitionsOf: Record<string, readonly string[]> = {
  'amazonaws.com': ['aws', 'aws-us-gov'],
  'amazonaws.com.cn': ['aws-cn'],
  'amazonaws.eu': ['aws-eusc'],
  'api.aws': ['aws', 'aws-us-gov'],
}

const stsName =
  /^(?:[\w.-]+\.)?sts(?:-fips)?(?:\.(?<region>[a-z]{2,4}(?:-[a-z]+)+-\d+))?(?:\.vpce)?\.(?<suffix>amazonaws\.com|amazonaws\.com\.cn|amazonaws\.eu|api\.aws)(?::443)?$/

/**
 * The rule a named STS endpoint adds to a request that was signed for it: the scope must name the
 * endpoint's service and region, and the caller must live in its partition. A forwarded request reaches
 * this provider under such a name; under any other host there is nothing to compare with.
 *
 * @param partition partition of the account whose key signed
 * @see "AWS STS Regions and endpoints", IAM User Guide
 */
export function checkHost(request: HttpRequest, claim: Claim, partition: string): Refusal | undefined {
  const name = stsName.exec(headerOf(request, 'host')?.toLowerCase() ?? '')?.groups
  if (name === undefined) return undefined
  const { region, service } = claim.scope
  if (service !== 'sts') {
    return refusal('bad-signature', "Credential should be scoped to correct service: 'sts'.")
  }
  // The one endpoint without a region in its name signs as us-east-1.
  const wanted = name['region'] ?? 'us-east-1'
  const reachable = partitionsOf[name['suffix'] ?? ''] ?? []
  if (region === wanted && reachable.includes(partition) && partitionOf(wanted) === partition)
    return undefined
  return refusal('bad-signature', `Credential should be scoped to a valid region, not '${region}'.`)
}

/** The partition a region belongs to, by its name. */
export function partitionOf(region: string): string {
  if (region.startsWith('cn-')) return 'aws-cn'
  if (region.startsWith('us-gov-')) return 'aws-us-gov'
  if (region.startsWith('eusc-')) return 'aws-eusc'
  return 'aws'
}
