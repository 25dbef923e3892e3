import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterEach, describe, expect, test } from 'vitest'
import { readAssembly } from '../../infra/local/template/assembly.ts'

const place = { account: '111122223333', region: 'eu-west-1' }
const directories: string[] = []

/** Reads a cloud assembly of one stack with the given resources. */
function read(resources: Record<string, { Type: string; Properties?: object }>) {
  const directory = mkdtempSync(`${tmpdir()}/assembly-`)
  directories.push(directory)
  const write = (file: string, content: object) =>
    writeFileSync(`${directory}/${file}`, JSON.stringify(content))
  write('manifest.json', {
    artifacts: {
      api: { type: 'aws:cloudformation:stack', properties: { templateFile: 'api.json' } },
      assets: { type: 'cdk:asset-manifest', properties: { file: 'assets.json' } },
    },
  })
  write('api.json', { Resources: resources })
  write('assets.json', { files: { abc: { displayName: 'login/Code', source: { path: 'asset.abc' } } } })
  return { directory, model: readAssembly(directory, place) }
}

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true })
})

const login = {
  Type: 'AWS::Lambda::Function',
  Properties: {
    FunctionName: 'x-login',
    Code: { S3Key: 'abc.zip' },
    Handler: 'index.handler',
    Timeout: 15,
    Environment: { Variables: { TABLE: { Ref: 'Data' }, REGION: { Ref: 'AWS::Region' } } },
  },
}
const table = {
  Type: 'AWS::DynamoDB::GlobalTable',
  Properties: {
    KeySchema: ['k'],
    AttributeDefinitions: ['a'],
    TimeToLiveSpecification: { AttributeName: 'ttl' },
    StreamSpecification: { StreamViewType: 'KEYS_ONLY' },
  },
}
const rule = (expression: string) => ({
  Type: 'AWS::Events::Rule',
  Properties: { ScheduleExpression: expression, Targets: [{ Arn: { 'Fn::GetAtt': ['Login', 'Arn'] } }] },
})

const source = {
  Type: 'AWS::Lambda::EventSourceMapping',
  Properties: {
    EventSourceArn: { 'Fn::GetAtt': ['Data', 'StreamArn'] },
    FunctionName: { Ref: 'Login' },
    StartingPosition: 'LATEST',
    BatchSize: 100,
    BisectBatchOnFunctionError: true,
    MaximumRetryAttempts: 3,
    DestinationConfig: { OnFailure: { Destination: 'arn:of:a:queue' } },
    FilterCriteria: { Filters: [{ Pattern: '{"eventName":["INSERT"]}' }] },
  },
}
const machine = {
  Type: 'AWS::StepFunctions::StateMachine',
  Properties: {
    StateMachineName: 'x-machine',
    Definition: { Resource: { 'Fn::GetAtt': ['Login', 'Arn'] } },
  },
}

const SHARED = '#/components/x-amazon-apigateway-integrations/'
const integration = {
  type: 'aws_proxy',
  httpMethod: 'POST',
  payloadFormatVersion: '2.0',
  uri: {
    'Fn::Join': [
      '',
      [
        'arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/',
        { 'Fn::GetAtt': ['Login', 'Arn'] },
        '/invocations',
      ],
    ],
  },
}
const operation = (name: string, path: string) => ({
  ...(path === '/$default' ? { isDefaultRoute: true } : {}),
  responses: { default: { description: 'any' } },
  'x-amazon-apigateway-integration': { $ref: `${SHARED}${name}` },
})
/** Returns an API with the given paths, each with the name of its integration. */
const api = (
  paths: Record<string, string>,
  more: { body?: object; properties?: object; login?: object } = {},
) => ({
  Type: 'AWS::ApiGatewayV2::Api',
  Properties: {
    Body: {
      openapi: '3.0.1',
      info: { title: 'x', version: '1' },
      paths: Object.fromEntries(
        Object.entries(paths).map(([path, name]) => [
          path,
          { 'x-amazon-apigateway-any-method': operation(name, path) },
        ]),
      ),
      components: { 'x-amazon-apigateway-integrations': { login: { ...integration, ...more.login } } },
      ...more.body,
    },
    FailOnWarnings: true,
    ...more.properties,
  },
})

