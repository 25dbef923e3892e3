import { describe, expect, test } from 'vitest'
import { rebuildStsRequest, type StsRequestRules } from '../../../shared/identity-proof/sts-request.ts'
import {
  authorization,
  base64,
  getInput,
  postInput,
  request,
  usualRules,
} from '../../builders/signed-request.ts'

/** Returns the target of a request for a host, signed for a region, or the rule that the request violates. */
function target(host: string, region: string, given: Partial<StsRequestRules>, service = 'sts'): string {
  const input = postInput(
    { Host: host, Authorization: authorization('host', region, service) },
    { url: base64(`https://${host}/`) },
  )
  const rebuilt = rebuildStsRequest(request(input), { ...usualRules, ...given })
  return rebuilt.ok ? rebuilt.value.endpoint : rebuilt.fault.why
}

const GLOBAL = 'https://sts.amazonaws.com'

describe('the default STS endpoint of the partition', () => {
  test.each([
    ['sts.amazonaws.com', 'eu-west-1', GLOBAL],
    ['sts.us-east-1.amazonaws.com', 'eu-west-1', GLOBAL],
    ['sts.eu-west-1.amazonaws.com', 'eu-west-1', 'sts-region'],
    ['sts.cn-north-1.amazonaws.com.cn', 'cn-north-1', 'https://sts.cn-north-1.amazonaws.com.cn'],
    ['sts.cn-northwest-1.amazonaws.com.cn', 'cn-north-1', 'sts-region'],
    ['sts.amazonaws.com', 'cn-north-1', 'sts-region'],
    ['sts.us-gov-west-1.amazonaws.com', 'us-gov-west-1', 'https://sts.us-gov-west-1.amazonaws.com'],
    ['sts.eusc-de-east-1.amazonaws.eu', 'eusc-de-east-1', 'https://sts.eusc-de-east-1.amazonaws.eu'],
  ])('the endpoint for %s in a cluster of %s: %s', (host, homeRegion, expected) => {
    expect(target(host, 'us-east-1', { homeRegion })).toBe(expected)
  })
})

describe('use_sts_region_from_client', () => {
  const fromClient = { regionFromClient: true }
  test.each([
    ['sts.eu-central-1.amazonaws.com', 'eu-central-1', 'https://sts.eu-central-1.amazonaws.com'],
    ['sts.amazonaws.com', 'us-east-1', GLOBAL],
    ['sts-fips.us-east-1.amazonaws.com', 'us-east-1', 'https://sts.us-east-1.amazonaws.com'],
    ['sts.eu-central-1.api.aws', 'eu-central-1', 'https://sts.eu-central-1.amazonaws.com'],
    [
      'vpce-0a1b-c2d3.sts.eu-central-1.vpce.amazonaws.com',
      'eu-central-1',
      'https://sts.eu-central-1.amazonaws.com',
    ],
    ['sts.eu-central-1.amazonaws.com', 'eu-west-1', 'sts-host'],
    ['sts.us-east-1.amazonaws.com', 'eu-west-1', 'sts-host'],
    ['evil.example', 'eu-central-1', 'sts-host'],
    ['sts.cn-north-1.amazonaws.com.cn', 'cn-north-1', 'sts-partition'],
    ['sts.us-gov-west-1.amazonaws.com', 'us-gov-west-1', 'sts-partition'],
    ['sts.eu-central-1.amazonaws.com', 'evil', 'sts-region'],
    ['sts.eu-nowhere-9.amazonaws.com', 'eu-nowhere-9', 'sts-region'],
    ['sts.amazonaws.com', 'eu-west-77', 'sts-region'],
  ])('a request to the host %s, signed for %s, goes to %s', (host, region, expected) => {
    expect(target(host, region, fromClient)).toBe(expected)
  })

  test.each([
    ['eu-west-1', 'eu-west-1', 'https://sts.eu-west-1.amazonaws.com'],
    ['ap-southeast-3', 'eu-west-1', 'https://sts.ap-southeast-3.amazonaws.com'],
    ['cn-north-1', 'eu-west-1', 'sts-partition'],
    ['us-gov-west-1', 'eu-west-1', 'sts-partition'],
    ['cn-north-1', 'cn-north-1', 'sts-partition'],
    ['us-gov-west-1', 'us-gov-west-1', 'sts-partition'],
    ['eu-west-1', 'cn-north-1', 'sts-partition'],
    ['evil', 'eu-west-1', 'sts-region'],
  ])('a signature for %s with the global host, in a cluster of %s: %s', (region, homeRegion, expected) => {
    expect(target('sts.amazonaws.com', region, { ...fromClient, homeRegion })).toBe(expected)
  })

  test("a region unknown to this version is accepted if it is the deployment's own", () => {
    const host = 'sts.eu-newest-1.amazonaws.com'
    const given = { ...fromClient, homeRegion: 'eu-newest-1' }
    expect(target(host, 'eu-newest-1', given)).toBe(`https://${host}`)
  })

  test("the client's region overrides a configured endpoint, whose region still sets the partition", () => {
    const given = { ...fromClient, endpoint: 'https://sts.example.com', endpointRegion: 'cn-north-1' }
    expect(target('sts.cn-northwest-1.amazonaws.com.cn', 'cn-northwest-1', given)).toBe(
      'https://sts.cn-northwest-1.amazonaws.com.cn',
    )
    expect(target('sts.eu-west-1.amazonaws.com', 'eu-west-1', given)).toBe('sts-partition')
  })

  test('a signature for another service is rejected', () => {
    expect(target('sts.eu-west-1.amazonaws.com', 'eu-west-1', fromClient, 's3')).toBe('sts-region')
  })

  test('the region of a presigned request comes from its query', () => {
    const host = 'sts.eu-central-1.amazonaws.com'
    const credential = 'AKIAEXAMPLE/20260301/eu-central-1/sts/aws4_request'
    const rebuilt = rebuildStsRequest(request(getInput({ 'X-Amz-Credential': credential }, { host })), {
      ...usualRules,
      ...fromClient,
    })
    expect(rebuilt).toMatchObject({ value: { endpoint: `https://${host}`, host } })
  })
})

