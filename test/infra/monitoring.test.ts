import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { alarmNames, alarmPageLink, commonAlarms } from '../../infra/watching/alarms.ts'
import { dashboardGraphs } from '../../infra/watching/dashboard.ts'
import { type SavedLogQuery, savedLogQueries } from '../../infra/watching/queries.ts'
import { runPromotionChecks } from '../../shared/replication/promotion/decide.ts'
import { metrics } from '../../shared/watching/metrics.ts'
import { renderMonitoringTables } from '../support/checks/monitoring-tables.ts'
import { computeWatchingCost } from '../support/prices/prices.ts'
import { faultRows, rowsOf } from '../support/programs/fault-table.ts'
import { drStatus } from '../support/set/dr-status.ts'
import { fieldsIn } from '../support/set/status-fields.ts'
import { ofType, resourcesOf } from './synthesised.ts'

// docs/look-up/monitoring.md and docs/do/troubleshooting.md must match the code's metrics, alarms, queries
// and fields.

const read = (path: string): string => readFileSync(`${checkoutRoot}${path}`, 'utf8')
const monitoring = read('docs/look-up/monitoring.md')
const troubleshooting = read('docs/do/troubleshooting.md')

describe('docs/look-up/monitoring.md', () => {
  test.each(Object.entries(renderMonitoringTables()))('has the table %s from the code', (_, table) => {
    expect(monitoring).toContain(`${table}\n\n`)
  })

  test('has the normal value of every status field', () => {
    const rows = rowsOf(monitoring, '| field | normal | check when |')
    const words = rows.flatMap(([field = '']) => [...field.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
    const fields = [...new Set(fieldsIn(drStatus))]
    // fields that several objects have; the page on the status describes each of these fields
    const elsewhere = ['cluster_address', 'text', 'since', 'id', 'operation', 'time', 'error']
    expect(fields.filter(name => !words.includes(name) && !elsewhere.includes(name))).toEqual([])
    expect(words.filter(name => !fields.includes(name))).toEqual([])
    for (const row of rows) expect(row.filter(cell => cell === '')).toEqual([])
  })

  test('has a usual cost of at most five dollars a month', () => {
    expect(computeWatchingCost(0).metrics.usual).toBeLessThanOrEqual(5)
  })
})

const faults = faultRows()

const sources = ['shared', 'infra/watching']
  .flatMap(folder =>
    readdirSync(checkoutRoot + folder, { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .map(name => read(`${folder}/${name}`)),
  )
  .join('\n')

describe('docs/do/troubleshooting.md', () => {
  test('has an entry for every alarm with the problem and its solution, in order', () => {
    const [, part = ''] = troubleshooting.split('\n## Alarms\n')
    const [entries = ''] = part.split('\n## ')
    const found = entries
      .split('\n### ')
      .slice(1)
      .map(text => {
        const name = text.slice(0, text.indexOf('\n'))
        const says = /^\w+\n\n[^*]+\n\n\*\*Solution\.\*\* \S/.test(text)
        return [name, says]
      })
    expect(found).toEqual(alarmNames.map(name => [name, true]))
    for (const name of alarmNames)
      expect(alarmPageLink(name)).toBe(`docs/do/troubleshooting.md#${name.toLowerCase()}`)
  })

  test('has more than twenty faults', () => {
    expect(faults.length).toBeGreaterThan(20)
  })

  test.each(faults.map(one => [one.fault, one] as const))(
    'names an existing alarm, field or text for the fault %s',
    (_, one) => {
      const { alarm, field, value, text } = one
      expect([alarm, field, text].filter(Boolean), 'something tells it').not.toEqual([])
      if (alarm !== '') expect(alarmNames).toContain(alarm)
      for (const name of field.split('.').filter(Boolean)) expect(fieldsIn(drStatus)).toContain(name)
      const rows = runPromotionChecks(nothing).map(row => row.name)
      if (field === 'readiness.refused_by') expect(rows).toContain(value)
      if (text !== '') expect(sources).toContain(text)
    },
  )
})

/**
 * Facts of a cluster about which nothing is known. The names of the promotion checks do not depend on these
 * facts.
 */
const nothing: Parameters<typeof runPromotionChecks>[0] = {
  head: undefined,
  primary: { state: 'none' },
  keyring: { opened: 0, failed: [] },
  corrupted: false,
  reindexing: false,
  copied: false,
  format: 1,
  now: 0,
}

describe('a deployment with a dashboard and tracing', () => {
  const settings = { stage: 'test', dashboard: true, tracing: true }
  const resources = resourcesOf(settings)

  test('draws every metric once, and shows every alarm', () => {
    const drawn = dashboardGraphs.flatMap(({ own = [] }) => own)
    expect(drawn.toSorted()).toEqual(Object.keys(metrics).toSorted())
    const [[, dashboard] = [], ...others] = ofType(resources, 'AWS::CloudWatch::Dashboard')
    expect(others).toEqual([])
    const parts = dashboard?.Properties.DashboardBody['Fn::Join'][1] as unknown[]
    // the values of intrinsic functions do not matter for this test
    const body = JSON.parse(parts.map(part => (typeof part === 'string' ? part : 'x')).join(''))
    const [states, ...widgets] = body.widgets
    expect(states.properties.alarms.map((arn: string) => arn.split(':alarm:')[1])).toEqual(
      commonAlarms.map(name => `cloud-auth-test-${name}`),
    )
    expect(widgets.map((one: { properties: { title: string } }) => one.properties.title)).toEqual(
      dashboardGraphs.map(({ title }) => title),
    )
    expect(JSON.stringify(widgets)).toContain(
      `SEARCH('{\\"cloud-auth/test\\",type,outcome,reason} MetricName=\\"Logins\\"', 'Sum', 300)`,
    )
  })

  test('saves every query for the log group that it reads', () => {
    const [[, subscription] = []] = ofType(resources, 'AWS::Logs::SubscriptionFilter')
    const functions = JSON.stringify(subscription?.Properties.LogGroupName)
    const saved = ofType(resources, 'AWS::Logs::QueryDefinition').map(([, { Properties }]) => [
      Properties.Name,
      JSON.stringify(Properties.LogGroupNames[0]) === functions ? 'functions' : 'audit',
      Properties.QueryString,
    ])
    expect(saved.sort()).toEqual(
      Object.entries<SavedLogQuery>(savedLogQueries)
        .map(([name, { group, query }]) => [`cloud-auth-test/${name}`, group, query.join('\n| ')])
        .sort(),
    )
  })

  test('has dashboard, queries and tracing only with the settings, and grants the permission for tracing', () => {
    const plain = resourcesOf({ stage: 'test' })
    const modes = (from: typeof plain) =>
      ofType(from, 'AWS::Lambda::Function').map(([, one]) => one.Properties.TracingConfig?.Mode)
    expect(ofType(plain, 'AWS::CloudWatch::Dashboard')).toEqual([])
    expect(new Set(modes(plain))).toEqual(new Set([undefined]))
    expect(new Set(modes(resources))).toEqual(new Set(['Active']))
    const grants = (from: typeof plain) =>
      ofType(from, 'AWS::IAM::Policy').filter(([, one]) => JSON.stringify(one).includes('xray:'))
    expect(grants(plain)).toEqual([])
    expect(grants(resources)).toHaveLength(modes(resources).length)
  })
})
