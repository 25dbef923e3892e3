import type { WireSettings } from '../environment.ts'
import { type WireAddress, wireAddress } from './post.ts'

/** The services that this service's own client calls. */
export type WireService = 'dynamodb' | 'kms' | 'organizations'

interface Partition {
  regions: RegExp
  suffix: string
  dualStack: string
}

/**
 * The endpoints of each partition. The first partition takes every region that no other partition has.
 * @see docs/spec/configuration.md
 */
const partitions: Readonly<Record<string, Partition>> = {
  aws: {
    regions: /^(us|eu|ap|sa|ca|me|af|il|mx)-\w+-\d+$/,
    suffix: 'amazonaws.com',
    dualStack: 'api.aws',
  },
  'aws-cn': {
    regions: /^cn-\w+-\d+$/,
    suffix: 'amazonaws.com.cn',
    dualStack: 'api.amazonwebservices.com.cn',
  },
  'aws-us-gov': {
    regions: /^us-gov-\w+-\d+$/,
    suffix: 'amazonaws.com',
    dualStack: 'api.aws',
  },
  'aws-eusc': {
    regions: /^eusc-de-\w+-\d+$/,
    suffix: 'amazonaws.eu',
    dualStack: 'api.amazonwebservices.eu',
  },
  'aws-iso': {
    regions: /^us-iso-\w+-\d+$/,
    suffix: 'c2s.ic.gov',
    dualStack: 'api.aws.ic.gov',
  },
  'aws-iso-b': {
    regions: /^us-isob-\w+-\d+$/,
    suffix: 'sc2s.sgov.gov',
    dualStack: 'api.aws.scloud',
  },
  'aws-iso-e': {
    regions: /^eu-isoe-\w+-\d+$/,
    suffix: 'cloud.adc-e.uk',
    dualStack: 'api.cloud-aws.adc-e.uk',
  },
  'aws-iso-f': {
    regions: /^us-isof-\w+-\d+$/,
    suffix: 'csp.hci.ic.gov',
    dualStack: 'api.aws.hci.ic.gov',
  },
}

/** In this partition DynamoDB's plain endpoints already comply with FIPS 140. */
const ALL_FIPS = 'aws-us-gov'

/**
 * Returns the address of a service, by the settings that the SDK uses: configured endpoints, FIPS, dual stack, and
 * DynamoDB's endpoints by account.
 * @throws Error for settings that exclude each other, as the SDK does
 */
export function wireEndpointOf(service: WireService, settings: WireSettings): WireAddress {
  const { region, fips, dualStack } = settings
  const given = settings.endpointOf(service)
  if (!/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(region))
    throw new Error('`AWS_REGION` is not a region name')
  const found = Object.entries(partitions).find(([, { regions }]) => regions.test(region))
  const [name, partition] = found ?? ['aws', partitions['aws'] as Partition]
  if (given !== undefined) {
    if (fips || dualStack)
      throw new Error('a configured endpoint cannot be used together with FIPS or dual-stack endpoints')
    return wireAddress(new URL(given))
  }
  const host =
    (service === 'dynamodb' && accountHost(name, partition, settings)) ||
    regionalHost(service, name, partition, settings)
  return wireAddress(new URL(`https://${host}/`))
}

function regionalHost(
  service: WireService,
  partition: string,
  { suffix, dualStack }: Partition,
  settings: WireSettings,
): string {
  const alike = partition === ALL_FIPS && !settings.dualStack && service === 'dynamodb'
  const fips = settings.fips && !alike ? '-fips' : ''
  return `${service}${fips}.${settings.region}.${settings.dualStack ? dualStack : suffix}`
}

/** The regions outside the first partition that have endpoints by account. */
const BY_ACCOUNT = ['cn-north-1', 'cn-northwest-1', 'us-gov-east-1', 'us-gov-west-1']

/**
 * Returns DynamoDB's endpoint of an account, which isolates the account from other accounts' load; undefined if the
 * region has no such endpoint.
 */
function accountHost(
  partition: string,
  { suffix, dualStack }: Partition,
  settings: WireSettings,
): string | undefined {
  const { region, accountMode, accountId } = settings
  if (accountMode === 'disabled') return undefined
  const refused = (why: string) => {
    if (accountMode === 'required') throw new Error(`an account-based DynamoDB endpoint is required, ${why}`)
    return undefined
  }
  if (settings.fips) return refused('but FIPS has no account-based endpoints')
  if (partition !== 'aws' && !BY_ACCOUNT.includes(region))
    return refused('but this region has no account-based endpoints')
  if (accountId === '') return refused('but the account ID is not known')
  return `${accountId}.ddb.${region}.${settings.dualStack ? dualStack : suffix}`
}