describe('a configured STS endpoint', () => {
  const given = { endpoint: 'https://sts.example.com:8443/ignored' }
  test.each([
    ['sts.amazonaws.com', 'https://sts.example.com:8443'],
    ['sts.eu-west-1.amazonaws.com', 'https://sts.example.com:8443'],
    ['sts.example.com:8443', 'https://sts.example.com:8443'],
    ['sts.example.com', 'sts-host'],
    ['sts.example.com:8444', 'sts-host'],
    ['evil.example', 'sts-host'],
  ])('with the configuration %s requests go to %s', (host, expected) => {
    expect(target(host, 'us-east-1', given)).toBe(expected)
  })
})

describe('a signature for a region with the global host', () => {
  const [host, region] = ['sts.amazonaws.com', 'eu-west-1']
  const custom = 'https://sts.example.com'

  test.each<[title: string, given: Partial<StsRequestRules>, region: string, expected: string]>([
    ['an endpoint of the region', { endpoint: custom, endpointRegion: region }, region, custom],
    [
      'an endpoint that names the region',
      { endpoint: 'https://sts.eu-west-1.amazonaws.com' },
      region,
      'https://sts.eu-west-1.amazonaws.com',
    ],
    [
      'an endpoint of another region',
      { endpoint: custom, endpointRegion: 'eu-west-2' },
      region,
      'sts-region',
    ],
    [
      'an endpoint that names another region',
      { endpoint: 'https://sts.us-west-2.amazonaws.com' },
      region,
      'sts-region',
    ],
    ['an endpoint of unknown region', { endpoint: custom }, region, custom],
    [
      'an endpoint of another partition',
      { endpoint: custom, endpointRegion: 'cn-north-1' },
      'cn-north-1',
      'sts-partition',
    ],
    ['no setting', {}, region, 'sts-region'],
    ['no setting, in that region', { homeRegion: region }, region, 'sts-region'],
  ])('%s, signed for $2: $3', (_, given, signedFor, expected) => {
    expect(target(host, signedFor, given)).toBe(expected)
  })

  test('the signed host is kept in the request', () => {
    const input = postInput({ Host: host, Authorization: authorization('host', region) })
    for (const given of [{ regionFromClient: true }, { endpoint: custom, endpointRegion: region }])
      expect(rebuildStsRequest(request(input), { ...usualRules, ...given })).toMatchObject({
        value: { host },
      })
  })

  test('without any setting the request is rejected with the settings to use', () => {
    const input = postInput({ Host: host, Authorization: authorization('host', region) })
    expect(rebuildStsRequest(request(input), usualRules)).toMatchObject({
      fault: {
        code: 'invalid_request',
        text: expect.stringMatching(/use_sts_region_from_client.*sts_endpoint/),
      },
    })
  })
})

describe('hosts that are not an STS endpoint', () => {
  test.each([
    'evil.example',
    'localhost',
    '169.254.169.254',
    'amazonaws.com',
    'sts.com',
    's3.amazonaws.com',
    'ec2.us-east-1.amazonaws.com',
    'evil.sts.amazonaws.com',
    'sts.amazonaws.com.evil.example',
    'stsxamazonaws.com',
    'sts.amazonaws.com:8443',
    'sts.us-east-1.amazonaws.com.cn',
    'sts.us-east-1.amazonaws.eu',
    'sts.us-east-1.vpce.amazonaws.com',
    'sts.cn-north-1.amazonaws.com',
    'sts.us-east-1.evil.amazonaws.com',
    'sts..amazonaws.com',
    'sts.mars-1.amazonaws.com',
    'vpce-1.sts.us-east-1.amazonaws.com',
    'vpce-1.evil.sts.us-east-1.vpce.amazonaws.com',
    'stsfips.us-east-1.amazonaws.com',
  ])('the host %s is rejected', host => {
    expect(target(host, 'us-east-1', {})).toBe('sts-host')
    expect(target(host, 'us-east-1', { regionFromClient: true })).toBe('sts-host')
    expect(target(host, 'us-east-1', { endpoint: 'https://sts.example.com' })).toBe('sts-host')
  })
})
