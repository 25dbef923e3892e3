import type { WireSettings } from '../environment.ts'
import { type WireAddress, wireAddress } from './post.ts'

/** Services that are called over the wire. */
export type WireService = 'dynamodb' | 'ec2' | 'iam' | 'kms' | 'sts'

/** Where a service is reached, and the region that its requests are signed for. */
interface ServiceEndpoint {
  address: WireAddress
  region: string
}

interface Partition {
  regions: RegExp
  suffix: string
  dualStack: string
  /** IAM has one endpoint in a partition: plain, FIPS, dual-stack, both; and one region that signs for it */
  iam: readonly [plain: string, fips: string, dualStack: string, both: string, region: string]
}

/** Where services are in each partition. The first takes whatever no other has. @see docs/spec/configuration.md */
const partitions: Readonly<Record<string, Partition>> = {
  aws: {
    regions: /^(us|eu|ap|sa|ca|me|af|il|mx)-\w+-\d+$/,
    suffix: 'amazonaws.com',
    dualStack: 'api.aws',
    iam: ['iam.', 'iam-fips.', 'iam.global.', 'iam-fips.global.', 'us-east-1'],
  },
  'aws-cn': {
    regions: /^cn-\w+-\d+$/,
    suffix: 'amazonaws.com.cn',
    dualStack: 'api.amazonwebservices.com.cn',
    iam: ['iam.cn-north-1.', 'iam-fips.', 'iam.global.', 'iam-fips.', 'cn-north-1'],
  },
  'aws-us-gov': {
    regions: /^us-gov-\w+-\d+$/,
    suffix: 'amazonaws.com',
    dualStack: 'api.aws',
    iam: ['iam.us-gov.', 'iam.us-gov.', 'iam.us-gov.', 'iam.us-gov.', 'us-gov-west-1'],
  },
  'aws-eusc': {
    regions: /^eusc-de-\w+-\d+$/,
    suffix: 'amazonaws.eu',
    dualStack: 'api.amazonwebservices.eu',
    iam: ['iam.eusc-de-east-1.', 'iam-fips.', 'iam.global.', 'iam-fips.', 'eusc-de-east-1'],
  },
  'aws-iso': {
    regions: /^us-iso-\w+-\d+$/,
    suffix: 'c2s.ic.gov',
    dualStack: 'api.aws.ic.gov',
    iam: ['iam.us-iso-east-1.', 'iam-fips.us-iso-east-1.', 'iam.', 'iam-fips.', 'us-iso-east-1'],
  },
  'aws-iso-b': {
    regions: /^us-isob-\w+-\d+$/,
    suffix: 'sc2s.sgov.gov',
    dualStack: 'api.aws.scloud',
    iam: ['iam.us-isob-east-1.', 'iam-fips.us-isob-east-1.', 'iam.', 'iam-fips.', 'us-isob-east-1'],
  },
  'aws-iso-e': {
    regions: /^eu-isoe-\w+-\d+$/,
    suffix: 'cloud.adc-e.uk',
    dualStack: 'api.cloud-aws.adc-e.uk',
    iam: ['iam.eu-isoe-west-1.', 'iam-fips.', 'iam.', 'iam-fips.', 'eu-isoe-west-1'],
  },
  'aws-iso-f': {
    regions: /^us-isof-\w+-\d+$/,
    suffix: 'csp.hci.ic.gov',
    dualStack: 'api.aws.hci.ic.gov',
    iam: ['iam.us-isof-south-1.', 'iam-fips.', 'iam.', 'iam-fips.', 'us-isof-south-1'],
  },
}

/** In this partition the plain endpoints of some services are those that FIPS 140 asks for. */
const ALL_FIPS = 'aws-us-gov'
const NAMED_ALIKE: readonly WireService[] = ['dynamodb', 'ec2', 'sts']

/**
 * Where a service is, by the settings that the SDK knows: endpoints that are given, FIPS, both IP versions, and
 * DynamoDB's endpoints by account.
 * @param given an endpoint that this call is configured with; undefined: none
 * @throws Error for settings that exclude each other, as the SDK does
 */
export function endpointOf(
  service: WireService,
  region: string,
  settings: WireSettings,
  given = settings.endpointOf(service),
): ServiceEndpoint {
  const { fips, dualStack } = settings
  if (!/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(region)) throw new Error('there is no such region')
  const found = Object.entries(partitions).find(([, { regions }]) => regions.test(region))
  const [name, partition] = found ?? ['aws', partitions['aws'] as Partition]
  if (given !== undefined) {
    if (fips || dualStack) throw new Error('a given endpoint excludes FIPS and dual-stack endpoints')
    return { address: wireAddress(new URL(given)), region }
  }
  const host =
    service === 'iam'
      ? iamHost(partition, settings)
      : (service === 'dynamodb' && ofAccount(name, partition, region, settings)) ||
        hostOf(service, name, partition, region, settings)
  return {
    address: wireAddress(new URL(`https://${host}/`)),
    region: service === 'iam' ? partition.iam[4] : region,
  }
}

function iamHost({ iam, suffix, dualStack }: Partition, settings: WireSettings): string {
  const beginning = iam[(settings.fips ? 1 : 0) + (settings.dualStack ? 2 : 0)]
  return `${beginning}${settings.dualStack ? dualStack : suffix}`
}

function hostOf(
  service: WireService,
  partition: string,
  { suffix, dualStack }: Partition,
  region: string,
  settings: WireSettings,
): string {
  const alike = partition === ALL_FIPS && !settings.dualStack && NAMED_ALIKE.includes(service)
  const fips = settings.fips && !alike ? '-fips' : ''
  return `${service}${fips}.${region}.${settings.dualStack ? dualStack : suffix}`
}

/** Regions outside the first partition where there are endpoints by account. */
const BY_ACCOUNT = ['cn-north-1', 'cn-northwest-1', 'us-gov-east-1', 'us-gov-west-1']

/** DynamoDB's endpoint of an account, which needs no other account's load to be fast; undefined where there is none. */
function ofAccount(
  partition: string,
  { suffix, dualStack }: Partition,
  region: string,
  settings: WireSettings,
): string | undefined {
  const { accountMode, accountId } = settings
  if (accountMode === 'disabled') return undefined
  const refused = (why: string) => {
    if (accountMode === 'required') throw new Error(`an endpoint by account is required, ${why}`)
    return undefined
  }
  if (settings.fips) return refused('and there is none with FIPS')
  if (partition !== 'aws' && !BY_ACCOUNT.includes(region)) return refused('and there is none in this region')
  if (accountId === '') return refused('and the account is not known')
  return `${accountId}.ddb.${region}.${settings.dualStack ? dualStack : suffix}`
}
