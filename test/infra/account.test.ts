import { describe, expect, test } from 'vitest'
import { readSettings } from '../../infra/settings.ts'
import { ofType, type Resource, resourcesOf, stacksOf } from './synthesised.ts'

const keyNamed = (name: string): string => `arn:aws:kms:us-east-1:111122223333:key/${name}`

interface Statement {
  Action: string | string[]
  Resource: unknown
  Condition?: unknown
}
const statementsOf = (resources: ReadonlyMap<string, Resource>): Statement[] =>
  ofType(resources, 'AWS::IAM::Policy').flatMap(([, one]) => one.Properties.PolicyDocument.Statement)

describe('what an account wants of everything in it', () => {
  test('every role has the boundary', () => {
    const permissionsBoundaryArn = 'arn:aws:iam::111122223333:policy/bound'
    const roles = ofType(resourcesOf({ stage: 'test', permissionsBoundaryArn, canary: {} }), 'AWS::IAM::Role')
    expect(roles.length).toBeGreaterThan(30)
    for (const [id, { Properties }] of roles)
      expect(Properties.PermissionsBoundary, id).toBe(permissionsBoundaryArn)
    expect(JSON.stringify([...resourcesOf()])).not.toContain('PermissionsBoundary')
  })

  test('functions, tables, roles and the API have the tags', () => {
    const resources = resourcesOf({ stage: 'test', tags: { team: 'auth' } })
    for (const type of ['AWS::Lambda::Function', 'AWS::IAM::Role', 'AWS::KMS::Key', 'AWS::SQS::Queue'])
      for (const [id, { Properties }] of ofType(resources, type))
        expect(Properties.Tags, id).toEqual([{ Key: 'team', Value: 'auth' }])
    for (const [, { Properties }] of ofType(resources, 'AWS::DynamoDB::GlobalTable'))
      expect(Properties.Replicas[0].Tags).toEqual([{ Key: 'team', Value: 'auth' }])
    expect(ofType(resources, 'AWS::ApiGatewayV2::Api')[0]?.[1].Properties.Tags).toEqual({ team: 'auth' })
    expect(() => readSettings({ stage: 'test', tags: { 'aws:team': 'auth' } })).toThrow('tags')
  })

  test('every output of the API is a parameter of SSM', () => {
    const settings = { stage: 'test', parameterPrefix: '/cloud-auth/test' }
    const { Outputs = {} } = stacksOf(settings).get('cloud-auth-test-api') ?? {}
    const outputs = Object.entries(Outputs as Record<string, { Value: unknown; Export?: object }>).filter(
      ([, one]) => one.Export === undefined,
    )
    const parameters = ofType(resourcesOf(settings), 'AWS::SSM::Parameter').map(([, { Properties }]) => [
      Properties.Name,
      Properties.Value,
    ])
    expect(outputs.map(([name]) => name)).toContain('Address')
    expect(parameters.sort()).toEqual(
      outputs.map(([name, { Value }]) => [`/cloud-auth/test/${name}`, Value]).sort(),
    )
    expect(() => readSettings({ stage: 'test', parameterPrefix: '/aws/mine' })).toThrow('parameterPrefix')
  })
})

describe("a customer's keys", () => {
  const [keyring, tables, logs] = ['keyring', 'tables', 'logs'].map(keyNamed)

  test('keyring: the data stack makes no key, and functions open the keyring by this one', () => {
    const resources = resourcesOf({ stage: 'test', customerKeys: { keyring } })
    expect(ofType(resources, 'AWS::KMS::Key')).toEqual([])
    const opening = statementsOf(resources).filter(({ Action }) => [Action].flat().includes('kms:Decrypt'))
    expect(opening.length).toBeGreaterThan(20)
    for (const { Resource: resource } of opening) expect(resource).toBe(keyring)
    const variables = ofType(resources, 'AWS::Lambda::Function').flatMap(
      ([, one]) => one.Properties.Environment.Variables.KEY_ARN ?? [],
    )
    expect(new Set(variables)).toEqual(new Set([keyring]))
  })

  test('tables: all three are encrypted by it, and every function may use it through DynamoDB alone', () => {
    const resources = resourcesOf({ stage: 'test', customerKeys: { tables } })
    const encrypted = ofType(resources, 'AWS::DynamoDB::GlobalTable').map(
      ([, one]) => one.Properties.Replicas[0].SSESpecification,
    )
    expect(encrypted).toEqual(Array(3).fill({ KMSMasterKeyId: tables }))
    const granted = statementsOf(resources).filter(one => one.Resource === tables)
    expect(granted).toHaveLength(ofType(resources, 'AWS::Lambda::Function').length)
    for (const { Condition } of granted)
      expect(JSON.stringify(Condition)).toMatch(/^\{"StringEquals":\{"kms:ViaService":.*"dynamodb\./)
  })

  test('logs: every log group, and the queue, whose sender may use it through SQS alone', () => {
    const resources = resourcesOf({ stage: 'test', customerKeys: { logs } })
    const groups = ofType(resources, 'AWS::Logs::LogGroup')
    expect(groups.length).toBeGreaterThan(2)
    for (const [id, { Properties }] of groups) expect(Properties.KmsKeyId, id).toBe(logs)
    expect(ofType(resources, 'AWS::SQS::Queue')[0]?.[1].Properties.KmsMasterKeyId).toBe(logs)
    const granted = statementsOf(resources).filter(one => one.Resource === logs)
    expect(granted.map(({ Action }) => Action)).toEqual([['kms:Decrypt', 'kms:GenerateDataKey']])
    expect(JSON.stringify(granted[0]?.Condition)).toContain('"sqs.')
  })

  test('an alias is refused, and a keyring of two keys', () => {
    const aliased = 'arn:aws:kms:us-east-1:111122223333:alias/mine'
    expect(() => readSettings({ stage: 'test', customerKeys: { tables: aliased } })).toThrow(
      'not of an alias',
    )
    const restored = { dataTable: 'data', clusterTable: 'cluster', keyArn: keyring }
    expect(() => readSettings({ stage: 'test', customerKeys: { keyring }, restored })).toThrow(
      'keyring cannot be used with restored.keyArn',
    )
  })
})
