import { describe, expect, test } from 'vitest'
import { readSettings } from '../../../infra/settings.ts'
import { licenceKey, licenceText } from '../../builders/licence.ts'

const certificateArn = 'arn:aws:acm:us-east-1:111122223333:certificate/1-2'
const domain = { name: 'auth.example.com', certificateArn }
const linkDomain = { name: 'link.example.com', certificateArn }
const truststore = { uri: 's3://trusted/clients.pem' }
const privateFront = { kind: 'privateRestApi', vpcEndpointIds: ['vpce-0123456789abcdef0'] }
const balancer = {
  kind: 'loadBalancer',
  vpcId: 'vpc-0123456789abcdef0',
  subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
  networks: ['10.0.0.0/8'],
}
const sharedAddress = {
  name: 'auth.example.net',
  certificateArn,
  zoneId: 'Z0123',
  preferred: true,
}
const drill = { schedule: 'rate(7 days)', peer: 'https://west.example.com', policy: 'drill' }
const key = licenceKey()
const licensed = { license: licenceText(key.privateKey), licensePublicKey: key.publicKey }

const read = (given: object) => readSettings({ stage: 'prod', ...given })
const faultsOf = (given: object): string[] => {
  try {
    read(given)
    return []
  } catch (error) {
    return (error as Error).message
      .split('\n')
      .slice(1)
      .map(line => line.trim())
  }
}

describe("settings of the deployment's front ends", () => {
  test.each([
    ['the public HTTP API', {}],
    ['with a name', { domain: { ...domain, zoneId: 'Z0123' } }],
    ['with a name that is the only way in', { domain, closeDefaultEndpoint: true }],
    ['that asks for certificates', { domain: { ...domain, truststore }, linkDomain, ...licensed }],
    [
      'with a proxy before its name',
      { domain, proxy: { secretHashes: ['ab'.repeat(32)] }, apiAddress: 'https://x.example' },
    ],
    ['private', { front: privateFront, linkDomain, ...licensed }],
    ['private, without a set', { front: privateFront }],
    ['that shares a name', { domain, sharedAddress, ...licensed }],
    [
      'that asks for certificates, and shares a name',
      { domain: { ...domain, truststore }, linkDomain, sharedAddress, ...licensed },
    ],
    ['an internal load balancer that shares a name', { front: balancer, domain, linkDomain, sharedAddress }],
    ['a load balancer', { front: balancer, domain, linkDomain, ...licensed }],
    [
      'a public load balancer, and drills',
      { front: { ...balancer, internal: false }, domain, linkDomain, drill },
    ],
  ])('%s', (_, given) => {
    expect(faultsOf(given)).toEqual([])
  })

  test('apiAddress defaults to the name of domain, unless a proxy is set', () => {
    expect(read({ domain }).apiAddress).toBe('https://auth.example.com')
    const proxied = { domain, proxy: { secretHashes: ['ab'.repeat(32)] } }
    expect(read({ ...proxied, apiAddress: 'https://x.example' }).apiAddress).toBe('https://x.example')
    expect(faultsOf(proxied)).toEqual([expect.stringMatching(/^proxy: needs apiAddress/)])
    expect(faultsOf({ domain, apiAddress: 'https://x.example' })).toEqual([
      expect.stringMatching(/^apiAddress: must be https:\/\/auth\.example\.com/),
    ])
  })

  test('linkAddress defaults to the name of linkDomain', () => {
    expect(read({ front: privateFront, linkDomain }).linkAddress).toBe('https://link.example.com')
    expect(read({ domain }).linkAddress).toBeUndefined()
  })
})

