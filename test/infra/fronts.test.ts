import { describe, expect, test } from 'vitest'
import { buildBalancerRules } from '../../infra/constructs/fronts/balancer-rules.ts'
import { toRestPaths } from '../../infra/constructs/fronts/rest-paths.ts'
import { apiPathsOfGroup, DEFAULT_ROUTE } from '../../infra/constructs/fronts/served.ts'
import { createRouteFinder } from '../../infra/local/gateway/routes.ts'
import { type AlarmName, alarmPageLink, rowOfAlarm } from '../../infra/watching/alarms.ts'
import { pathsOf } from '../../shared/api/endpoint.ts'
import { endpointGroups } from '../../shared/endpoints/all.ts'
import { ofType, type Resource, resourcesOf, stacksOf, validated } from './synthesised.ts'

const certificate = (id: string) => `arn:aws:acm:us-east-1:111122223333:certificate/${id}`
const domain = { name: 'auth.example.com', certificateArn: certificate('1') }
const linkDomain = { name: 'link.example.com', certificateArn: certificate('2'), zoneId: 'Z0123456789' }
const truststore = { uri: 's3://trusted/clients.pem', version: 'v7' }
const endpoints = ['vpce-0123456789abcdef0', 'vpce-0123456789abcdef1']
const subnets = ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1']

const settings = {
  named: { stage: 'test', domain: { ...domain, zoneId: 'Z0123456789' } },
  'asking for certificates': { stage: 'test', domain: { ...domain, truststore }, linkDomain },
  private: {
    stage: 'test',
    front: { kind: 'privateRestApi', vpcEndpointIds: endpoints },
    linkDomain,
    throttle: { rate: 5, burst: 6 },
  },
  balanced: {
    stage: 'test',
    front: {
      kind: 'loadBalancer',
      vpcId: 'vpc-0123456789abcdef0',
      subnetIds: subnets,
      networks: ['10.0.0.0/8', '192.168.0.0/16'],
    },
    domain: { ...domain, zoneId: 'Z0123456789' },
    linkDomain,
  },
} as const
type Front = keyof typeof settings
const fronts = Object.keys(settings) as Front[]

const all = (front: Front, type: string): Resource[] =>
  ofType(resourcesOf(settings[front]), type).map(([, one]) => one)
const only = (front: Front, type: string): Resource['Properties'] => {
  const found = all(front, type)
  expect(found, type).toHaveLength(1)
  return found[0]?.Properties
}
/** Returns the definitions of the HTTP APIs, by their titles. */
const apis = (front: Front) =>
  new Map(all(front, 'AWS::ApiGatewayV2::Api').map(({ Properties: { Body } }) => [Body.info.title, Body]))

/** Settings whose resources depend on the front end. */
const more = { dashboard: true, loginProvisionedConcurrency: 3 }

const LINK = '/cloudauth.link.v1.LinkService/{proxy+}'

