import { beforeAll, describe, expect, test } from 'vitest'
import { functionNames, usesOfFunction } from '../../infra/build/functions.ts'
import { routeFinder } from '../../infra/local/gateway.ts'
import { readSettings } from '../../infra/settings.ts'
import { pathsOf, type Use } from '../../shared/api/endpoint.ts'
import { groups } from '../../shared/api/endpoints/all.ts'
import { ofType, type Resource, resourcesOf } from './synthesised.ts'

let resources: Map<string, Resource>
let kept: Map<string, Resource>
beforeAll(async () => {
  resources = await resourcesOf({
    stage: 'test',
    deletionProtection: false,
    throttle: { rate: 50, burst: 100 },
    loginConcurrency: 20,
  })
  kept = await resourcesOf()
})

const functions = () =>
  new Map(
    ofType(resources, 'AWS::Lambda::Function').map(([id, one]) => [
      String(one.Properties.Description).replace('cloud-auth: ', ''),
      { id, ...one },
    ]),
  )

describe('tables and key: architecture 4, decision 8', () => {
  test('two tables on demand, with stream, native expiry, point-in-time recovery and encryption', () => {
    const tables = ofType(resources, 'AWS::DynamoDB::GlobalTable')
    expect(tables).toHaveLength(2)
    for (const [, { Properties }] of tables) {
      expect(Properties).toMatchObject({
        BillingMode: 'PAY_PER_REQUEST',
        StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
        TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
        SSESpecification: { SSEEnabled: true, SSEType: 'KMS' },
      })
      expect(Properties.Replicas[0].PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled).toBe(true)
    }
  })

  test('the index that tidy reads is on the data table only, and carries what a conditional deletion needs', () => {
    const indexes = ofType(resources, 'AWS::DynamoDB::GlobalTable').flatMap(([id, { Properties }]) =>
      (Properties.GlobalSecondaryIndexes ?? []).map((index: unknown) => [id.startsWith('Data'), index]),
    )
    expect(indexes).toEqual([
      [
        true,
        expect.objectContaining({
          IndexName: 'expiry',
          Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['rev'] },
        }),
      ],
    ])
  })

  test('deletion protection is a setting; it is on unless switched off', () => {
    const flags = (from: Map<string, Resource>) =>
      ofType(from, 'AWS::DynamoDB::GlobalTable').map(([, one]) => [
        one.DeletionPolicy,
        one.Properties.Replicas[0].DeletionProtectionEnabled,
      ])
    expect(flags(kept)).toEqual([
      ['Retain', true],
      ['Retain', true],
    ])
    expect(flags(resources)).toEqual([
      ['Delete', false],
      ['Delete', false],
    ])
  })

  test('the key rotates and stays', () => {
    const [[, key] = []] = ofType(kept, 'AWS::KMS::Key')
    expect(key).toMatchObject({ DeletionPolicy: 'Retain', Properties: { EnableKeyRotation: true } })
  })
})

describe('one Lambda for each group of endpoints and each worker: architecture 9', () => {
  test('every folder of functions/ is deployed, and nothing else', () => {
    expect([...functions().keys()].sort()).toEqual(functionNames())
    expect(functionNames()).toEqual(
      expect.arrayContaining([...groups.map(group => group.name), 'fallback', 'on-tidy-schedule']),
    )
  })

  test('nodejs24.x on arm64, a log group with retention each, no layer', () => {
    for (const { Properties } of functions().values()) {
      expect(Properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
      })
      expect(Properties.Layers).toBeUndefined()
      const logs = resources.get(Properties.LoggingConfig.LogGroup.Ref)
      expect(logs?.Properties.RetentionInDays).toBe(30)
    }
  })

  test('settings reach what they are about', async () => {
    expect(functions().get('login')?.Properties).toMatchObject({
      ReservedConcurrentExecutions: 20,
      Timeout: 15,
    })
    const [[, stage] = []] = ofType(resources, 'AWS::ApiGatewayV2::Stage')
    expect(stage?.Properties.DefaultRouteSettings).toEqual({
      ThrottlingRateLimit: 50,
      ThrottlingBurstLimit: 100,
    })
    const other = await resourcesOf({
      stage: 'other',
      legacySignatures: true,
      logRetentionDays: 7,
      auditRetentionDays: 731,
      memory: 512,
      apiAddress: 'https://auth.example.com',
      clusterName: 'east',
      assumableRoleArns: ['arn:aws:iam::*:role/login/*'],
    })
    const login = ofType(other, 'AWS::Lambda::Function').find(
      ([, one]) => one.Properties.Description === 'cloud-auth: login',
    )?.[1]
    expect(login?.Properties).toMatchObject({
      MemorySize: 512,
      Environment: {
        Variables: {
          LEGACY_SIGNATURES: 'true',
          CLUSTER_NAME: 'east',
          API_ADDRESS: 'https://auth.example.com',
          ASSUMABLE_ROLES: 'arn:aws:iam::*:role/login/*',
        },
      },
    })
    const retentions = new Set(
      ofType(other, 'AWS::Logs::LogGroup').map(([, one]) => one.Properties.RetentionInDays),
    )
    expect(retentions).toEqual(new Set([7, 731]))
  })
})

