import { beforeAll, describe, expect, test } from 'vitest'
import { webPathRules } from '../../infra/constructs/web-paths.ts'
import { readSettings } from '../../infra/settings.ts'
import { pathsOf } from '../../shared/api/endpoint.ts'
import { endpointGroups } from '../../shared/endpoints/all.ts'
import { ofType, type Resource, resourcesOf, stacksOf, type Template, validated } from './synthesised.ts'

const webLogins = {
  certificateArn: 'arn:aws:acm:us-east-1:111122223333:certificate/0f0f-11',
  originSecretArn: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:origin-AbCdEf',
}
const settings = {
  stage: 'test',
  apiAddress: 'https://auth.example.com',
  proxy: { secretHashes: ['ab'.repeat(32)] },
  webLogins,
}
/** All optional settings, with restored tables. */
const further = {
  ...settings,
  restored: { dataTable: 'restored-data', clusterTable: 'restored-cluster' },
  webLogins: {
    ...webLogins,
    webAclArn: 'arn:aws:wafv2:us-east-1:111122223333:global/webacl/logins/0f0f-22',
    concurrency: 128,
    environments: 20,
    rateLimit: 2000,
  },
}

let resources: Map<string, Resource>
let plain: Map<string, Resource>
beforeAll(() => {
  resources = resourcesOf(settings)
  plain = resourcesOf({ ...settings, webLogins: undefined })
})

const only = (type: string, from = resources): Resource => {
  const [[, one] = [], ...others] = ofType(from, type)
  if (!one || others.length > 0) throw new Error(`${others.length + 1} of ${type}`)
  return one
}
const distribution = (from = resources) =>
  only('AWS::CloudFront::Distribution', from).Properties.DistributionConfig
const revision = (from = resources) => only('AWS::Lambda::WebFunctionRevision', from).Properties.ServiceConfig
const endpoint = (from = resources) => only('AWS::Lambda::WebFunctionEndpoint', from).Properties

