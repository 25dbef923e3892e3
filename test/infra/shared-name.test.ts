import { describe, expect, test } from 'vitest'
import { servingLogPatterns } from '../../infra/constructs/fronts/shared-name.ts'
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
/** Front ends that Route 53's health checkers cannot reach: inside a VPC, or with client certificates. */
const inside = { ...balanced, front: { ...balanced.front, internal: true, networks: ['10.0.0.0/8'] } }
const truststore = { uri: 's3://trusted/clients.pem' }
const certified = { ...settings, domain: { ...domain, truststore } }
const only = (given: Record<string, unknown>, type: string) => {
  const found = ofType(resourcesOf(given), type)
  expect(found, type).toHaveLength(1)
  return found[0]?.[1].Properties
}

describe('the setting `sharedAddress`', () => {
  test("passes the CDK's template validation", () => {
    for (const given of [settings, inside]) expect(validated(given)).toHaveLength(3)
  })

  test.each([settings, balanced])(
    "checks each cluster at its own address every ten seconds, and two failed checks change the cluster's state",
    given => {
      expect(only(given, 'AWS::Route53::HealthCheck').HealthCheckConfig).toMatchObject({
        Type: 'HTTPS',
        FullyQualifiedDomainName: 'east.example.com',
        Port: 443,
        ResourcePath: '/v1/sys/health',
        RequestInterval: 10,
        FailureThreshold: 2,
        EnableSNI: true,
        Regions: ['us-east-1', 'us-west-2', 'eu-west-1'],
      })
    },
  )

  test.each([
    ['an internal load balancer', inside],
    ['a front with client certificates', certified],
  ])("uses an alarm on the cluster's role for the health check of %s", (_, given) => {
    const [[id, alarm] = []] = ofType(resourcesOf(given), 'AWS::CloudWatch::Alarm').filter(
      ([, one]) => one.Properties.AlarmName === 'cloud-auth-test-NotServing',
    )
    expect(only(given, 'AWS::Route53::HealthCheck').HealthCheckConfig).toEqual({
      Type: 'CLOUDWATCH_METRIC',
      AlarmIdentifier: { Name: { Ref: id }, Region: { Ref: 'AWS::Region' } },
      // a cluster without data counts as not serving
      InsufficientDataHealthStatus: 'Unhealthy',
    })
    // Route 53 accepts only an alarm with one metric of whole minutes and a simple statistic, without M of N;
    // the alarm of the shared name notifies nobody
    expect(alarm?.Properties).toEqual({
      AlarmName: 'cloud-auth-test-NotServing',
      AlarmDescription: expect.any(String),
      Namespace: 'cloud-auth/test',
      MetricName: 'Serves',
      Statistic: 'Minimum',
      Period: 60,
      EvaluationPeriods: 1,
      Threshold: 1,
      ComparisonOperator: 'LessThanThreshold',
      TreatMissingData: 'missing',
    })
    const filters = ofType(resourcesOf(given), 'AWS::Logs::MetricFilter').flatMap(([, { Properties }]) => {
      const [{ MetricName, MetricValue, MetricNamespace }] = Properties.MetricTransformations
      return MetricName === 'Serves' ? [[MetricNamespace, MetricValue, Properties.FilterPattern]] : []
    })
    expect(filters).toEqual(
      Object.entries(servingLogPatterns).map(([value, pattern]) => ['cloud-auth/test', value, pattern]),
    )
  })

  test('creates no role alarm for other fronts', () => {
    const names = ofType(resourcesOf(settings), 'AWS::CloudWatch::Alarm').map(
      ([, one]) => one.Properties.AlarmName,
    )
    expect(names).not.toContain('cloud-auth-test-NotServing')
  })

  test('requires client certificates if the API front requires them', () => {
    const asked = (given: Record<string, unknown>) =>
      ofType(resourcesOf(given), 'AWS::ApiGatewayV2::DomainName').map(
        ([, one]) => one.Properties.MutualTlsAuthentication,
      )
    expect(asked(certified)).toEqual([{ TruststoreUri: truststore.uri }, { TruststoreUri: truststore.uri }])
    expect(asked(settings)).toEqual([undefined, undefined])
  })

  test.each([
    ['PRIMARY', settings],
    ['SECONDARY', balanced],
    ['SECONDARY', inside],
  ])('creates a %s failover record with a short TTL', (failover, given) => {
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

  test('adds a second domain to the API with its certificate, and points the failover record to that domain', () => {
    const names = ofType(resourcesOf(settings), 'AWS::ApiGatewayV2::DomainName')
    const [id, made] = names.find(([, one]) => one.Properties.DomainName === 'auth.example.net') ?? []
    expect(made?.Properties.DomainNameConfigurations).toMatchObject([{ CertificateArn: certificate('3') }])
    expect(only(settings, 'AWS::Route53::RecordSet').ResourceRecords).toEqual([
      { 'Fn::GetAtt': [id, 'RegionalDomainName'] },
    ])
    const mapped = ofType(resourcesOf(settings), 'AWS::ApiGatewayV2::ApiMapping')
    expect(mapped.map(([, one]) => one.Properties.DomainName)).toContainEqual({ Ref: id })
  })

  test('adds a second certificate to a load balancer', () => {
    expect(only(balanced, 'AWS::ElasticLoadBalancingV2::ListenerCertificate').Certificates).toEqual([
      { CertificateArn: certificate('3') },
    ])
    expect(JSON.stringify(only(balanced, 'AWS::Route53::RecordSet').ResourceRecords)).toContain('DNSName')
  })

  test("keeps the cluster's own address in its functions", () => {
    const told = ofType(resourcesOf(settings), 'AWS::Lambda::Function').map(
      ([, { Properties }]) => Properties.Environment.Variables.API_ADDRESS,
    )
    expect(new Set(told)).toEqual(new Set(['https://east.example.com']))
  })
})