/** What each use may come to, written down a second time: a grant that is not here is one too many. */
const actions: Record<Use, readonly string[]> = {
  read: ['dynamodb:BatchGetItem', 'dynamodb:Query', 'kms:Decrypt'],
  spend: ['dynamodb:DeleteItem', 'dynamodb:PutItem'],
  write: ['dynamodb:ConditionCheckItem', 'dynamodb:DeleteItem', 'dynamodb:PutItem'],
  scan: ['dynamodb:Scan'],
  sweep: ['dynamodb:Query'],
  instances: ['ec2:DescribeInstances', 'sts:AssumeRole'],
  principals: ['iam:GetInstanceProfile', 'iam:GetRole', 'iam:GetUser', 'sts:AssumeRole'],
  'caller-identity': [],
  'access-keys': [],
  background: ['lambda:InvokeFunction'],
  genesis: ['kms:GenerateDataKey'],
  'audit-log': ['logs:CreateLogStream', 'logs:PutLogEvents'],
}
const OWN_LOG = ['logs:CreateLogStream', 'logs:PutLogEvents']

interface Statement {
  Action: string | string[]
  Resource: unknown
  Condition?: unknown
}

function statementsOf(name: string): Statement[] {
  const role = functions().get(name)?.Properties.Role['Fn::GetAtt'][0]
  const policies = ofType(resources, 'AWS::IAM::Policy').filter(([, one]) =>
    one.Properties.Roles.some((ref: { Ref: string }) => ref.Ref === role),
  )
  return policies.flatMap(([, one]) => one.Properties.PolicyDocument.Statement)
}

describe('grants come from the table: architecture 8, style 5.1', () => {
  test.each(functionNames())('%s may do what its uses need, and nothing else', name => {
    const granted = new Set(statementsOf(name).flatMap(one => one.Action))
    const expected = new Set([...usesOfFunction(name).flatMap(use => actions[use]), ...OWN_LOG])
    expect(granted).toEqual(expected)
    const role = resources.get(functions().get(name)?.Properties.Role['Fn::GetAtt'][0])
    expect(role?.Properties.ManagedPolicyArns, 'no managed policy').toBeUndefined()
  })

  test('only calls that know no narrower resource are granted on everything', () => {
    const wide = functionNames().flatMap(name =>
      statementsOf(name)
        .filter(one => one.Resource === '*')
        .flatMap(one => one.Action),
    )
    expect(new Set(wide)).toEqual(
      new Set(['ec2:DescribeInstances', 'iam:GetInstanceProfile', 'iam:GetRole', 'iam:GetUser']),
    )
  })

  test('roles are assumed within the pattern of the settings, keys are opened for a keyring only', () => {
    const statements = statementsOf('login')
    const about = (action: string) => statements.find(one => [one.Action].flat().includes(action))
    expect(about('sts:AssumeRole')?.Resource).toBe('arn:*:iam::*:role/cloud-auth-*')
    expect(about('kms:Decrypt')?.Condition).toEqual({
      'ForAllValues:StringEquals': { 'kms:EncryptionContextKeys': ['keyring'] },
    })
  })

  test('who only takes uses of tokens writes to nothing but tokens', () => {
    const writing = statementsOf('fallback').filter(one => [one.Action].flat().includes('dynamodb:PutItem'))
    expect(writing.map(one => one.Condition)).toEqual([
      { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['token#*'] } },
    ])
  })

  test.each(['login', 'roles', 'system'])('%s reaches no other Lambda and makes no keys', name => {
    const granted = statementsOf(name).flatMap(one => one.Action)
    expect(granted).not.toContain('lambda:InvokeFunction')
    expect(granted).not.toContain('kms:GenerateDataKey')
  })
})

