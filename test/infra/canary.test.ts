import { describe, expect, test } from 'vitest'
import { readSettings } from '../../infra/settings.ts'
import { deployments } from '../support/checks/deployments.ts'
import { ofType, type Resource, resourcesOf, stacksOf } from './synthesised.ts'

const fronts = {
  httpApi: {},
  privateRestApi: deployments['private'],
  loadBalancer: deployments['balanced'],
}
const drill = { schedule: 'rate(7 days)', peer: 'https://west.example.com', policy: 'drill' }
const settingsBehind = (front: keyof typeof fronts): Record<string, unknown> => ({
  ...fronts[front],
  stage: 'test',
  canary: { percent: 20 },
  ...(front === 'httpApi' ? { apiAddress: 'https://east.example.com', drill } : {}),
})

const functionsOf = (resources: ReadonlyMap<string, Resource>) => ofType(resources, 'AWS::Lambda::Function')

/** Returns the logical IDs that a value refers to. */
function referredIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { Ref: ref, 'Fn::GetAtt': attribute } = value as { Ref?: string; 'Fn::GetAtt'?: string[] }
  const own = typeof ref === 'string' ? [ref] : Array.isArray(attribute) ? [attribute[0] ?? ''] : []
  return [...own, ...Object.values(value).flatMap(referredIn)]
}

const texts = (settings: Record<string, unknown>) =>
  [...stacksOf(settings).values()].map(one => JSON.stringify(one))

describe('the setting `canary`', () => {
  const resources = resourcesOf(settingsBehind('httpApi'))
  const groups = new Map(ofType(resources, 'AWS::CodeDeploy::DeploymentGroup'))

  /** Returns resources of both stacks, whose canaries have the same logical IDs. */
  const inStacks = (type: string, begins = ''): Resource[] =>
    [...stacksOf(settingsBehind('httpApi')).values()].flatMap(({ Resources }) =>
      Object.entries(Resources).flatMap(([id, one]) =>
        one.Type === type && id.startsWith(begins) ? [one] : [],
      ),
    )

  test('gives every function an alias, which CodeDeploy moves between versions', () => {
    const aliases = ofType(resources, 'AWS::Lambda::Alias')
    expect(aliases.map(([, one]) => one.Properties.FunctionName.Ref).sort()).toEqual(
      functionsOf(resources)
        .map(([id]) => id)
        .sort(),
    )
    const moved = aliases.map(([, one]) => {
      const { UpdatePolicy } = one as Resource & {
        UpdatePolicy: { CodeDeployLambdaAliasUpdate: Record<string, { Ref: string }> }
      }
      const { ApplicationName, DeploymentGroupName } = UpdatePolicy.CodeDeployLambdaAliasUpdate
      expect(resources.get(ApplicationName?.Ref ?? '')?.Type).toBe('AWS::CodeDeploy::Application')
      expect(one.Properties.Name).toBe('live')
      return DeploymentGroupName?.Ref
    })
    expect(new Set(moved)).toEqual(new Set(groups.keys()))
    expect(groups.size).toBe(aliases.length)
  })

  test('rolls back on an alarm, on a failure, and when an operator stops the deployment', () => {
    const alarms = ofType(resources, 'AWS::CloudWatch::Alarm').map(([, one]) => one.Properties.AlarmName)
    for (const [id, { Properties }] of groups) {
      expect(Properties.AutoRollbackConfiguration, id).toEqual({
        Enabled: true,
        Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM', 'DEPLOYMENT_STOP_ON_REQUEST'],
      })
      expect(Properties.AlarmConfiguration.Enabled).toBe(true)
      const named = Properties.AlarmConfiguration.Alarms.map((one: { Name: string }) => one.Name)
      expect(named).toEqual(expect.arrayContaining(['cloud-auth-test-FunctionFailed']))
      for (const name of named) expect(alarms).toContain(name)
    }
  })

  test('uses the traffic percentage of the settings, for at least 15 minutes so that alarms can react', () => {
    const configs = inStacks('AWS::CodeDeploy::DeploymentConfig').map(one => one.Properties)
    for (const { TrafficRoutingConfig } of configs)
      expect(TrafficRoutingConfig).toEqual({
        Type: 'TimeBasedCanary',
        TimeBasedCanary: { CanaryPercentage: 20, CanaryInterval: 15 },
      })
    expect(configs).toHaveLength(2)
    expect(() => readSettings({ stage: 'test', canary: { minutes: 14 } })).toThrow('must be at least 15')
  })

  test('lets the deployment role move only these aliases', () => {
    const allowed = inStacks('AWS::IAM::Policy', 'CanaryRole')
      .flatMap(one => one.Properties.PolicyDocument.Statement)
      .filter(one => one.Resource === '*')
    expect(allowed.flatMap(one => one.Action)).toEqual([
      'cloudwatch:DescribeAlarms',
      'cloudwatch:DescribeAlarms',
    ])
  })

  test.each(Object.keys(fronts) as (keyof typeof fronts)[])(
    'makes callers behind %s use only the aliases',
    front => {
      const behind = resourcesOf(settingsBehind(front))
      const functions = new Set(functionsOf(behind).map(([id]) => id))
      const naming = [...behind]
        .filter(([, one]) => referredIn(one.Properties).some(id => functions.has(id)))
        .map(([id, { Type }]) => (Type === 'AWS::IAM::Policy' ? `${Type} ${id.slice(0, 10)}` : Type))
      expect([...new Set(naming)].sort()).toEqual([
        'AWS::CloudWatch::Alarm',
        'AWS::IAM::Policy CanaryRole',
        'AWS::Lambda::Alias',
        // refers to the function, with the alias as its qualifier
        'AWS::Lambda::EventInvokeConfig',
        'AWS::Lambda::Version',
      ])
      for (const { Outputs = {} } of stacksOf(settingsBehind(front)).values())
        expect(referredIn(Outputs).filter(id => functions.has(id))).toEqual([])
    },
  )

  test('makes callers of functions with fixed names use the alias, in variables and grants', () => {
    const named = texts(settingsBehind('httpApi')).flatMap(text => [
      ...text.matchAll(/(.{16})cloud-auth-test-(?:job|pull)(:live)?"/g),
    ])
    const [own, called] = [named.filter(one => !one[2]), named.filter(one => one[2])]
    expect(own.map(([, before]) => before)).toEqual(Array(2).fill(',"FunctionName":"'.slice(-16)))
    expect(called.length).toBeGreaterThan(4)
  })

  test('is off by default: no aliases and no versions', () => {
    const types = [...resourcesOf().values()].map(({ Type }) => Type)
    expect(types.filter(type => /CodeDeploy|Lambda::(Alias|Version)/.test(type))).toEqual([])
  })

  test('shares the alias with provisioned concurrency', () => {
    const both = resourcesOf({ stage: 'test', canary: {}, loginProvisionedConcurrency: 3 })
    const provisioned = ofType(both, 'AWS::Lambda::Alias').flatMap(([, { Properties }]) =>
      Properties.ProvisionedConcurrencyConfig ? [Properties.Name] : [],
    )
    expect(provisioned).toEqual(['live'])
  })

  test('is rejected with Web Functions, which have no aliases', () => {
    const given = { ...deployments['web'], canary: {} }
    expect(() => readSettings(given)).toThrow(/canary: cannot be used with webLogins/)
  })
})