describe.each(fronts)('the front %s', front => {
  test("passes the CDK's template validation", () => {
    expect(validated(settings[front])).toHaveLength(3)
  })

  test('cannot be reached before audit entries are carried', () => {
    const doors = [
      'AWS::ApiGatewayV2::Stage',
      'AWS::ApiGateway::Stage',
      'AWS::ElasticLoadBalancingV2::Listener',
    ].flatMap(type => all(front, type))
    expect(doors).toHaveLength(front === 'named' ? 1 : 2)
    for (const door of doors)
      expect(door.DependsOn).toContainEqual(expect.stringMatching(/^AuditCarrier.*Subscription/))
  })

  test('has alarms for its 5xx answers', () => {
    const alarms = ofType(resourcesOf(settings[front]), 'AWS::CloudWatch::Alarm').flatMap(([id, one]) => {
      const [name] = /^(?:Server|Link|Balancer)Errors/.exec(id) ?? []
      return name ? [[name, one.Properties.Namespace, one.Properties.MetricName]] : []
    })
    const link = ['LinkErrors', 'AWS/ApiGateway', '5xx']
    expect(alarms).toEqual(
      {
        named: [['ServerErrors', 'AWS/ApiGateway', '5xx']],
        'asking for certificates': [['ServerErrors', 'AWS/ApiGateway', '5xx'], link],
        private: [['ServerErrors', 'AWS/ApiGateway', '5XXError'], link],
        balanced: [
          ['ServerErrors', 'AWS/ApplicationELB', 'HTTPCode_Target_5XX_Count'],
          ['BalancerErrors', 'AWS/ApplicationELB', 'HTTPCode_ELB_5XX_Count'],
          link,
        ],
      }[front],
    )
  })

  test('has alarms with the names and texts of the table', () => {
    const errors = all(front, 'AWS::CloudWatch::Alarm').filter(({ Properties }) =>
      /^cloud-auth-test-(?:Server|Link|Balancer)Errors$/.test(Properties.AlarmName),
    )
    expect(errors).toHaveLength({ named: 1, balanced: 3 }[front as string] ?? 2)
    for (const { Properties } of errors) {
      const name = Properties.AlarmName.replace('cloud-auth-test-', '') as AlarmName
      expect(Properties.AlarmDescription).toBe(
        `${rowOfAlarm(name).description}. What to do: ${alarmPageLink(name)}`,
      )
      expect(Properties).toMatchObject({ Threshold: 10, DatapointsToAlarm: 2, EvaluationPeriods: 3 })
    }
  })

  test('has a dashboard with its alarms and request counts', () => {
    const from = resourcesOf({ ...settings[front], ...more })
    const [[, dashboard] = []] = ofType(from, 'AWS::CloudWatch::Dashboard')
    const parts = dashboard?.Properties.DashboardBody['Fn::Join'][1] as unknown[]
    // the values of intrinsic functions do not matter for this test
    const body = JSON.parse(parts.map(part => (typeof part === 'string' ? part : 'x')).join(''))
    const [states, ...widgets] = body.widgets
    const shown = states.properties.alarms.map((arn: string) => arn.split(':alarm:')[1])
    const there = ofType(from, 'AWS::CloudWatch::Alarm').map(([, one]) => one.Properties.AlarmName)
    expect(shown.toSorted()).toEqual(there.toSorted())
    const { properties } = widgets.find(
      (one: { properties: { title: string } }) => one.properties.title === 'Requests, and their errors',
    )
    const apis = ['AWS/ApiGateway', 'Count', '4xx', '5xx']
    const [namespace, ...counts] = {
      named: apis,
      'asking for certificates': apis,
      private: ['AWS/ApiGateway', 'Count', '4XXError', '5XXError'],
      balanced: [
        'AWS/ApplicationELB',
        'RequestCount',
        'HTTPCode_Target_4XX_Count',
        'HTTPCode_Target_5XX_Count',
      ],
    }[front]
    expect(properties.metrics.map((one: unknown[]) => one.slice(0, 2))).toEqual(
      counts.map(count => [namespace, count]),
    )
  })

  test('routes logins to the provisioned environments', () => {
    const from = resourcesOf({ ...settings[front], ...more })
    const [[alias] = []] = ofType(from, 'AWS::Lambda::Alias')
    const permitted = ofType(from, 'AWS::Lambda::Permission').filter(
      ([, { Properties }]) => Properties.FunctionName?.Ref === alias,
    )
    expect(permitted).toHaveLength(1)
    const led = [
      'AWS::ApiGatewayV2::Api',
      'AWS::ApiGateway::RestApi',
      'AWS::ElasticLoadBalancingV2::TargetGroup',
    ]
      .flatMap(type => ofType(from, type))
      .filter(([, one]) => JSON.stringify(one.Properties).includes(`{"Ref":"${alias}"}`))
    expect(led).toHaveLength(1)
  })

  test('has no function that refers to the front that calls the function', () => {
    const called = /Api|Balancer|Listener|Rest/
    for (const { Properties } of all(front, 'AWS::Lambda::Function'))
      expect(
        JSON.stringify(Properties)
          .match(/"(?:Ref|Fn::GetAtt)":\[?"([^"]+)/g)
          ?.filter(one => called.test(one)) ?? [],
      ).toEqual([])
  })
})

