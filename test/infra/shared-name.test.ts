import { describe, expect, test } from 'vitest'
import { ofType, resourcesOf, validated } from './synthesised.ts'

const certificate = (id: string) => `arn:aws:acm:us-east-1:111122223333:certificate/${id}`
const shared = { name: 'auth.example.net', certificateArn: certificate('3'), zoneId: 'Z0123456789' }
const domain = { name: 'east.example.com', certificateArn: certificate('1') }
const settings = { stage: 'test', domain, sharedAddress: { ...shared, preferred: true } }
const balanced = {
  ...settings,
  front: {
    kind: 'loadBalancer',
    internal: false,
    vpcId: 'vpc-0123456789abcdef0',
    subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
    networks: ['0.0.0.0/0'],
  },
  sharedAddress: { ...shared, preferred: false },
}
const only = (given: Record<string, unknown>, type: string) => {
  const found = ofType(resourcesOf(given), type)
  expect(found, type).toHaveLength(1)
  return found[0]?.[1].Properties
}

describe('a name that leads to whichever cluster serves', () => {
  test('passes the rules that the CDK knows of templates', () => {
    for (const given of [settings, balanced]) expect(validated(given)).toHaveLength(3)
  })

  test.each([settings, balanced])(
    'the cluster is asked at its own address, every ten seconds, and one vain answer is enough',
    given => {
      expect(only(given, 'AWS::Route53::HealthCheck').HealthCheckConfig).toMatchObject({
        Type: 'HTTPS',
        FullyQualifiedDomainName: 'east.example.com',
        Port: 443,
        ResourcePath: '/v1/sys/health',
        RequestInterval: 10,
        FailureThreshold: 1,
        EnableSNI: true,
        Regions: ['us-east-1', 'us-west-2', 'eu-west-1'],
      })
    },
  )

  test.each([
    ['PRIMARY', settings],
    ['SECONDARY', balanced],
  ])('its record is %s, and short-lived', (failover, given) => {
    const [id] = ofType(resourcesOf(given), 'AWS::Route53::HealthCheck')[0] ?? []
    const record = only(given, 'AWS::Route53::RecordSet')
    expect(record).toMatchObject({
      Name: 'auth.example.net',
      HostedZoneId: 'Z0123456789',
      Type: 'CNAME',
      Failover: failover,
      SetIdentifier: 'east.example.com',
      HealthCheckId: { 'Fn::GetAtt': [id, 'HealthCheckId'] },
    })
    expect(Number(record.TTL)).toBeLessThanOrEqual(15)
  })

  test('the front has its certificate: as another domain of the API, which the record leads to', () => {
    const names = ofType(resourcesOf(settings), 'AWS::ApiGatewayV2::DomainName')
    const [id, made] = names.find(([, one]) => one.Properties.DomainName === 'auth.example.net') ?? []
    expect(made?.Properties.DomainNameConfigurations).toMatchObject([{ CertificateArn: certificate('3') }])
    expect(only(settings, 'AWS::Route53::RecordSet').ResourceRecords).toEqual([
      { 'Fn::GetAtt': [id, 'RegionalDomainName'] },
    ])
    const mapped = ofType(resourcesOf(settings), 'AWS::ApiGatewayV2::ApiMapping')
    expect(mapped.map(([, one]) => one.Properties.DomainName)).toContainEqual({ Ref: id })
  })

  test('or as another certificate of the balancer', () => {
    expect(only(balanced, 'AWS::ElasticLoadBalancingV2::ListenerCertificate').Certificates).toEqual([
      { CertificateArn: certificate('3') },
    ])
    expect(JSON.stringify(only(balanced, 'AWS::Route53::RecordSet').ResourceRecords)).toContain('DNSName')
  })

  test('the cluster’s own address is told to it, and to others, as ever', () => {
    const told = ofType(resourcesOf(settings), 'AWS::Lambda::Function').map(
      ([, { Properties }]) => Properties.Environment.Variables.API_ADDRESS,
    )
    expect(new Set(told)).toEqual(new Set(['https://east.example.com']))
  })
})