describe('the embedded host reads from the templates', () => {
  test('functions, tables, routes, schedules, streams and state machines, with resolved names', () => {
    const { directory, model } = read({
      Login: login,
      Data: table,
      Api: api({ '/v1/x': 'login', '/$default': 'login' }),
      Hourly: rule('rate(1 hour)'),
      Key: { Type: 'AWS::KMS::Key' },
      Role: { Type: 'AWS::IAM::Role' },
      Machine: machine,
      Source: source,
    })
    expect(read({ Data: table }).model.tables.map(({ stream }) => stream)).toEqual([undefined])
    expect(model).toEqual({
      functions: [
        {
          name: 'x-login',
          folder: 'login',
          code: `${directory}/asset.abc`,
          handler: 'index.handler',
          timeoutSeconds: 15,
          environment: { TABLE: 'api-Data', REGION: 'eu-west-1' },
        },
      ],
      tables: [
        {
          name: 'api-Data',
          keySchema: ['k'],
          attributes: ['a'],
          indexes: [],
          ttl: 'ttl',
          stream: 'KEYS_ONLY',
        },
      ],
      clients: [
        { key: 'ANY /v1/x', functionName: 'x-login' },
        { key: '$default', functionName: 'x-login' },
      ],
      rules: [],
      schedules: [{ name: 'Hourly', minutes: 60, functionName: 'x-login' }],
      streams: [
        {
          table: 'api-Data',
          functionName: 'x-login',
          batchSize: 100,
          bisect: true,
          retries: 3,
          filters: [{ eventName: ['INSERT'] }],
        },
      ],
      machines: [
        {
          arn: 'arn:aws:states:eu-west-1:111122223333:stateMachine:x-machine',
          definition: { Resource: 'arn:aws:lambda:eu-west-1:111122223333:function:x-login' },
        },
      ],
    })
  })

  test.each([
    ['rate(1 minute)', 1],
    ['rate(5 minutes)', 5],
    ['rate(2 days)', 2880],
  ])('the schedule %s as every %i minutes', (expression, minutes) => {
    expect(read({ Login: login, Rule: rule(expression) }).model.schedules).toMatchObject([{ minutes }])
  })
})

describe('the embedded host rejects a template with resources or properties that the host cannot run', () => {
  test.each<[name: string, resources: Parameters<typeof read>[0], message: string]>([
    ['an SNS topic', { Topic: { Type: 'AWS::SNS::Topic' } }, 'does not support AWS::SNS::Topic (api/Topic)'],
    [
      'a table of another type',
      { Table: { Type: 'AWS::DynamoDB::Table' } },
      'does not support AWS::DynamoDB::Table (api/Table)',
    ],
    [
      'a stream read from its beginning',
      {
        Login: login,
        Data: table,
        Map: { ...source, Properties: { ...source.Properties, StartingPosition: 'TRIM_HORIZON' } },
      },
      'event source: StartingPosition',
    ],
    ['a cron schedule', { Login: login, Rule: rule('cron(0 * * * ? *)') }, 'the schedule cron(0 * * * ? *)'],
    [
      'a function without code',
      { Login: { ...login, Properties: { ...login.Properties, Code: { S3Key: 'zzz.zip' } } } },
      'the code of x-login',
    ],
    [
      'a route as a separate resource',
      { Route: { Type: 'AWS::ApiGatewayV2::Route' } },
      'does not support AWS::ApiGatewayV2::Route (api/Route)',
    ],
    ['a path without an integration', { Login: login, Api: api({ '/v1/x': 'other' }) }, `${SHARED}other`],
    [
      'a method other than ANY',
      {
        Login: login,
        Api: api({}, { body: { paths: { '/v1/x': { get: operation('login', '/v1/x') } } } }),
      },
      'Body.paths./v1/x',
    ],
    [
      'an authorizer',
      {
        Login: login,
        Api: api(
          {},
          {
            body: {
              paths: {
                '/v1/x': {
                  'x-amazon-apigateway-any-method': { ...operation('login', '/v1/x'), security: [{ a: [] }] },
                },
              },
            },
          },
        ),
      },
      'security',
    ],
    ['CORS rules', { Login: login, Api: api({}, { body: { 'x-amazon-apigateway-cors': {} } }) }, 'cors'],
    [
      'an older payload format',
      { Login: login, Api: api({}, { login: { payloadFormatVersion: '1.0' } }) },
      'payload',
    ],
    [
      'an integration timeout',
      { Login: login, Api: api({}, { login: { timeoutInMillis: 1000 } }) },
      'timeoutInMillis',
    ],
    ['an API with a target', { Login: login, Api: api({}, { properties: { Target: 'x' } }) }, 'Target'],
    [
      'an unknown intrinsic function',
      {
        Key: { Type: 'AWS::KMS::Key' },
        Login: { ...login, Properties: { ...login.Properties, Handler: { 'Fn::If': [] } } },
      },
      'Fn::If',
    ],
  ])('%s', (_, resources, message) => expect(() => read(resources)).toThrow(message))
})
