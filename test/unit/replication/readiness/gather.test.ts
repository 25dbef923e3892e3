import { describe, expect, test } from 'vitest'
import type { AwsClientConfig } from '../../../../shared/model/config.ts'
import {
  findPlacedSettings,
  findUnassumableRole,
  regionOfEndpoint,
} from '../../../../shared/replication/readiness/gather.ts'

describe('the region in an endpoint', () => {
  test.each([
    ['https://ec2.us-east-1.amazonaws.com', 'us-east-1'],
    ['https://sts.cn-north-1.amazonaws.com.cn', 'cn-north-1'],
    ['https://sts.us-gov-west-1.amazonaws.com/', 'us-gov-west-1'],
    ['https://ec2.eusc-de-east-1.amazonaws.eu', 'eusc-de-east-1'],
    ['https://vpce-0a-b1.ec2.eu-central-1.vpce.amazonaws.com', 'eu-central-1'],
    ['https://sts.ap-southeast-12.example.com', ''],
    ['https://iam.amazonaws.com', ''],
    ['https://aws.internal:8443/eu-west-1', ''],
    ['no address', ''],
  ])('%s: %s', (endpoint, region) => {
    expect(regionOfEndpoint(endpoint)).toBe(region)
  })
})

const config = { endpoint: '', iamEndpoint: '', stsEndpoint: '', stsRegion: '' } as AwsClientConfig
const found = (parts: Partial<AwsClientConfig>) =>
  findPlacedSettings('auth/cloud/config/client', { ...config, ...parts }, { region: 'eu-west-1' })

describe('settings that depend on the region', () => {
  test('a mount without regions and endpoints has no such settings', () => {
    expect(found({})).toEqual([])
  })

  test.each<[string, Partial<AwsClientConfig>, object]>([
    [
      'another region',
      { stsRegion: 'us-east-1' },
      { field: 'sts_region', region: 'us-east-1', elsewhere: true },
    ],
    ['this region', { stsRegion: 'eu-west-1' }, { region: 'eu-west-1', elsewhere: false }],
    [
      'an endpoint of another region',
      { endpoint: 'https://ec2.us-east-1.amazonaws.com' },
      { field: 'endpoint', region: 'us-east-1', elsewhere: true, text: /us-east-1.*eu-west-1/ },
    ],
    [
      'a private host',
      { iamEndpoint: 'https://iam.internal' },
      { field: 'iam_endpoint', region: '', elsewhere: true, text: /names no region/ },
    ],
  ])('%s', (_, parts, wanted) => {
    const { text, ...rest } = wanted as { text?: RegExp }
    const [only, ...others] = found(parts)
    expect(others).toEqual([])
    expect(only).toMatchObject({ path: 'auth/cloud/config/client', ...rest })
    expect(only?.text).toMatch(text ?? /./)
  })

  test('an STS role that this deployment may not assume is such a setting', () => {
    const here = { assumableRoles: ['arn:*:iam::*:role/cloud-auth-*'] }
    const role = (name: string) => ({ role: `arn:aws:iam::210987654321:role/${name}`, externalId: '' })
    expect(findUnassumableRole('p', role('cloud-auth-x'), here)).toEqual([])
    expect(findUnassumableRole('p', role('other'), here)).toMatchObject([
      { field: 'sts_role', elsewhere: true },
    ])
  })
})