describe('the path of the link', () => {
  test('is in the public HTTP API unless that requires client certificates', () => {
    expect([...apis('named').values()].map(({ paths }) => Object.keys(paths).includes(LINK))).toEqual([true])
  })

  test.each(fronts.filter(one => one !== 'named'))('is a separate API with the front %s', front => {
    const [link, ...others] = [...apis(front)].filter(([title]) => title === 'cloud-auth-test link')
    expect(others).toEqual([])
    expect(Object.keys(link?.[1].paths)).toEqual([LINK])
    expect(link?.[1].servers).toEqual([
      {
        url: 'https://link.example.com',
        'x-amazon-apigateway-endpoint-configuration': { disableExecuteApiEndpoint: true },
      },
    ])
    const clients = [...apis(front)].filter(([title]) => title !== 'cloud-auth-test link')
    for (const [, { paths }] of clients) expect(Object.keys(paths)).not.toContain(LINK)
  })

  test.each(fronts.filter(one => one !== 'named'))('has its own domain and throttle: %s', front => {
    const stage = all(front, 'AWS::ApiGatewayV2::Stage').find(
      ({ Properties }) => Properties.RouteSettings === undefined,
    )
    expect(stage?.Properties.DefaultRouteSettings).toEqual({
      ThrottlingRateLimit: 100,
      ThrottlingBurstLimit: 200,
    })
    const name = all(front, 'AWS::ApiGatewayV2::DomainName').find(
      ({ Properties }) => Properties.DomainName === 'link.example.com',
    )
    expect(name?.Properties).not.toHaveProperty('MutualTlsAuthentication')
    const told = all(front, 'AWS::Lambda::Function').map(
      ({ Properties }) => Properties.Environment.Variables.LINK_ADDRESS,
    )
    expect(new Set(told)).toEqual(new Set(['https://link.example.com']))
  })

  test('bypasses the proxy, and needs no proxy secret', () => {
    const proxy = { secretHashes: ['ab'.repeat(32)] }
    const from = resourcesOf({ ...settings.balanced, proxy, apiAddress: 'https://edge.example.com' })
    const told = ofType(from, 'AWS::Lambda::Function').flatMap(([, { Properties }]) =>
      Properties.Environment.Variables.PROXY_SECRETS ? [Properties.Description] : [],
    )
    expect(told).toContain('cloud-auth: login')
    expect(told).not.toContain('cloud-auth: link')
  })
})

describe('domains', () => {
  test('of the API have a certificate and a DNS record', () => {
    expect(only('named', 'AWS::ApiGatewayV2::DomainName')).toEqual({
      DomainName: 'auth.example.com',
      DomainNameConfigurations: [
        { CertificateArn: certificate('1'), EndpointType: 'REGIONAL', SecurityPolicy: 'TLS_1_2' },
      ],
    })
    expect(only('named', 'AWS::Route53::RecordSet')).toMatchObject({
      Name: 'auth.example.com',
      HostedZoneId: 'Z0123456789',
      Type: 'A',
    })
    expect([...apis('named').values()][0].servers).toBeUndefined()
  })

  test('of an API with client certificates are the only way to reach the API', () => {
    const named = all('asking for certificates', 'AWS::ApiGatewayV2::DomainName').find(
      ({ Properties }) => Properties.DomainName === 'auth.example.com',
    )
    expect(named?.Properties.MutualTlsAuthentication).toEqual({
      TruststoreUri: truststore.uri,
      TruststoreVersion: 'v7',
    })
    expect(apis('asking for certificates').get('cloud-auth-test').servers).toEqual([
      {
        url: 'https://auth.example.com',
        'x-amazon-apigateway-endpoint-configuration': { disableExecuteApiEndpoint: true },
      },
    ])
  })
})

