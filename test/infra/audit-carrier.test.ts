import { readFileSync } from 'node:fs'
import type { Metafile } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'
import { listFunctionNames } from '../../infra/checkout.ts'
import { buildBundlesOfSources } from '../../infra/local/template/synth.ts'
import { readSettings } from '../../infra/settings.ts'
import { endpointGroups } from '../../shared/endpoints/all.ts'
import { type Resource, stacksOf } from './synthesised.ts'

/** Returns the resources of the stack `api`. */
const apiStack = (settings: object = {}): [id: string, resource: Resource][] =>
  [...stacksOf({ stage: 'test', ...settings })].flatMap(([name, { Resources }]) =>
    name.endsWith('-api') ? Object.entries(Resources) : [],
  )

const resources = apiStack()
const all = (type: string) => resources.filter(([, one]) => one.Type === type)
const one = (type: string) => {
  const [[id, resource] = ['', undefined], ...more] = all(type)
  expect(more).toEqual([])
  return { id, ...resource, properties: resource?.Properties }
}
const lambdas = () =>
  new Map(
    all('AWS::Lambda::Function').map(([id, { Properties }]) => [
      String(Properties.Description).replace('cloud-auth: ', ''),
      { id, ...Properties },
    ]),
  )
const carrier = () => lambdas().get('on-audit-entries')

describe('audit entries of all functions reach the audit stream', () => {
  test('all functions of the API share one log group, whose audit entries go to the carrier function of the same stack', () => {
    const { LogGroupName, FilterPattern, DestinationArn } = one('AWS::Logs::SubscriptionFilter').properties
    expect(FilterPattern).toBe('{ $.message.audit = "*" }')
    expect(DestinationArn['Fn::GetAtt'][0]).toBe(carrier()?.id)
    for (const name of [...endpointGroups.map(group => group.name), 'fallback'])
      expect(lambdas().get(name)?.LoggingConfig.LogGroup, name).toEqual(LogGroupName)
  })

  test('the carrier function writes to its own log group, because the carrier would otherwise invoke itself', () => {
    const { LogGroupName } = one('AWS::Logs::SubscriptionFilter').properties
    expect(carrier()?.LoggingConfig.LogGroup).not.toEqual(LogGroupName)
    expect(carrier()?.Environment.Variables.AUDIT_GROUP).not.toEqual(LogGroupName)
  })

  test('the API cannot be reached before the subscription exists', () => {
    expect(one('AWS::ApiGatewayV2::Stage').DependsOn).toContain(one('AWS::Logs::SubscriptionFilter').id)
  })

  test('functions log JSON at a level that includes audit entries', () => {
    for (const [name, { LoggingConfig }] of lambdas())
      expect(LoggingConfig, name).toMatchObject({ LogFormat: 'JSON', ApplicationLogLevel: 'INFO' })
  })

  test('only the log group of the functions may invoke the carrier', () => {
    const { LogGroupName } = one('AWS::Logs::SubscriptionFilter').properties
    const callers = all('AWS::Lambda::Permission').filter(
      ([, { Properties }]) => Properties.Principal === 'logs.amazonaws.com',
    )
    expect(callers.map(([, { Properties }]) => Properties.SourceArn)).toEqual([
      { 'Fn::GetAtt': [LogGroupName.Ref, 'Arn'] },
    ])
  })
})

/** Maximum number of subscription filters that CloudWatch Logs allows per log group. */
const MOST_FILTERS = 2

describe('audit entries of workers reach the audit stream too', () => {
  /** inputs of each bundle */
  let bundles: Record<string, Metafile>
  beforeAll(async () => {
    bundles = JSON.parse(readFileSync(`${await buildBundlesOfSources()}/metafiles.json`, 'utf8'))
  }, 300_000)
  /** reports whether a function loads the module that writes entries */
  const leavesEntries = (name: string): boolean =>
    Object.keys(bundles[name]?.inputs ?? {}).includes('shared/adapters/aws/audit.ts')

  test('every function whose code can write an entry logs to a carried group', () => {
    const { LogGroupName } = one('AWS::Logs::SubscriptionFilter').properties
    const exported = `cloud-auth-test-api:ExportsOutputRef${LogGroupName.Ref}`
    const groupsOf = new Map(
      [...stacksOf().values()].flatMap(({ Resources }) =>
        Object.values(Resources).flatMap(({ Type, Properties }) =>
          Type === 'AWS::Lambda::Function'
            ? [[Properties.Description.replace('cloud-auth: ', ''), Properties.LoggingConfig.LogGroup]]
            : [],
        ),
      ),
    )
    const leaving = listFunctionNames().filter(leavesEntries)
    expect(leaving).toEqual(listFunctionNames().filter(name => name !== 'on-audit-entries'))
    const isCarried = (name: string): boolean => {
      const { Ref, 'Fn::ImportValue': imported = '' } = groupsOf.get(name) ?? {}
      return Ref === LogGroupName.Ref || imported.startsWith(exported)
    }
    expect(leaving.filter(name => !isCarried(name))).toEqual([])
  })

  test('no group has more subscription filters than CloudWatch Logs allows', () => {
    const of = all('AWS::Logs::SubscriptionFilter').map(([, { Properties }]) =>
      JSON.stringify(Properties.LogGroupName),
    )
    for (const group of new Set(of))
      expect(of.filter(one => one === group).length).toBeLessThanOrEqual(MOST_FILTERS)
  })
})

describe('failed deliveries of audit entries', () => {
  test('go to an encrypted queue for two weeks', () => {
    const queue = one('AWS::SQS::Queue')
    expect(queue.properties).toMatchObject({ MessageRetentionPeriod: 1_209_600, SqsManagedSseEnabled: true })
    expect(carrier()?.DeadLetterConfig.TargetArn).toEqual({ 'Fn::GetAtt': [queue.id, 'Arn'] })
    const role = carrier()?.Role['Fn::GetAtt'][0]
    const statements = all('AWS::IAM::Policy')
      .filter(([, { Properties }]) => Properties.Roles.some((ref: { Ref: string }) => ref.Ref === role))
      .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
    expect(statements).toContainEqual(
      expect.objectContaining({ Action: 'sqs:SendMessage', Resource: { 'Fn::GetAtt': [queue.id, 'Arn'] } }),
    )
  })

  test('raise an alarm for `alarmActionArns`, also when the queue rejects them', () => {
    const topic = 'arn:aws:sns:us-east-1:111122223333:operators'
    const alarms = (given: ReturnType<typeof apiStack>) =>
      given
        .filter(([id, { Type }]) => Type === 'AWS::CloudWatch::Alarm' && id.startsWith('AuditCarrier'))
        .map(([, { Properties }]) => [Properties.MetricName, Properties.Threshold, Properties.AlarmActions])
    const names = ['ApproximateNumberOfMessagesVisible', 'DeadLetterErrors']
    expect(alarms(apiStack({ alarmActionArns: [topic] }))).toEqual(names.map(name => [name, 0, [topic]]))
    expect(alarms(resources).map(([name]) => name)).toEqual(names)
    expect(() => readSettings({ stage: 'test', alarmActionArns: ['operators'] })).toThrow('alarmActionArns.0')
  })
})
