import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { root } from '../../infra/checkout.ts'
import { readSettings } from '../../infra/settings.ts'
import { ofType, type Resource, stacksOf } from './synthesised.ts'

const page = readFileSync(`${root}docs/do/restore.md`, 'utf8')
/** A section of the page, by the number of its title. */
const step = (number: number): string =>
  page.split(/^## /m).find(part => part.startsWith(`${number}. `)) ?? ''

const tables = { dataTable: 'restored-data', clusterTable: 'restored-cluster' }
const clusterStreamArn =
  'arn:aws:dynamodb:eu-west-1:111122223333:table/restored-cluster/stream/2026-07-31T12:00:00.000'

/** Resources of all stacks: logical ids are unique over them. */
const resourcesWith = (settings: object): Map<string, Resource> =>
  new Map(
    [...stacksOf({ stage: 'test', ...settings }).values()].flatMap(({ Resources }) =>
      Object.entries(Resources),
    ),
  )
const before = resourcesWith({})
const withoutStream = resourcesWith({ restored: tables })
const withStream = resourcesWith({ restored: { ...tables, clusterStreamArn } })

/** Ids, with types, of what a deployment changes, makes or removes. */
const difference = (after: Map<string, Resource>): [type: string, id: string][] =>
  [...new Set([...before.keys(), ...after.keys()])].flatMap(id => {
    const [old, now] = [before.get(id), after.get(id)]
    return JSON.stringify(old) === JSON.stringify(now) ? [] : [[(now ?? old)?.Type ?? '', id] as const]
  }) as [string, string][]
const typesIn = (after: Map<string, Resource>) => new Set(difference(after).map(([type]) => type))

describe('what the deployment with restored tables changes', () => {
  test('is functions and their grants, and the source of the one that a stream wakes: nothing else, and nothing of the data stack', () => {
    expect(typesIn(withStream)).toEqual(
      new Set(['AWS::IAM::Policy', 'AWS::Lambda::EventSourceMapping', 'AWS::Lambda::Function']),
    )
    expect(typesIn(withoutStream)).toEqual(typesIn(withStream))
  })

  test('is not the stage, nor a rule: what was closed by hand is opened by hand, and the page says so', () => {
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

  test('of the source: none without a stream, the restored table’s with the setting that names it', () => {
    const sources = (from: Map<string, Resource>) =>
      ofType(from, 'AWS::Lambda::EventSourceMapping').map(([, one]) => one.Properties.EventSourceArn)
    expect(sources(before)).toHaveLength(1)
    expect(sources(withoutStream)).toEqual([])
    expect(sources(withStream)).toEqual([clusterStreamArn])
    expect(JSON.stringify([...withStream])).not.toContain('ClusterStream')
    expect(step(4)).toContain('"clusterStreamArn":')
  })

  test('leaves no function with the own tables, keys of secrets excepted', () => {
    const changed = new Set(difference(withStream).map(([, id]) => id))
    for (const [id, { Properties }] of ofType(withStream, 'AWS::Lambda::Function')) {
      expect(changed, id).toContain(id)
      const { DATA_TABLE, CLUSTER_TABLE } = Properties.Environment.Variables
      expect([DATA_TABLE, CLUSTER_TABLE]).toEqual(['restored-data', 'restored-cluster'])
    }
  })
})

describe('what the page says of stopping', () => {
  test('every rule of the workers stack is disabled and enabled again, however many there are', () => {
    const rules = ofType(before, 'AWS::Events::Rule').filter(
      ([, { Properties }]) => Properties.ScheduleExpression !== undefined,
    )
    expect(rules).toHaveLength(3)
    expect(step(1)).toMatch(/RULES=.*cloud-auth-prod-workers[^`]*ResourceType=='AWS::Events::Rule'/)
    expect(step(1)).toMatch(/for rule in \$RULES; do aws events disable-rule/)
    expect(step(5)).toMatch(/for rule in \$RULES; do aws events enable-rule/)
    expect(step(1)).toMatch(/\bthree\b/)
  })

  test('nothing may run: neither a workflow nor a job, whose longest run is told', () => {
    expect(step(1)).toContain('aws stepfunctions list-executions')
    const minutes = ofType(before, 'AWS::Lambda::Function').map(([, one]) => one.Properties.Timeout / 60)
    expect(step(1)).toContain(`${Math.max(...minutes)} minutes`)
  })
})

describe('what the page says of the tables', () => {
  const own = (id: string): Resource['Properties'] =>
    ofType(before, 'AWS::DynamoDB::GlobalTable').find(([name]) => name.startsWith(id))?.[1].Properties

  test('all indexes come back with the data, and each is named', () => {
    const indexes = ['Data', 'Cluster'].flatMap(id => own(id).GlobalSecondaryIndexes ?? [])
    expect(indexes.map(({ IndexName }) => IndexName)).toEqual(['expiry', 'tree'])
    for (const { IndexName } of indexes) expect(step(2)).toContain(`\`${IndexName}\``)
  })

  test('what a restore drops is set again as the template has it: expiry, stream, recovery, protection', () => {
    const [, attribute] = /Enabled=true,AttributeName=(\w+)/.exec(step(3)) ?? []
    for (const id of ['Data', 'Cluster']) {
      expect(own(id).TimeToLiveSpecification).toEqual({ AttributeName: attribute, Enabled: true })
      const [replica] = own(id).Replicas
      expect(replica.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled).toBe(true)
      expect(replica.DeletionProtectionEnabled).toBe(true)
    }
    expect(step(3)).toContain('PointInTimeRecoveryEnabled=true')
    expect(step(3)).toContain('--deletion-protection-enabled')
    // only the stream that wakes somebody is switched on
    const views = [...step(3).matchAll(/StreamViewType=(\w+)/g)].map(([, view]) => view)
    expect(views).toEqual([own('Cluster').StreamSpecification.StreamViewType])
  })

  test('both are restored, and no other: what is in the third is not worth it', () => {
    const [, parts = ''] = /for part in ([\w ]+);/.exec(step(2)) ?? []
    const recoverable = ofType(before, 'AWS::DynamoDB::GlobalTable').flatMap(([id, { Properties }]) =>
      Properties.Replicas[0].PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled
        ? [id.startsWith('Data') ? 'data' : 'cluster']
        : [],
    )
    expect(parts.split(' ')).toEqual(recoverable)
  })

  test('the settings of the page are taken, and a stream of another table is not', () => {
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
