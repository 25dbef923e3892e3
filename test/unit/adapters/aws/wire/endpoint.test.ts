import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { KMSClient } from '@aws-sdk/client-kms'
import { describe, expect, test } from 'vitest'
import { readWireSettings, type WireSettings } from '../../../../../shared/adapters/aws/environment.ts'
import { wireEndpointOf } from '../../../../../shared/adapters/aws/wire/endpoint.ts'

const clients = { dynamodb: DynamoDBClient, kms: KMSClient }

/**
 * Regions of each partition, unknown regions with the form of a partition's regions, and a region of no
 * partition.
 */
const REGIONS =
  `us-east-1 us-west-2 eu-west-1 eu-central-1 ap-southeast-5 ca-west-1 me-south-1 af-south-1 il-central-1
  mx-central-1 sa-west-1 cn-north-1 cn-northwest-1 us-gov-east-1 us-gov-west-1 eusc-de-east-1 us-iso-east-1 us-iso-west-1
  us-isob-east-1 eu-isoe-west-1 us-isof-south-1 eu-newtown-7 xx-nowhere-1`.split(/\s+/)

interface Rules {
  endpointProvider(given: object): { url: URL }
}

/** Returns the URL by the SDK's rules, or undefined if the SDK rejects the settings. */
function bySdk(
  service: keyof typeof clients,
  { region, fips, dualStack, accountId, accountMode }: WireSettings,
): string {
  const { endpointProvider } = new clients[service]({ region }).config as unknown as Rules
  try {
    return endpointProvider({
      Region: region,
      UseFIPS: fips,
      UseDualStack: dualStack,
      ...(service === 'dynamodb' ? { AccountIdEndpointMode: accountMode } : {}),
      ...(service === 'dynamodb' && accountId !== '' ? { AccountId: accountId } : {}),
    }).url.href
  } catch {
    return 'refused'
  }
}

function byWire(...given: Parameters<typeof wireEndpointOf>): string {
  try {
    const { host, path } = wireEndpointOf(...given)
    return `https://${host}${path}`
  } catch {
    return 'refused'
  }
}

const settingsOf = (
  region: string,
  fips: boolean,
  dualStack: boolean,
  accountId = '',
  mode = 'preferred',
) => ({
  ...readWireSettings({
    AWS_REGION: 'eu-west-1',
    AWS_USE_FIPS_ENDPOINT: String(fips),
    AWS_USE_DUALSTACK_ENDPOINT: String(dualStack),
    AWS_ACCOUNT_ID: accountId,
    AWS_ACCOUNT_ID_ENDPOINT_MODE: mode,
  }),
  region,
})

const flags = [false, true].flatMap(fips => [false, true].map(dualStack => [fips, dualStack] as const))

describe('the endpoint of a service equals the SDK’s', () => {
  test.each(Object.keys(clients) as (keyof typeof clients)[])(
    'the endpoint is equal for %s, in every partition, with FIPS and dual stack',
    service => {
      for (const region of REGIONS)
        for (const [fips, dualStack] of flags) {
          const settings = settingsOf(region, fips, dualStack)
          expect(byWire(service, settings), `${region} ${fips} ${dualStack}`).toBe(bySdk(service, settings))
        }
    },
  )

  test.each(['preferred', 'disabled', 'required'])(
    'the DynamoDB endpoint with an account ID is equal, mode %s',
    mode => {
      for (const region of REGIONS)
        for (const account of ['', '123456789012'])
          for (const [fips, dualStack] of flags) {
            const settings = settingsOf(region, fips, dualStack, account, mode)
            expect(byWire('dynamodb', settings), `${region} ${account} ${fips} ${dualStack}`).toBe(
              bySdk('dynamodb', settings),
            )
          }
    },
  )
})

describe('a configured endpoint', () => {
  const given = (variables: Record<string, string>, more: Record<string, string> = {}) =>
    byWire('kms', readWireSettings({ AWS_REGION: 'eu-west-1', ...variables, ...more }))
  const one = { AWS_ENDPOINT_URL_KMS: 'http://kms.test:99/way', AWS_ENDPOINT_URL: 'http://all.test' }

  test('an endpoint configured for the service takes precedence over the endpoint for all services', () => {
    expect(given(one)).toBe('https://kms.test:99/way/')
    expect(given({ AWS_ENDPOINT_URL: 'http://all.test' })).toBe('https://all.test/')
    const settings = readWireSettings({ AWS_REGION: 'eu-west-1', ...one })
    expect(wireEndpointOf('kms', settings)).toMatchObject({ secure: false, port: '99' })
  })

  test('the configured endpoint is ignored if AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true', () => {
    const ignored = given(one, { AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' })
    expect(ignored).toBe('https://kms.eu-west-1.amazonaws.com/')
  })

  test.each(['AWS_USE_FIPS_ENDPOINT', 'AWS_USE_DUALSTACK_ENDPOINT'])(
    'a configured endpoint cannot be combined with %s, as in the SDK',
    flag => {
      expect(given(one, { [flag]: 'true' })).toBe('refused')
    },
  )
})

test.each(['evil.test/', 'eu-west-1.evil', '', 'a'.repeat(64), '-a', 'eu west'])(
  'a region that is not part of a host name is rejected: %s',
  region => {
    expect(byWire('kms', settingsOf(region, false, false))).toBe('refused')
  },
)

test.each([
  { AWS_USE_FIPS_ENDPOINT: 'yes' },
  { AWS_ACCOUNT_ID_ENDPOINT_MODE: 'maybe' },
  { AWS_ACCOUNT_ID: 'evil.test' },
  { AWS_REGION: '' },
])('a variable with an invalid value is rejected: %o', variables => {
  expect(() => readWireSettings({ AWS_REGION: 'eu-west-1', ...variables })).toThrow()
})
