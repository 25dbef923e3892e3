/**
 * The AWS partitions. Each region, account and ARN belongs to one. `iamRegion`: the region for which IAM calls are signed.
 * @see https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html
 */
const partitions = {
  aws: {
    regions: /^(?!cn-|us-gov-|us-iso|eusc-|eu-isoe-)[a-z]{2}(-[a-z]+)+-\d+$/,
    suffix: 'amazonaws.com',
    dualStack: 'api.aws',
    iamRegion: 'us-east-1',
  },
  'aws-cn': {
    regions: /^cn(-[a-z]+)+-\d+$/,
    suffix: 'amazonaws.com.cn',
    dualStack: 'api.amazonwebservices.com.cn',
    iamRegion: 'cn-north-1',
  },
  'aws-us-gov': {
    regions: /^us-gov(-[a-z]+)+-\d+$/,
    suffix: 'amazonaws.com',
    dualStack: 'api.aws',
    iamRegion: 'us-gov-west-1',
  },
  'aws-eusc': {
    regions: /^eusc(-[a-z]+)+-\d+$/,
    suffix: 'amazonaws.eu',
    dualStack: 'api.amazonwebservices.eu',
    iamRegion: 'eusc-de-east-1',
  },
} as const satisfies Record<string, { regions: RegExp; suffix: string; dualStack: string; iamRegion: string }>

export type AwsPartition = keyof typeof partitions

export const awsPartitionNames = Object.keys(partitions) as AwsPartition[]

export const isAwsPartition = (name: string): name is AwsPartition => Object.hasOwn(partitions, name)

/** Returns the partition of a region name; undefined if no partition has such names. */
export const partitionOfRegion = (region: string): AwsPartition | undefined =>
  region.length > 32 ? undefined : awsPartitionNames.find(name => partitions[name].regions.test(region))

/**
 * Regions of unsupported partitions. Regions of unsupported partitions cannot be tested, because they are
 * unreachable from outside.
 */
const unsupported = {
  'aws-iso': /^us-iso(-[a-z]+)+-\d+$/,
  'aws-iso-b': /^us-isob(-[a-z]+)+-\d+$/,
  'aws-iso-e': /^eu-isoe(-[a-z]+)+-\d+$/,
  'aws-iso-f': /^us-isof(-[a-z]+)+-\d+$/,
}

/**
 * Returns the error text for a region or an ARN in an unsupported partition; undefined for others.
 * @param subject describes the text, for example `bound_region: us-iso-east-1`
 */
export function unsupportedRegionFault(text: string, subject: string): string | undefined {
  const [name] =
    Object.entries(unsupported).find(
      ([partition, regions]) => text.startsWith(`arn:${partition}:`) || regions.test(text),
    ) ?? []
  return (
    name &&
    `${subject} belongs to the partition ${name}, which is not supported; supported are ${awsPartitionNames.join(', ')}`
  )
}

/** The existing regions, as in this version of the AWS SDK. A test compares both. */
const existing = new Set(
  `af-south-1
  ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2 ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 ap-southeast-7
  ca-central-1 ca-west-1
  cn-north-1 cn-northwest-1
  eu-central-1 eu-central-2 eu-north-1 eu-south-1 eu-south-2 eu-west-1 eu-west-2 eu-west-3
  eusc-de-east-1
  il-central-1
  me-central-1 me-south-1 me-west-1
  mx-central-1
  sa-east-1 sa-west-1
  us-east-1 us-east-2 us-gov-east-1 us-gov-west-1 us-west-1 us-west-2`.split(/\s+/),
)

/** Reports whether AWS has a region of that name, as far as this version knows. */
export const isExistingRegion = (region: string): boolean => existing.has(region)

/** Returns the region for which a partition's IAM calls are signed. */
export const iamRegionOf = (partition: AwsPartition): string => partitions[partition].iamRegion

/** Returns the host of STS in a region, or the global host. */
export function stsHost(region?: string): string {
  const partition = region === undefined ? undefined : partitionOfRegion(region)
  return partition ? `sts.${region}.${partitions[partition].suffix}` : 'sts.amazonaws.com'
}

/** Returns the host of a service in a region. */
export const serviceHost = (service: string, region: string): string =>
  `${service}.${region}.${partitions[partitionOfRegion(region) ?? 'aws'].suffix}`

/** The region of the global STS endpoint, which has no region in its name. */
export const GLOBAL_STS_REGION = 'us-east-1'

const STS_HOST = /^(sts|sts-fips|vpce-[a-z0-9-]+\.sts)\.([a-z0-9-]+)\.([a-z.]+)$/

/**
 * Returns the region of an STS host name: regional, FIPS, dual-stack, VPC endpoint, or the global one. Returns undefined for every other
 * host. @see docs/spec/login-iam.md#endpoint
 */
export function regionOfStsHost(host: string): string | undefined {
  if (host === stsHost()) return GLOBAL_STS_REGION
  const [, service = '', region = '', domain = ''] = STS_HOST.exec(host) ?? []
  const partition = partitionOfRegion(region)
  if (!partition) return undefined
  const { suffix, dualStack } = partitions[partition]
  const domains: string[] = service.startsWith('vpce-') ? [`vpce.${suffix}`] : [suffix, dualStack]
  return domains.includes(domain) ? region : undefined
}
