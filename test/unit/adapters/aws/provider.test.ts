import { afterEach, describe, expect, test, vi } from 'vitest'
import { readEnvironment } from '../../../../shared/adapters/aws/environment.ts'
import { createAwsProvider } from '../../../../shared/adapters/aws/provider.ts'
import type { AwsCallSettings } from '../../../../shared/adapters/aws/provider-settings.ts'
import { wireTransport } from '../../../../shared/adapters/aws/wire/post.ts'
import type { AwsTarget, ProviderSettings } from '../../../../shared/ports.ts'
import { Secret } from '../../../../shared/values/secret.ts'

const environment = readEnvironment({ AWS_REGION: 'eu-west-1', DATA_TABLE: 'data', CLUSTER_TABLE: 'cluster' })
const clock = { now: () => Date.now(), sleep: async () => undefined }
const meter = { count: () => undefined, measure: () => Promise.reject(new Error('not used')) }
const calls = () => createAwsProvider({ environment, clock, meter })

const settings: ProviderSettings = {
  version: 'rev-1',
  maxRetries: -1,
  endpoint: '',
  iamEndpoint: '',
  stsEndpoint: '',
  stsRegion: '',
}
const assume = { role: 'arn:aws:iam::444455556666:role/look', externalId: '' }
const target: AwsTarget = { region: 'eu-west-1', account: '444455556666', client: settings, assume }
const never = () => new Promise<never>(() => undefined)

process.env['AWS_REGION'] ??= 'eu-west-1'
afterEach(() => void vi.restoreAllMocks())

describe('a call to AWS', () => {
  test.each<[string, () => Promise<object>, () => Promise<object>]>([
    ['making its client', never, async () => ({})],
    ['fetching credentials, which ignores abort signals', async () => ({}), never],
  ])(
    'the call ends at its deadline if %s hangs',
    async (_, make, send) => {
      const call = calls().call('ec2', target, Date.now() + 50, make, send)
      await expect(call).rejects.toMatchObject({ code: 'busy', message: 'EC2 did not answer in time' })
    },
    2000,
  )
})

describe('an AWS client', () => {
  const changed: [string, Partial<AwsTarget>, 'ec2' | 'iam'][] = [
    ['another revision of the configuration', { client: { ...settings, version: 'rev-2' } }, 'ec2'],
    ['another region', { region: 'us-east-1' }, 'ec2'],
    ['another account', { account: '777788889999' }, 'ec2'],
    ['another role', { assume: { ...assume, role: 'arn:aws:iam::444455556666:role/other' } }, 'ec2'],
    ['another external ID', { assume: { ...assume, externalId: 'x' } }, 'ec2'],
    ['another service', {}, 'iam'],
  ]
  const world = () => {
    const provided = calls()
    const made: AwsCallSettings[] = []
    const make = (given: AwsCallSettings) => made.push(given)
    const clientOf = (parts: Partial<AwsTarget>, service: 'ec2' | 'iam' = 'ec2') =>
      provided.call(service, { ...target, ...parts }, Date.now() + 5000, make, async client => client)
    return { made, clientOf }
  }

  test('an AWS client is created once for the same configuration and account', async () => {
    const { clientOf } = world()
    expect([await clientOf({}), await clientOf({}), await clientOf({})]).toEqual([1, 1, 1])
  })

  test('concurrent calls create the AWS client once', async () => {
    const { clientOf } = world()
    expect(await Promise.all([clientOf({}), clientOf({}), clientOf({})])).toEqual([1, 1, 1])
  })

  test.each(changed)('an AWS client is not reused with %s', async (_, parts, service) => {
    const { clientOf } = world()
    expect([await clientOf({}), await clientOf(parts, service), await clientOf({})]).toEqual([1, 2, 1])
  })
})

test('the account of credentials is read again for another revision of the configuration', async () => {
  const accounts = ['444455556666', '777788889999']
  const asked = vi.spyOn(wireTransport, 'post').mockImplementation(async () => ({
    status: 200,
    headers: {},
    body: Buffer.from(
      `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>${accounts.shift()}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`,
    ),
  }))
  const { call } = calls()
  const credentials = { accessKey: 'AKIA', secretKey: new Secret('secret') }
  const at = (version: string, account: string) => {
    const client = { ...settings, version, credentials }
    const own = { region: 'eu-west-1', account, client }
    return call(
      'ec2',
      own,
      Date.now() + 5000,
      async () => ({}),
      async () => 'sent',
    )
  }
  expect(await at('rev-1', '444455556666')).toBe('sent')
  expect(await at('rev-1', '444455556666')).toBe('sent')
  await expect(at('rev-2', '444455556666')).rejects.toMatchObject({ code: 'invalid_request' })
  expect(await at('rev-2', '777788889999')).toBe('sent')
  expect(asked).toHaveBeenCalledTimes(2)
})