describe('settings that contradict the front are rejected with a text', () => {
  test.each<[object, string]>([
    [{ front: { kind: 'tcp' } }, 'front.kind: '],
    [{ front: { ...privateFront, vpcEndpointIds: [] } }, 'front.vpcEndpointIds: must have 1 or more IDs'],
    [
      { front: { ...privateFront, vpcEndpointIds: ['vpc-0123456789'] } },
      'front.vpcEndpointIds.0: must be an id',
    ],
    [{ front: { ...privateFront, vpcId: 'vpc-0123456789' } }, 'front.vpcId: '],
    [
      { front: { ...balancer, subnetIds: [balancer.subnetIds[0]] }, domain },
      'front.subnetIds: must have 2 or more IDs',
    ],
    [
      { front: { ...balancer, subnetIds: [balancer.subnetIds[0], balancer.subnetIds[0]] }, domain },
      'front.subnetIds: must not name an ID twice',
    ],
    [{ front: { ...balancer, networks: [] }, domain }, 'front.networks: must name at least one network'],
    [{ front: { ...balancer, networks: ['everybody'] }, domain }, 'front.networks.0: must be a CIDR block'],
    [{ front: balancer }, 'domain: is required for a load balancer'],
    [
      { front: balancer, domain: { ...domain, truststore } },
      'domain: truststore cannot be used with a load balancer',
    ],
    [{ front: balancer, domain, throttle: { rate: 1, burst: 1 } }, 'throttle: has no effect'],
    [{ front: balancer, domain, healthThrottle: { rate: 1, burst: 1 } }, 'healthThrottle: has no effect'],
    [{ front: balancer, domain, closeDefaultEndpoint: true }, 'closeDefaultEndpoint: has no effect'],
    [{ front: balancer, domain, linkThrottle: { rate: 1, burst: 1 } }, 'linkThrottle: has no effect'],
    [{ front: balancer, domain, ...licensed }, 'linkDomain: is required with a licence'],
    [{ front: balancer, domain, drill }, 'drill: needs a front that is reachable from the internet'],
    [{ front: privateFront, domain }, 'domain: has no effect'],
    [
      { front: privateFront, console: {} },
      'console: has no effect: a private REST API serves only paths below /v1',
    ],
    [{ front: privateFront, healthThrottle: { rate: 1, burst: 1 } }, 'healthThrottle: has no effect'],
    [{ front: privateFront, ...licensed }, 'linkDomain: is required with a licence'],
    [{ domain: { ...domain, truststore }, ...licensed }, 'linkDomain: is required with a licence'],
    [{ linkDomain }, 'linkDomain: must be left out'],
    [{ sharedAddress }, 'sharedAddress: needs domain or apiAddress'],
    [
      { sharedAddress: { ...sharedAddress, name: domain.name }, domain },
      'sharedAddress: needs domain or api',
    ],
    [{ domain, sharedAddress: { ...sharedAddress, zoneId: undefined } }, 'sharedAddress.zoneId: '],
    [
      { front: privateFront, apiAddress: 'https://x.example', sharedAddress },
      'sharedAddress: cannot be used with a private REST API',
    ],
    [
      { apiAddress: 'https://x.example', proxy: { secretHashes: ['ab'.repeat(32)] }, sharedAddress },
      'sharedAddress: cannot be used with a private REST API',
    ],
    [
      { domain: { ...domain, truststore }, linkDomain: domain },
      'linkDomain: must not have the same name as domain',
    ],
    [{ domain: { ...domain, name: 'https://auth.example.com' } }, 'domain.name: must be a DNS name'],
    [
      { domain: { ...domain, certificateArn: 'arn:aws:iam::111122223333:role/x' } },
      'domain.certificateArn: must be',
    ],
    [
      { domain: { ...domain, zoneId: 'example.com' } },
      'domain.zoneId: must be the id of a Route 53 hosted zone',
    ],
    [{ domain: { ...domain, truststore: { uri: 'https://x/y.pem' } } }, 'domain.truststore.uri: must be'],
  ])('%j: %s', (given, fault) => {
    expect(
      faultsOf(given).filter(one => one.startsWith(fault)),
      faultsOf(given).join('\n'),
    ).toHaveLength(1)
  })
})
