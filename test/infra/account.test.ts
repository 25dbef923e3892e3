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

describe('settings for account-wide requirements', () => {
  test('every role has the permissions boundary of `permissionsBoundaryArn`, and no boundary without that setting', () => {
    const permissionsBoundaryArn = 'arn:aws:iam::111122223333:policy/bound'
    const roles = ofType(resourcesOf({ stage: 'test', permissionsBoundaryArn, canary: {} }), 'AWS::IAM::Role')
    expect(roles.length).toBeGreaterThan(30)
    for (const [id, { Properties }] of roles)
      expect(Properties.PermissionsBoundary, id).toBe(permissionsBoundaryArn)
    expect(JSON.stringify([...resourcesOf()])).not.toContain('PermissionsBoundary')
  })

  test('functions, tables, roles and the API have the tags of `tags`', () => {
    const resources = resourcesOf({ stage: 'test', tags: { team: 'auth' } })
    for (const type of ['AWS::Lambda::Function', 'AWS::IAM::Role', 'AWS::KMS::Key', 'AWS::SQS::Queue'])
      for (const [id, { Properties }] of ofType(resources, type))
        expect(Properties.Tags, id).toEqual([{ Key: 'team', Value: 'auth' }])
    for (const [, { Properties }] of ofType(resources, 'AWS::DynamoDB::GlobalTable'))
      expect(Properties.Replicas[0].Tags).toEqual([{ Key: 'team', Value: 'auth' }])
    expect(ofType(resources, 'AWS::ApiGatewayV2::Api')[0]?.[1].Properties.Tags).toEqual({ team: 'auth' })
    expect(() => readSettings({ stage: 'test', tags: { 'aws:team': 'auth' } })).toThrow('tags')
  })

  test('with `parameterPrefix` every output of the API stack is also an SSM parameter', () => {
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

describe("a customer's KMS keys", () => {
  const [keyring, tables, logs] = ['keyring', 'tables', 'logs'].map(keyNamed)

  test("with `keyring` the data stack creates no key, and functions unwrap the keyring with the customer's key", () => {
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

  test('with `tables` all three tables are encrypted with the key, and functions may use that key only through DynamoDB', () => {
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

  test('with `logs` all log groups and the queue are encrypted with the key, and the sender may use that key only through SQS', () => {
    const resources = resourcesOf({ stage: 'test', customerKeys: { logs } })
    const groups = ofType(resources, 'AWS::Logs::LogGroup')
    expect(groups.length).toBeGreaterThan(2)
    for (const [id, { Properties }] of groups) expect(Properties.KmsKeyId, id).toBe(logs)
    expect(ofType(resources, 'AWS::SQS::Queue')[0]?.[1].Properties.KmsMasterKeyId).toBe(logs)
    const granted = statementsOf(resources).filter(one => one.Resource === logs)
    expect(granted.map(({ Action }) => Action)).toEqual([['kms:Decrypt', 'kms:GenerateDataKey']])
    expect(JSON.stringify(granted[0]?.Condition)).toContain('"sqs.')
  })

  test('an alias ARN is rejected, and so are two keys for the keyring', () => {
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