/** Returns the logical IDs that a template's resources refer to. */
const referencesIn = ({ Resources }: Pick<Template, 'Resources'>): string[] =>
  [...JSON.stringify(Resources).matchAll(/\{"(?:Ref":"|Fn::GetAtt":\[")([^":]+)"/g)].map(
    ([, name = '']) => name,
  )

describe('without `webLogins`', () => {
  test('there is no Web Function, distribution, bucket or version', () => {
    const added = [...plain.values()]
      .map(one => one.Type)
      .filter(type => /WebFunction|CloudFront|S3|Version|Alias/.test(type))
    expect(added).toEqual([])
  })

  test('all resources stay unchanged when `webLogins` is added', () => {
    for (const [id, resource] of plain) expect(resources.get(id), id).toEqual(resource)
  })
})

describe('the Web Function of logins', () => {
  test('runs the program of the login Lambda with its variables and grants', () => {
    const lambda = ofType(resources, 'AWS::Lambda::Function').find(
      ([, one]) => one.Properties.Description === 'cloud-auth: login',
    )?.[1].Properties
    const { AWS_LAMBDA_NODEJS_ENTRYPOINT: entry, ...variables } = revision().EnvironmentVariables
    expect(entry).toBe('index.mjs')
    expect(variables).toEqual(lambda.Environment.Variables)
    expect(grantsOf(revision().ExecutionRoleArn)).toEqual(grantsOf(lambda.Role))
    // the Web Function's code is a copy of the Lambda's asset
    expect(only('Custom::S3ObjectCopy').Properties.SourceObjectKey).toBe(lambda.Code.S3Key)
  })

  /** Returns the grants of a role, except the grants for its logs. */
  function grantsOf(arn: { 'Fn::GetAtt': [string, string] }): unknown[] {
    return ofType(resources, 'AWS::IAM::Policy')
      .filter(([, one]) =>
        one.Properties.Roles.some((role: { Ref: string }) => role.Ref === arn['Fn::GetAtt'][0]),
      )
      .flatMap(([, one]) => one.Properties.PolicyDocument.Statement as { Action: unknown }[])
      .filter(one => !JSON.stringify(one.Action).includes('logs:'))
  }

  test("runs Node 24 with the given concurrency, and a timeout slightly above the program's", () => {
    expect(only('AWS::Lambda::WebFunctionRevision').Properties.BuildConfig.RuntimeConfig).toEqual({
      Runtime: 'nodejs24.x',
    })
    expect(revision()).toMatchObject({ MaxConcurrencyPerEnvironment: 64, TimeoutSeconds: 20 })
    expect(endpoint()).toMatchObject({
      EndpointType: 'HomeRegion',
      AuthType: 'ApplicationManaged',
      ThrottleConfig: { RateLimit: 500 },
    })
    expect(endpoint().ScalingConfig).toBeUndefined()
    const larger = resourcesOf(further)
    expect(revision(larger).MaxConcurrencyPerEnvironment).toBe(128)
    expect(endpoint(larger)).toMatchObject({
      ScalingConfig: { MaxEnvironments: 20 },
      ThrottleConfig: { RateLimit: 2000 },
    })
    expect(distribution(larger).WebACLId).toBe(further.webLogins.webAclArn)
  })

  test('has the region in its name, because the name is unique in an account', () => {
    expect(only('AWS::Lambda::WebFunction').Properties.FunctionName).toEqual({
      'Fn::Join': ['', ['cloud-auth-test-login-', { Ref: 'AWS::Region' }]],
    })
  })

  test('logs to the group of the audit carrier, by way of a group with retention', () => {
    const { LogGroup, ApplicationLogLevel } = revision().TelemetryConfig.LoggingConfig
    const carried = ofType(resources, 'AWS::Logs::SubscriptionFilter').map(
      ([, one]) => one.Properties.LogGroupName,
    )
    expect(carried).toEqual([LogGroup])
    expect(ApplicationLogLevel).toBe('INFO')
    const local = ofType(resources, 'AWS::Logs::LogGroup').find(([id]) => id.includes('LocalLogs'))
    expect(local?.[1].Properties).toEqual({
      LogGroupName: { 'Fn::Join': ['', [LogGroup, '.local']] },
      RetentionInDays: 30,
    })
  })

  test('has its code in a private versioned bucket that Lambda can read', () => {
    const bucket = only('AWS::S3::Bucket').Properties
    expect(bucket).toMatchObject({
      VersioningConfiguration: { Status: 'Enabled' },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
    })
    expect(JSON.stringify(bucket.BucketEncryption)).toContain('AES256')
    expect(JSON.stringify(only('AWS::S3::BucketPolicy').Properties)).toContain('lambda.amazonaws.com')
  })
})

describe('the distribution', () => {
  test('serves the name in apiAddress by HTTPS only', () => {
    expect(distribution()).toMatchObject({
      Aliases: ['auth.example.com'],
      ViewerCertificate: {
        AcmCertificateArn: webLogins.certificateArn,
        MinimumProtocolVersion: 'TLSv1.2_2021',
      },
    })
    const { Outputs } = stacksOf(settings).get('cloud-auth-test-api') ?? {}
    expect(Outputs).toHaveProperty('Distribution')
  })

  test('has the API and the Web Function as origins, and sends each origin the secret from Secrets Manager', () => {
    const [api, web, ...others] = distribution().Origins
    expect(others).toEqual([])
    expect(JSON.stringify(api.DomainName)).toContain('"Api","ApiEndpoint"')
    expect(web.DomainName).toEqual({
      'Fn::GetAtt': [expect.stringContaining('WebLoginsFunctionEndpoint'), 'DomainName'],
    })
    for (const { OriginCustomHeaders, CustomOriginConfig } of [api, web]) {
      expect(OriginCustomHeaders).toEqual([
        {
          HeaderName: 'X-Origin-Secret',
          HeaderValue: `{{resolve:secretsmanager:${webLogins.originSecretArn}:SecretString:::}}`,
        },
      ])
      expect(CustomOriginConfig).toMatchObject({ OriginProtocolPolicy: 'https-only', OriginReadTimeout: 30 })
    }
  })

  test('forwards all seven verbs and headers except Host, and caches nothing', () => {
    const { CacheBehaviors, DefaultCacheBehavior, CustomErrorResponses } = distribution()
    for (const one of [...CacheBehaviors, DefaultCacheBehavior]) {
      expect(one).toMatchObject({
        // the managed policies CachingDisabled and AllViewerExceptHostHeader
        CachePolicyId: '4135ea2d-6df8-44a3-9df3-4b5a84be39ad',
        OriginRequestPolicyId: 'b689b0a8-53d0-40ab-baf2-68738e2966ac',
        ViewerProtocolPolicy: 'https-only',
      })
      // CloudFront offers fixed sets of methods, and no set contains LIST
      expect(one.AllowedMethods.toSorted()).toEqual(
        ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'].toSorted(),
      )
    }
    expect(CustomErrorResponses.map((one: { ErrorCode: number }) => one.ErrorCode)).toEqual([
      400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504,
    ])
    for (const { ErrorCachingMinTTL } of CustomErrorResponses) expect(ErrorCachingMinTTL).toBe(0)
  })

  /** Reports whether a path matches a pattern of the Web Function, when patterns are tried in order. */
  const toWeb = (path: string): boolean =>
    distribution()
      .CacheBehaviors.map((one: { PathPattern: string; TargetOriginId: string }) => [
        new RegExp(`^${one.PathPattern.replaceAll('*', '.*')}$`),
        one.TargetOriginId === distribution().Origins[1].Id,
      ])
      .find(([pattern]: [RegExp, boolean]) => pattern.test(path))?.[1] ?? false

  const rows = endpointGroups.flatMap(group =>
    group.endpoints.flatMap(row => pathsOf(row).map(path => ({ group: group.name, path: `/v1${path}` }))),
  )

  test('routes logins to the Web Function and every other path to the API, for any names', () => {
    expect(webPathRules.map(([pattern]) => pattern)).toEqual(
      distribution().CacheBehaviors.map((one: { PathPattern: string }) => one.PathPattern),
    )
    for (const { group, path } of rows)
      for (const name of ['x', 'login', 'auth'])
        expect(toWeb(path.replaceAll(/:\w+/g, name)), `${path} of ${name}`).toBe(group === 'login')
    expect(toWeb('/v1/auth/cloud/login')).toBe(true)
    expect(toWeb('/cloudauth.link.v1.LinkService/Entries')).toBe(false)
  })
})

describe('a deployment with webLogins', () => {
  test("passes the CDK's template validation", () => {
    expect(() => validated(further)).not.toThrow()
  })

  test.each([
    ['own tables', settings],
    ['restored tables', further],
  ])('refers only to resources of the same template: %s', (_, given) => {
    const template = stacksOf(given).get('cloud-auth-test-api') ?? { Resources: {} }
    const known = Object.keys(template.Resources)
    const parameters = referencesIn(template).filter(
      name => !name.startsWith('AWS::') && !known.includes(name),
    )
    expect(parameters).toEqual([])
    expect(referencesIn(template).length).toBeGreaterThan(100)
  })
})

describe('provisioned concurrency of the login function', () => {
  const provisioned = (from: Map<string, Resource>) => only('AWS::Lambda::Alias', from)

  test('is on an alias of the function, which the API may invoke', () => {
    const from = resourcesOf({ stage: 'test', loginProvisionedConcurrency: 7 })
    expect(provisioned(from).Properties).toMatchObject({
      Name: 'provisioned',
      ProvisionedConcurrencyConfig: { ProvisionedConcurrentExecutions: 7 },
    })
    const [[alias = '']] = ofType(from, 'AWS::Lambda::Alias') as [[string, Resource]]
    const integrations = only('AWS::ApiGatewayV2::Api', from).Properties.Body.components[
      'x-amazon-apigateway-integrations'
    ]
    expect(JSON.stringify(integrations.login.uri)).toContain(`{"Ref":"${alias}"}`)
    const permissions = ofType(from, 'AWS::Lambda::Permission').map(([, one]) => one.Properties.FunctionName)
    expect(permissions).toContainEqual({ Ref: alias })
  })

  test('is set only for the login function', () => {
    const from = resourcesOf({ stage: 'test', loginProvisionedConcurrency: 7 })
    const versions = ofType(from, 'AWS::Lambda::Version').map(([, one]) => one.Properties.FunctionName.Ref)
    expect(versions).toEqual([expect.stringMatching(/^loginFunction/)])
  })
})

describe('contradictory settings are rejected:', () => {
  const refused = (given: Record<string, unknown>, why: RegExp) =>
    expect(() => readSettings({ stage: 'test', ...given })).toThrow(why)
  const { apiAddress, proxy } = settings
  const domain = {
    name: 'api.example.com',
    certificateArn: 'arn:aws:acm:us-east-1:111122223333:certificate/1-2',
  }

  test.each([
    ['webLogins without a proxy', { apiAddress, webLogins }, /webLogins: needs apiAddress/],
    ['webLogins without an address', { webLogins }, /webLogins: needs apiAddress/],
    [
      'webLogins with a closed default endpoint',
      { apiAddress, proxy, webLogins, closeDefaultEndpoint: true },
      /webLogins: cannot be used with closeDefaultEndpoint/,
    ],
    [
      'webLogins with a private front',
      {
        proxy,
        webLogins,
        apiAddress,
        front: { kind: 'privateRestApi', vpcEndpointIds: ['vpce-0123456789abcdef0'] },
      },
      /webLogins: needs the public HTTP API as front/,
    ],
    [
      'webLogins with a load balancer',
      {
        proxy,
        webLogins,
        apiAddress,
        domain,
        front: {
          kind: 'loadBalancer',
          vpcId: 'vpc-0123456789abcdef0',
          subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
          networks: ['10.0.0.0/8'],
        },
      },
      /webLogins: needs the public HTTP API as front/,
    ],
    [
      'webLogins with a domain of the API',
      { proxy, webLogins, apiAddress, domain },
      /webLogins: cannot be used with domain/,
    ],
    [
      'webLogins with client certificates',
      {
        proxy,
        webLogins,
        apiAddress,
        domain: { ...domain, truststore: { uri: 's3://trusted/clients.pem' } },
      },
      /webLogins: cannot be used with domain/,
    ],
    [
      'webLogins with provisioned concurrency',
      { apiAddress, proxy, webLogins, loginProvisionedConcurrency: 5 },
      /webLogins: cannot be used with loginProvisionedConcurrency/,
    ],
    [
      'more provisioned than reserved concurrency',
      { loginConcurrency: 5, loginProvisionedConcurrency: 6 },
      /must be at most loginConcurrency/,
    ],
    [
      'more provisioned concurrency than the account allows',
      { loginProvisionedConcurrency: 901 },
      /accountConcurrency minus 100/,
    ],
  ])('%s', (_, given, why) => refused(given, why))

  test.each([
    [
      { certificateArn: 'arn:aws:acm:eu-west-1:111122223333:certificate/0f0f' },
      /certificateArn: .*us-east-1/,
    ],
    [{ originSecretArn: 'arn:aws:ssm:eu-west-1:111122223333:parameter/x' }, /originSecretArn/],
    [{ webAclArn: 'arn:aws:wafv2:eu-west-1:111122223333:regional/webacl/a/b' }, /webAclArn/],
    [{ concurrency: 129 }, /concurrency/],
    [{ concurrency: 0 }, /concurrency/],
    [{ environments: 1 }, /environments/],
    [{ rateLimit: 150 }, /rateLimit: must be a multiple of 100/],
    [{ rateLimit: 0 }, /rateLimit/],
    [{ secret: 'x' }, /secret/],
  ])('%j', (changed, why) => refused({ apiAddress, proxy, webLogins: { ...webLogins, ...changed } }, why))
})