describe('routes and table agree: architecture 9 "Routing"', () => {
  const routes = () =>
    ofType(resources, 'AWS::ApiGatewayV2::Route').map(([, { Properties }]) => {
      const integration = resources.get(Properties.Target['Fn::Join'][1][1].Ref)
      const lambda = integration?.Properties.IntegrationUri['Fn::GetAtt'][0]
      const name = [...functions()].find(([, one]) => one.id === lambda)?.[0] ?? 'none'
      return { key: String(Properties.RouteKey), functionName: name }
    })

  const example = (path: string) => `/v1${path.replace(':mount', 'cloud').replace(/:\w+/g, 'x')}`
  const rows = groups.flatMap(group =>
    group.endpoints.flatMap(row =>
      pathsOf(row).map(path => ({ group: group.name, path, unrouted: row.unrouted })),
    ),
  )

  test.each(rows.filter(row => !row.unrouted))('$path reaches $group', ({ group, path }) => {
    const find = routeFinder(routes())
    const at = (rawPath: string) => find({ rawPath, requestContext: { http: { method: 'POST' } } })
    expect(at(example(path))).toBe(group)
  })

  test('each route key leads to a path of its group, and `$default` to the fallback', () => {
    for (const { key, functionName } of routes()) {
      if (key === '$default') {
        expect(functionName).toBe('fallback')
        continue
      }
      const prefix = key
        .replace('ANY /v1', '')
        .replace(/\{proxy\+\}$/, '')
        .replace(/\/$/, '')
        .replace(/\{(\w+)\}/g, ':$1')
      const own = rows.filter(row => row.group === functionName && row.path.startsWith(prefix))
      expect(own, key).not.toEqual([])
    }
    expect(routes().length).toBeLessThan(300)
  })

  test('initialisation has no route', () => {
    expect(routes().filter(route => route.functionName === 'init')).toEqual([])
  })

  test('one permission for each function that the gateway calls', () => {
    const permitted = ofType(resources, 'AWS::Lambda::Permission').filter(
      ([, one]) => one.Properties.Principal === 'apigateway.amazonaws.com',
    )
    const called = new Set(routes().map(route => route.functionName))
    expect(permitted).toHaveLength(called.size)
  })

  test('the access log holds no path: it may be a role tag (auth-behaviour T-36)', () => {
    const [[, stage] = []] = ofType(resources, 'AWS::ApiGatewayV2::Stage')
    expect(stage?.Properties.AccessLogSettings.Format).not.toMatch(/path/i)
  })
})

describe('schedules and the audit log', () => {
  test('the tidy schedule runs every hour', () => {
    const rules = ofType(resources, 'AWS::Events::Rule').map(([, one]) => one.Properties.ScheduleExpression)
    expect(rules).toEqual(['rate(1 hour)'])
  })

  test('a job may start itself again', () => {
    expect(functions().get('on-job')?.Properties).toMatchObject({
      RecursiveLoop: 'Allow',
      FunctionName: 'cloud-auth-test-job',
    })
  })

  test('audit entries of every function that serves requests are carried to their own log group', () => {
    const filters = ofType(resources, 'AWS::Logs::SubscriptionFilter')
    expect(filters).toHaveLength(groups.length + 1)
    for (const [, one] of filters) expect(one.Properties.FilterPattern).toBe('{ $.audit = "*" }')
    const retentions = ofType(resources, 'AWS::Logs::LogGroup').filter(
      ([, one]) => one.Properties.RetentionInDays === 365,
    )
    expect(retentions).toHaveLength(1)
  })
})

describe('settings are checked as a whole: issue 2 §4', () => {
  test('all faults are reported together', () => {
    const read = () =>
      readSettings({
        stage: 'No',
        memory: 1,
        logRetentionDays: 2,
        assumableRoleArns: ['x'],
        apiAddress: 'http://a',
        unknown: 1,
      })
    expect(read).toThrow(
      /stage: [\s\S]*logRetentionDays: [\s\S]*assumableRoleArns.0: [\s\S]*apiAddress: [\s\S]*memory: /,
    )
    expect(read).toThrow(/unknown/)
  })

  test('text that is not JSON is told', () => {
    expect(() => readSettings('{')).toThrow('not valid JSON')
  })
})
