import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { readSettings } from '../../infra/settings.ts'
import { alarmNames, commonAlarms, rowOfAlarm } from '../../infra/watching/alarms.ts'
import { bounds } from '../../shared/values/bounds.ts'
import { type WorkerDefinition, workerDefinitions } from '../../shared/workers/workers.ts'
import { ALARM_METRICS } from '../bench/pair-costs.ts'
import { computeWatchingCost } from '../support/prices/prices.ts'
import { ofType, resourcesOf } from './synthesised.ts'

const topic = 'arn:aws:sns:us-east-1:111122223333:operators'
const resources = resourcesOf({ stage: 'test', alarmActionArns: [topic] })
const alarms = ofType(resources, 'AWS::CloudWatch::Alarm')
const alarmOf = (id: string) => alarms.find(([name]) => name.startsWith(id))?.[1].Properties
/** The folder of each function, by its logical ID. */
const folders = new Map(
  ofType(resources, 'AWS::Lambda::Function').map(([id, one]) => [
    id,
    String(one.Properties.Description).replace('cloud-auth: ', ''),
  ]),
)

const byName = new Map(alarms.map(([, { Properties }]) => [Properties.AlarmName, Properties]))

describe('every alarm', () => {
  test('of the table of alarms is in the templates once, under the name that the dashboard uses', () => {
    expect([...byName.keys()].sort()).toEqual(commonAlarms.map(name => `cloud-auth-test-${name}`).sort())
    expect(alarms).toHaveLength(commonAlarms.length)
  })

  test('notifies `alarmActionArns`, ends by itself, and is off without data', () => {
    for (const [id, { Properties }] of alarms) {
      expect(Properties.AlarmActions, id).toEqual([topic])
      expect(Properties.TreatMissingData, id).toBe('notBreaching')
    }
    expect(alarmOf('Refused'), 'a queue that nobody empties would keep it on for two weeks').toBeUndefined()
  })

  test.each(commonAlarms)('%s describes the problem and links to its section in troubleshooting', name => {
    const { AlarmDescription } = byName.get(`cloud-auth-test-${name}`) ?? {}
    expect(AlarmDescription).toMatch(/^[A-Z][^.]+\. What to do: docs\/do\/troubleshooting\.md#[a-z]+$/)
    expect(AlarmDescription).toContain(rowOfAlarm(name).description)
    const headings = readFileSync(`${checkoutRoot}docs/do/troubleshooting.md`, 'utf8').match(/^### .*$/gm)
    expect(headings).toContain(`### ${name}`)
  })

  test('is included in the costs in docs/look-up/monitoring.md', () => {
    const metrics = alarms.flatMap(([, { Properties }]) =>
      Properties.Metrics ? Properties.Metrics.filter((one: { MetricStat?: object }) => one.MetricStat) : [1],
    ).length
    const { metrics: own, alarms: ofAlarms, dashboard } = computeWatchingCost(metrics)
    expect(metrics, 'what test/bench/pair-costs.ts prices').toBe(ALARM_METRICS)
    const { idlePrimary, idleSecondary, usual, most } = own
    expect(usual).toBeLessThanOrEqual(5)
    const page = readFileSync(`${checkoutRoot}docs/look-up/monitoring.md`, 'utf8')
    expect(page).toContain(`${metrics} metrics, ${ofAlarms.toFixed(2)} USD`)
    expect(page).toContain(
      `${idlePrimary.toFixed(2)} USD for a primary and ${idleSecondary.toFixed(2)} USD for a secondary |`,
    )
    expect(page).toContain(`${usual.toFixed(2)} USD a month`)
    expect(page).toContain(`${most.toFixed(2)} USD`)
    expect(page).toContain(`${dashboard.toFixed(2)} USD`)
  })
})

describe('alarms on answers, functions and workflows', () => {
  test('ServerErrors counts 5xx answers', () => {
    const [[api] = []] = ofType(resources, 'AWS::ApiGatewayV2::Api')
    expect(alarmOf('ServerErrors')).toMatchObject({
      Namespace: 'AWS/ApiGateway',
      MetricName: '5xx',
      Statistic: 'Sum',
      Threshold: 10,
      Dimensions: [{ Name: 'ApiId', Value: { Ref: api } }],
    })
  })

  test('each alarm on a log pattern has one metric filter on the log group of all functions', () => {
    const filters = ofType(resources, 'AWS::Logs::MetricFilter').map(([, one]) => one.Properties)
    const [[, subscription] = []] = ofType(resources, 'AWS::Logs::SubscriptionFilter')
    const patterns = alarmNames.flatMap(name => {
      const { counts } = rowOfAlarm(name)
      return counts.kind === 'pattern' ? [{ name, pattern: counts.pattern }] : []
    })
    expect(filters).toHaveLength(patterns.length)
    for (const { name: MetricName, pattern } of patterns) {
      expect(filters).toContainEqual({
        LogGroupName: subscription?.Properties.LogGroupName,
        FilterPattern: pattern,
        MetricTransformations: [{ MetricNamespace: 'cloud-auth/test', MetricName, MetricValue: '1' }],
      })
      expect(alarmOf(MetricName)).toMatchObject({ MetricName, Namespace: 'cloud-auth/test', Threshold: 0 })
    }
  })

  test('functions emit metrics in the namespace that the alarms use', () => {
    const namespaces = ofType(resources, 'AWS::Lambda::Function').map(
      ([, one]) => one.Properties.Environment.Variables.METRIC_NAMESPACE,
    )
    expect(new Set(namespaces)).toEqual(new Set(['cloud-auth/test']))
    expect(alarmOf('Licence')).toMatchObject({
      Namespace: 'cloud-auth/test',
      MetricName: 'LicenceDays',
      Statistic: 'Minimum',
      ComparisonOperator: 'LessThanThreshold',
      Threshold: 30,
    })
    const { Metrics } = alarmOf('ProviderThrottled')
    const names = Metrics.flatMap((one: { MetricStat?: { Metric: { MetricName: string } } }) =>
      one.MetricStat ? [one.MetricStat.Metric.MetricName] : [],
    )
    expect(names).toEqual(['Ec2Throttles', 'IamThrottles', 'StsThrottles', 'OidcThrottles'])
  })

  test('an alarm on a line that is logged once a minute or hour stays on between two lines', () => {
    for (const [name, seconds] of [
      ['Peer', 60],
      ['NotReady', 900],
      ['Licence', 3600],
      ['Certificate', 3600],
    ] as const) {
      const { Period, EvaluationPeriods, DatapointsToAlarm } = alarmOf(name)
      expect(Period).toBe(seconds)
      expect(EvaluationPeriods - DatapointsToAlarm, 'a line may be late').toBeGreaterThan(0)
    }
    expect(900_000, 'a trial lies in each period').toBeGreaterThan(bounds.READINESS_MS + 60_000)
  })

  test('throttling alarms cover all workers, logins and the link', () => {
    const throttled = alarms.flatMap(([id, { Properties }]) =>
      id.includes('Throttled') && !id.startsWith('Provider')
        ? Properties.Metrics.flatMap(
            ({ MetricStat }: { MetricStat?: { Metric: { Dimensions: [{ Value: { Ref: string } }] } } }) =>
              MetricStat ? [folders.get(MetricStat.Metric.Dimensions[0].Value.Ref)] : [],
          )
        : [],
    )
    const workers = Object.entries<WorkerDefinition>(workerDefinitions)
    const deployed = workers.filter(([, { setting }]) => !setting).map(([name]) => name)
    expect(throttled.sort()).toEqual([...deployed, 'link', 'login'].sort())
  })

  test('no alarm has more metrics than CloudWatch allows', () => {
    for (const [, { Properties }] of alarms) expect((Properties.Metrics ?? []).length).toBeLessThanOrEqual(11)
  })

  test('one rule matches failed, aborted and timed-out workflows, and also starts the journal worker', () => {
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

describe('reserved concurrency', () => {
  const drConcurrency = { link: 20, 'on-pull': 3, 'on-journal': 4, 'on-operation': 2 }
  const reserved = (settings: object) =>
    Object.fromEntries(
      ofType(resourcesOf({ stage: 'test', ...settings }), 'AWS::Lambda::Function').flatMap(([id, one]) => {
        const { ReservedConcurrentExecutions: count } = one.Properties
        return count === undefined ? [] : [[folders.get(id), count]]
      }),
    )

  test('equals `loginConcurrency` and `drConcurrency`, and is unset without these settings', () => {
    expect(reserved({ loginConcurrency: 50, drConcurrency })).toEqual({ login: 50, ...drConcurrency })
    expect(reserved({ drConcurrency: { link: 5 } })).toEqual({ link: 5 })
    expect(reserved({})).toEqual({})
  })

  test("must leave 100 of the account's concurrency, and meet the minimum of each function", () => {
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
