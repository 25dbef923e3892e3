import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { root } from '../../infra/checkout.ts'
import { logAlarms } from '../../infra/constructs/log-alarms.ts'
import { readSettings } from '../../infra/settings.ts'
import { workers } from '../../shared/workers/workers.ts'
import { ofType, resourcesOf } from './synthesised.ts'

const topic = 'arn:aws:sns:us-east-1:111122223333:operators'
const resources = resourcesOf({ stage: 'test', alarmActionArns: [topic] })
const alarms = ofType(resources, 'AWS::CloudWatch::Alarm')
const alarmOf = (id: string, metric?: string) =>
  alarms.find(
    ([name, one]) =>
      name.startsWith(id) && (metric ?? one.Properties.MetricName) === one.Properties.MetricName,
  )?.[1].Properties
/** Folder of each function, by its logical id. */
const folders = new Map(
  ofType(resources, 'AWS::Lambda::Function').map(([id, one]) => [
    id,
    String(one.Properties.Description).replace('cloud-auth: ', ''),
  ]),
)

describe('every alarm', () => {
  test('tells whom the setting names, goes off by itself, and is silent while there is nothing to count', () => {
    for (const [id, { Properties }] of alarms) {
      expect(Properties.AlarmActions, id).toEqual([topic])
      expect(Properties.TreatMissingData, id).toBe('notBreaching')
      expect(Properties.AlarmDescription, id).toBeTruthy()
    }
    expect(alarmOf('Refused'), 'a queue that nobody empties would keep it on for two weeks').toBeUndefined()
  })

  test('is described in docs/deploy.md, with what it costs', () => {
    const page = readFileSync(`${root}docs/deploy.md`, 'utf8')
    const names = new Set(
      alarms.map(([id]) => /^(?:AuditCarrier)?([A-Za-z]+?)(?=[0-9A-F]{8}$|$)/.exec(id)?.[1] ?? id),
    )
    for (const name of names) expect(page, name).toContain(`| \`${name}\` |`)
    const metrics = alarms.flatMap(([, { Properties }]) =>
      Properties.Metrics ? Properties.Metrics.filter((one: { MetricStat?: object }) => one.MetricStat) : [1],
    ).length
    expect(page).toContain(`${metrics} metrics, ${(metrics * 0.1).toFixed(2)} USD a month`)
  })
})

