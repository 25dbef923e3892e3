import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { readSettings } from '../../infra/settings.ts'
import { ofType, type Resource, stacksOf } from './synthesised.ts'

const page = readFileSync(`${checkoutRoot}docs/do/restore.md`, 'utf8')
/** Returns a section of the page, by the number of its title. */
const step = (number: number): string =>
  page.split(/^## /m).find(part => part.startsWith(`${number}. `)) ?? ''

const tables = { dataTable: 'restored-data', clusterTable: 'restored-cluster' }
const clusterStreamArn =
  'arn:aws:dynamodb:eu-west-1:111122223333:table/restored-cluster/stream/2026-07-31T12:00:00.000'

/** Returns the resources of all stacks, whose logical IDs are unique. */
const resourcesWith = (settings: object): Map<string, Resource> =>
  new Map(
    [...stacksOf({ stage: 'test', ...settings }).values()].flatMap(({ Resources }) =>
      Object.entries(Resources),
    ),
  )
const before = resourcesWith({})
const withoutStream = resourcesWith({ restored: tables })
const withStream = resourcesWith({ restored: { ...tables, clusterStreamArn } })

/** Returns types and IDs of the resources that a deployment changes, creates or deletes. */
const difference = (after: Map<string, Resource>): [type: string, id: string][] =>
  [...new Set([...before.keys(), ...after.keys()])].flatMap(id => {
    const [old, now] = [before.get(id), after.get(id)]
    return JSON.stringify(old) === JSON.stringify(now) ? [] : [[(now ?? old)?.Type ?? '', id] as const]
  }) as [string, string][]
const typesIn = (after: Map<string, Resource>) => new Set(difference(after).map(([type]) => type))

describe('a deployment with restored tables', () => {
  test("changes only functions, their grants and the stream's event source, and nothing in the data stack", () => {
    expect(typesIn(withStream)).toEqual(
      new Set(['AWS::IAM::Policy', 'AWS::Lambda::EventSourceMapping', 'AWS::Lambda::Function']),
    )
    expect(typesIn(withoutStream)).toEqual(typesIn(withStream))
  })

  test('leaves the stage and rules unchanged, so the runbook reopens by hand what the runbook closed by hand', () => {
    for (const type of ['AWS::ApiGatewayV2::Stage', 'AWS::ApiGatewayV2::Api', 'AWS::Events::Rule'])
      expect(typesIn(withStream), type).not.toContain(type)
    expect(step(1)).toMatch(/\[ -s stage\.json \] \|\| .*apigatewayv2 get-stage .* stage\.json/)
    expect(step(1)).toMatch(/ThrottlingRateLimit=0,ThrottlingBurstLimit=0/)
    const opened = step(5)
    for (const member of ['DefaultRouteSettings', 'RouteSettings']) expect(opened).toContain(`.${member}`)
    expect(opened).toContain('aws apigatewayv2 update-stage')
    expect(opened).toContain('aws events enable-rule')
    expect(page).not.toMatch(/lifts? the throttle/)
  })

  test("removes the stream's event source, or uses the restored table's stream with `clusterStreamArn`", () => {
    const sources = (from: Map<string, Resource>) =>
      ofType(from, 'AWS::Lambda::EventSourceMapping').map(([, one]) => one.Properties.EventSourceArn)
    expect(sources(before)).toHaveLength(1)
    expect(sources(withoutStream)).toEqual([])
    expect(sources(withStream)).toEqual([clusterStreamArn])
    expect(JSON.stringify([...withStream])).not.toContain('ClusterStream')
    expect(step(4)).toContain('"clusterStreamArn":')
  })

  test('makes every function use the restored tables', () => {
    const changed = new Set(difference(withStream).map(([, id]) => id))
    for (const [id, { Properties }] of ofType(withStream, 'AWS::Lambda::Function')) {
      expect(changed, id).toContain(id)
      const { DATA_TABLE, CLUSTER_TABLE } = Properties.Environment.Variables
      expect([DATA_TABLE, CLUSTER_TABLE]).toEqual(['restored-data', 'restored-cluster'])
    }
  })
})

describe('docs/do/restore.md on stopping', () => {
  test('disables and enables every rule of the workers stack', () => {
    const rules = ofType(before, 'AWS::Events::Rule').filter(
      ([, { Properties }]) => Properties.ScheduleExpression !== undefined,
    )
    expect(rules).toHaveLength(3)
    expect(step(1)).toMatch(/RULES=.*cloud-auth-prod-workers[^`]*ResourceType=='AWS::Events::Rule'/)
    expect(step(1)).toMatch(/for rule in \$RULES; do aws events disable-rule/)
    expect(step(5)).toMatch(/for rule in \$RULES; do aws events enable-rule/)
    expect(step(1)).toMatch(/\bthree\b/)
  })

  test('waits until no workflow and no job runs, and names the longest run of a job', () => {
    expect(step(1)).toContain('aws stepfunctions list-executions')
    const minutes = ofType(before, 'AWS::Lambda::Function').map(([, one]) => one.Properties.Timeout / 60)
    expect(step(1)).toContain(`${Math.max(...minutes)} minutes`)
  })
})

describe('docs/do/restore.md on the tables', () => {
  const own = (id: string): Resource['Properties'] =>
    ofType(before, 'AWS::DynamoDB::GlobalTable').find(([name]) => name.startsWith(id))?.[1].Properties

  test('names every index, which a restore recreates', () => {
    const indexes = ['Data', 'Cluster'].flatMap(id => own(id).GlobalSecondaryIndexes ?? [])
    expect(indexes.map(({ IndexName }) => IndexName)).toEqual(['expiry', 'tree'])
    for (const { IndexName } of indexes) expect(step(2)).toContain(`\`${IndexName}\``)
  })

  test('sets TTL, stream, recovery and protection again as in the template', () => {
    const [, attribute] = /Enabled=true,AttributeName=(\w+)/.exec(step(3)) ?? []
    for (const id of ['Data', 'Cluster']) {
      expect(own(id).TimeToLiveSpecification).toEqual({ AttributeName: attribute, Enabled: true })
      const [replica] = own(id).Replicas
      expect(replica.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled).toBe(true)
      expect(replica.DeletionProtectionEnabled).toBe(true)
    }
    expect(step(3)).toContain('PointInTimeRecoveryEnabled=true')
    expect(step(3)).toContain('--deletion-protection-enabled')
    // only the stream that a function reads is enabled
    const views = [...step(3).matchAll(/StreamViewType=(\w+)/g)].map(([, view]) => view)
    expect(views).toEqual([own('Cluster').StreamSpecification.StreamViewType])
  })

  test('restores the two tables with point-in-time recovery', () => {
    const [, parts = ''] = /for part in ([\w ]+);/.exec(step(2)) ?? []
    const recoverable = ofType(before, 'AWS::DynamoDB::GlobalTable').flatMap(([id, { Properties }]) =>
      Properties.Replicas[0].PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled
        ? [id.startsWith('Data') ? 'data' : 'cluster']
        : [],
    )
    expect(parts.split(' ')).toEqual(recoverable)
  })

  test('has settings that are accepted, and a stream of another table is rejected', () => {
    const [, text = ''] = /-c settings='(\{[\s\S]*?\})'/.exec(step(4)) ?? []
    const given = JSON.parse(text.replace(/,\s*…/, '').replace('<ARN of the stream>', clusterStreamArn)) as {
      restored: { clusterTable: string }
    }
    const { clusterTable } = given.restored
    const ownStream = clusterStreamArn.replace('restored-cluster', clusterTable)
    const settings = (stream: string) => ({
      ...given,
      restored: { ...given.restored, clusterStreamArn: stream },
    })
    expect(() => readSettings(settings(ownStream))).not.toThrow()
    expect(() => readSettings(settings(clusterStreamArn))).toThrow(
      /clusterStreamArn must be the ARN of a stream of/,
    )
    expect(() => readSettings(settings('latest'))).toThrow(/must be the ARN of a stream/)
  })
})