describe('a private REST API', () => {
  const api = () => only('private', 'AWS::ApiGateway::RestApi')

  test('can be reached only through its VPC endpoints', () => {
    expect(api().EndpointConfiguration).toEqual({ Types: ['PRIVATE'], VpcEndpointIds: endpoints })
    expect(api().Policy.Statement).toEqual([
      {
        Effect: 'Allow',
        Principal: '*',
        Action: 'execute-api:Invoke',
        Resource: 'execute-api:/*',
        Condition: { StringEquals: { 'aws:SourceVpce': endpoints } },
      },
    ])
    expect(api().FailOnWarnings).toBe(true)
  })

  test('has a stage named v1 with the throttle', () => {
    expect(only('private', 'AWS::ApiGateway::Stage')).toMatchObject({
      StageName: 'v1',
      MethodSettings: [
        { HttpMethod: '*', ResourcePath: '/*', ThrottlingRateLimit: 5, ThrottlingBurstLimit: 6 },
      ],
    })
  })

  test('is redeployed when its definition or policy changes', () => {
    const idIn = (given: Record<string, unknown>) =>
      ofType(resourcesOf(given), 'AWS::ApiGateway::Deployment').map(([id]) => id)
    const front = { ...settings.private.front, vpcEndpointIds: endpoints.slice(0, 1) }
    expect(idIn(settings.private)).not.toEqual(idIn({ ...settings.private, front }))
    expect(idIn(settings.private)).not.toEqual(idIn({ ...settings.private, clusterName: 'other' }))
  })

  test('answers unknown verbs with 405 and a JSON error', () => {
    const { MISSING_AUTHENTICATION_TOKEN: odd } = api().Body['x-amazon-apigateway-gateway-responses']
    expect(odd.statusCode).toBe(405)
    expect(JSON.parse(odd.responseTemplates['application/json'])).toEqual({
      errors: [expect.stringMatching(/^unsupported operation/)],
    })
  })

  test("stays within a REST API's limits: one path variable per level and 300 resources", () => {
    const paths = Object.keys(api().Body.paths)
    const nodes = new Set(
      paths.flatMap(path => {
        const parts = path.split('/')
        return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
      }),
    )
    expect(nodes.size).toBeLessThan(300)
    const variables = [...nodes].filter(node => node.endsWith('}'))
    const parents = variables.map(node => node.slice(0, node.lastIndexOf('/')))
    expect(parents.filter((one, at) => parents.indexOf(one) !== at)).toEqual([])
  })
})

