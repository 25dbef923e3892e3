import { describe, expect, test } from 'vitest'
import { readSettings } from '../../infra/settings.ts'
import { ofType, resourcesOf } from './synthesised.ts'

const WORKERS = ['cloud-auth: on-account-facts', 'cloud-auth: on-instance-event']
const account = '444455556666'

const withEvents = (accounts?: string[]) =>
  resourcesOf({ stage: 'test', instanceEvents: accounts ? { accounts } : {} })
const workersIn = (resources: ReturnType<typeof resourcesOf>) =>
  ofType(resources, 'AWS::Lambda::Function')
    .map(([id, { Properties }]) => ({ id, description: String(Properties.Description) }))
    .filter(({ description }) => WORKERS.includes(description))

describe('the setting instanceEvents', () => {
  test('adds two workers with a rule each, and nothing is added without the setting', () => {
    const [plain, made] = [resourcesOf({ stage: 'test' }), withEvents()]
    expect(workersIn(plain)).toEqual([])
    expect(workersIn(made).map(({ description }) => description)).toEqual(WORKERS.toReversed())
    const added = [...made].filter(([id]) => !plain.has(id)).map(([, { Type }]) => Type)
    expect(new Set(added)).toEqual(
      new Set([
        'AWS::Events::Rule',
        'AWS::IAM::Policy',
        'AWS::IAM::Role',
        'AWS::Lambda::EventInvokeConfig',
        'AWS::Lambda::Function',
        'AWS::Lambda::Permission',
      ]),
    )
    expect([...plain.keys()].filter(id => !made.has(id))).toEqual([])
    const throttled = (resources: typeof plain) =>
      ofType(resources, 'AWS::CloudWatch::Alarm').find(([id]) => id.startsWith('WorkersThrottled'))?.[1]
        .Properties.Metrics.length
    expect(throttled(made)).toBe(throttled(plain) + WORKERS.length)
  })

  test('sends the ends of instances of the own and the listed accounts to on-instance-event', () => {
    const made = withEvents([account])
    const [, rule] =
      ofType(made, 'AWS::Events::Rule').find(
        ([, { Properties }]) => Properties.EventPattern?.source[0] === 'aws.ec2',
      ) ?? []
    expect(rule?.Properties.EventPattern).toEqual({
      source: ['aws.ec2'],
      account: [{ Ref: 'AWS::AccountId' }, account],
      'detail-type': ['EC2 Instance State-change Notification'],
      detail: { state: ['shutting-down', 'terminated'] },
    })
    const worker = workersIn(made).find(({ description }) => description.endsWith('on-instance-event'))
    expect(rule?.Properties.Targets[0].Arn).toEqual({ 'Fn::GetAtt': [worker?.id, 'Arn'] })
  })

  test('lets only the listed accounts put only events of this kind on the bus', () => {
    expect(ofType(withEvents(), 'AWS::Events::EventBusPolicy')).toEqual([])
    const [[, policy] = []] = ofType(withEvents([account]), 'AWS::Events::EventBusPolicy')
    expect(policy?.Properties.Statement).toMatchObject({
      Effect: 'Allow',
      Principal: { AWS: [account] },
      Action: 'events:PutEvents',
      Condition: {
        StringEquals: {
          'events:source': 'aws.ec2',
          'events:detail-type': 'EC2 Instance State-change Notification',
        },
      },
    })
  })

  test('refuses what is not an account, and more accounts than a pattern can hold', () => {
    const read = (accounts: string[]) => () => readSettings({ stage: 'test', instanceEvents: { accounts } })
    expect(read(['o-a1b2c3d4e5'])).toThrow('instanceEvents.accounts.0: must be an account ID of 12 digits')
    expect(read(Array(101).fill(account))).toThrow('must name at most 100 accounts')
    expect(JSON.stringify({ account: Array(100).fill(account) }).length).toBeLessThan(1800)
  })
})