describe('what callers see, and what functions do', () => {
  test('answers of 5xx', () => {
    const [[api] = []] = ofType(resources, 'AWS::ApiGatewayV2::Api')
    expect(alarmOf('ServerErrors')).toMatchObject({
      Namespace: 'AWS/ApiGateway',
      MetricName: '5xx',
      Statistic: 'Sum',
      Threshold: 10,
      Dimensions: [{ Name: 'ApiId', Value: { Ref: api } }],
    })
  })

  test('what functions write down: one filter for each pattern, on the group that all of them print to', () => {
    const filters = ofType(resources, 'AWS::Logs::MetricFilter').map(([, one]) => one.Properties)
    const [[, subscription] = []] = ofType(resources, 'AWS::Logs::SubscriptionFilter')
    expect(filters).toHaveLength(Object.keys(logAlarms).length)
    for (const [MetricName, { pattern }] of Object.entries(logAlarms)) {
      expect(filters).toContainEqual({
        LogGroupName: subscription?.Properties.LogGroupName,
        FilterPattern: pattern,
        MetricTransformations: [{ MetricNamespace: 'cloud-auth/test', MetricName, MetricValue: '1' }],
      })
      expect(alarmOf(MetricName)).toMatchObject({ MetricName, Namespace: 'cloud-auth/test', Threshold: 0 })
    }
  })

  test('a line that is written once a minute, or an hour, keeps its alarm on', () => {
    for (const [name, seconds] of [
      ['Peer', 60],
      ['Licence', 3600],
    ] as const) {
      const { Period, EvaluationPeriods, DatapointsToAlarm } = alarmOf(name)
      expect(Period).toBe(seconds)
      expect(EvaluationPeriods - DatapointsToAlarm, 'a line may be late').toBeGreaterThan(0)
    }
  })

  test('throttles of all workers, of logins, and of the link', () => {
    const throttled = alarms.flatMap(([id, { Properties }]) =>
      id.includes('Throttled')
        ? Properties.Metrics.flatMap(
            ({ MetricStat }: { MetricStat?: { Metric: { Dimensions: [{ Value: { Ref: string } }] } } }) =>
              MetricStat ? [folders.get(MetricStat.Metric.Dimensions[0].Value.Ref)] : [],
          )
        : [],
    )
    expect(throttled.sort()).toEqual([...Object.keys(workers), 'link', 'login'].sort())
  })

  test('no alarm has more metrics than CloudWatch takes', () => {
    for (const [, { Properties }] of alarms) expect((Properties.Metrics ?? []).length).toBeLessThanOrEqual(11)
  })

  test('every workflow that failed, was stopped or took too long, by one rule, which also has operations go on', () => {
    const [[id, rule] = [], ...others] = ofType(resources, 'AWS::Events::Rule').filter(
      ([, one]) => one.Properties.EventPattern,
    )
    expect(others).toEqual([])
    const { source, detail } = rule?.Properties.EventPattern ?? {}
    expect(source).toEqual(['aws.states'])
    expect(detail.status).toEqual(['FAILED', 'TIMED_OUT', 'ABORTED'])
    const machines = ofType(resources, 'AWS::StepFunctions::StateMachine').map(([Ref]) => ({ Ref }))
    expect(machines.length).toBeGreaterThan(8)
    expect(detail.stateMachineArn).toEqual(machines)
    expect(
      rule?.Properties.Targets.map((one: { Arn: { 'Fn::GetAtt': [string] } }) =>
        folders.get(one.Arn['Fn::GetAtt'][0]),
      ),
    ).toEqual(['on-journal'])
    expect(alarmOf('WorkflowFailed')).toMatchObject({
      Namespace: 'AWS/Events',
      MetricName: 'Invocations',
      Dimensions: [{ Name: 'RuleName', Value: { Ref: id } }],
    })
  })
})

describe('environments that are kept free', () => {
  const drConcurrency = { link: 20, 'on-pull': 3, 'on-journal': 4, 'on-operation': 2 }
  const reserved = (settings: object) =>
    Object.fromEntries(
      ofType(resourcesOf({ stage: 'test', ...settings }), 'AWS::Lambda::Function').flatMap(([id, one]) => {
        const { ReservedConcurrentExecutions: count } = one.Properties
        return count === undefined ? [] : [[folders.get(id), count]]
      }),
    )

  test('are those of the settings, and none without', () => {
    expect(reserved({ loginConcurrency: 50, drConcurrency })).toEqual({ login: 50, ...drConcurrency })
    expect(reserved({ drConcurrency: { link: 5 } })).toEqual({ link: 5 })
    expect(reserved({})).toEqual({})
  })

  test('leave 100 to everybody else, together, and are enough for what runs beside each other', () => {
    const read = (more: object) => () => readSettings({ stage: 'test', drConcurrency, ...more })
    expect(read({ accountConcurrency: 129 })).not.toThrow()
    expect(read({ accountConcurrency: 128 })).toThrow(
      /drConcurrency together must leave 100 of accountConcurrency/,
    )
    expect(read({ accountConcurrency: 10 })).toThrow(/drConcurrency together must leave/)
    expect(read({ accountConcurrency: 150, loginConcurrency: 22 })).toThrow(
      /drConcurrency together must leave/,
    )
    expect(read({ drConcurrency: { 'on-pull': 2 } })).toThrow(/drConcurrency.on-pull/)
    expect(read({ drConcurrency: { puller: 5 } })).toThrow(/puller/)
  })
})