describe('a load balancer', () => {
  test('is in the given subnets, allows the given networks, and uses TLS with the certificate', () => {
    expect(only('balanced', 'AWS::ElasticLoadBalancingV2::LoadBalancer')).toMatchObject({
      Scheme: 'internal',
      Subnets: subnets,
      Type: 'application',
    })
    expect(
      only('balanced', 'AWS::EC2::SecurityGroup').SecurityGroupIngress.map(
        (one: { CidrIp: string; FromPort: number; ToPort: number }) => [one.CidrIp, one.FromPort, one.ToPort],
      ),
    ).toEqual([
      ['10.0.0.0/8', 443, 443],
      ['192.168.0.0/16', 443, 443],
    ])
    expect(only('balanced', 'AWS::ElasticLoadBalancingV2::Listener')).toMatchObject({
      Port: 443,
      Protocol: 'HTTPS',
      Certificates: [{ CertificateArn: certificate('1') }],
    })
  })

  test("appends the client's address without a port, and drops invalid header names", () => {
    const { LoadBalancerAttributes } = only('balanced', 'AWS::ElasticLoadBalancingV2::LoadBalancer')
    const told = LoadBalancerAttributes.map((one: { Key: string; Value: string }) => [one.Key, one.Value])
    expect(Object.fromEntries(told)).toMatchObject({
      'routing.http.drop_invalid_header_fields.enabled': 'true',
      'routing.http.xff_header_processing.mode': 'append',
      'routing.http.xff_client_port.enabled': 'false',
    })
  })

  test('invokes each function with multi-value headers, after the load balancer got the permission', () => {
    const targets = all('balanced', 'AWS::ElasticLoadBalancingV2::TargetGroup')
    expect(targets.length).toBeGreaterThan(15)
    const permissions = new Map(
      ofType(resourcesOf(settings.balanced), 'AWS::Lambda::Permission').filter(
        ([, { Properties }]) => Properties.Principal === 'elasticloadbalancing.amazonaws.com',
      ),
    )
    expect(permissions.size).toBe(targets.length)
    for (const { Properties, DependsOn = [] } of targets) {
      expect(Properties).toMatchObject({
        TargetType: 'lambda',
        TargetGroupAttributes: [{ Key: 'lambda.multi_value_headers.enabled', Value: 'true' }],
      })
      const before = DependsOn.map(id => permissions.get(id)?.Properties.FunctionName).filter(Boolean)
      expect(before).toEqual(Properties.Targets.map((one: { Id: unknown }) => one.Id))
    }
  })

  test('has fewer rules than a listener allows, with three expressions each, in order', () => {
    const rules = all('balanced', 'AWS::ElasticLoadBalancingV2::ListenerRule').map(one => one.Properties)
    expect(rules.length).toBeLessThan(100)
    expect(rules.map(one => one.Priority)).toEqual(rules.map((_, index) => index + 1))
    for (const { Conditions } of rules) {
      const [{ Field, PathPatternConfig }] = Conditions
      expect(Field).toBe('path-pattern')
      expect(PathPatternConfig.RegexValues.length).toBeLessThanOrEqual(3)
    }
  })

  test('outputs the targets for its domains', () => {
    const { Outputs = {} } = stacksOf(settings.balanced).get('cloud-auth-test-api') ?? { Resources: {} }
    expect(Object.keys(Outputs)).toEqual(expect.arrayContaining(['Target', 'LinkTarget']))
  })
})

describe('the routing of every front', () => {
  const routes = endpointGroups.flatMap(group =>
    apiPathsOfGroup(group).map(path => [path, group.name] as const),
  )
  const rules = buildBalancerRules(routes)
  const balanced = (path: string) =>
    rules.find(({ expressions }) => expressions.some(one => new RegExp(one).test(path)))?.to
  const below = toRestPaths([...routes, ['/v1/{proxy+}', 'fallback'] as const])
  const rest = createRouteFinder(
    [...below].map(([path, functionName]) => ({ key: `ANY ${path}`, functionName })),
  )
  const whole = createRouteFinder([
    ...routes.map(([path, functionName]) => ({ key: `ANY ${path}`, functionName })),
    { key: '$default', functionName: 'fallback' },
  ])

  const rows = endpointGroups.flatMap(group =>
    group.endpoints.flatMap(row =>
      row.unrouted ? [] : pathsOf(row).map(path => ({ group: group.name, path })),
    ),
  )
  test('is tested with more than 100 paths', () => expect(rows.length).toBeGreaterThan(100))

  test.each(rows)('leads $path to $group', ({ group, path }) => {
    const names = ['x', 'login', 'role', 'a-b_1.c']
    for (const mount of ['cloud', 'role', 'x'])
      for (const name of names) {
        const typed = `/v1${path.replace(':mount', mount).replace(/:\w+/g, name)}`
        expect(balanced(typed), typed).toBe(whole('POST', typed))
        expect(rest('POST', typed.replace('/v1', '')), typed).toBe(whole('POST', typed))
      }
    const plain = `/v1${path.replace(':mount', 'cloud').replace(/:\w+/g, 'x')}`
    expect(balanced(plain)).toBe(group)
  })

  test('leads other paths to no rule', () => {
    for (const path of [
      '/v1/auth/cloud',
      '/v1/auth/cloud/roleX',
      '/v2/sys/health',
      '/x/v1/sys/health',
      DEFAULT_ROUTE,
    ])
      expect(balanced(path), path).toBeUndefined()
  })
})
