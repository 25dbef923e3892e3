import { SFN } from '@aws-sdk/client-sfn'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type LocalHost, startLocalHost } from '../../infra/local/host/host.ts'
import type { AlarmName } from '../../infra/watching/alarms.ts'
import { linkPath } from '../../shared/link/routes.ts'
import { workerDefinitions } from '../../shared/workers/workers.ts'
import { call } from '../support/service/api.ts'
import { type CloudWatch, cloudWatch } from '../support/service/cloud-watch.ts'
import { eventually } from '../support/service/cluster.ts'
import { counting, type MetricPoint } from '../support/service/counts.ts'
import { invokeAt } from '../support/service/invoke.ts'
import { frontOption } from '../support/service/other-fronts.ts'

// Alarms on metrics that AWS counts itself: throttled or failed invocations, 5xx answers, failed executions,
// undelivered events. The host counts its own traffic as AWS would. The host's front end is a load balancer,
// which has all these metrics.

const PERIOD = 5 * 60_000

/** CloudWatch's clock. Only the alarms use it. */
let now = Date.UTC(2026, 0, 1)
let watching: CloudWatch
let host: LocalHost
const atOnce: Record<string, number> = {}
let queueAnswers = true

beforeAll(async () => {
  watching = await cloudWatch('loadBalancer')
  host = await startLocalHost({
    cluster: 'counted',
    port: 0,
    memory: true,
    unlisted: true,
    ...frontOption('loadBalancer'),
    observer: await counting('loadBalancer', {
      count: point => watching.counted(point, now),
      atOnce,
      deadLetter: () => {
        if (!queueAnswers) throw new Error('the queue does not answer')
      },
    }),
  })
})
afterAll(() => host?.close())

const isOn = (name: AlarmName): boolean => watching.isOn(name, now)
/** Waits until an alarm is on, because the host counts a moment after it answers. */
const goesOn = (name: AlarmName) => eventually(async () => isOn(name))

/** Runs work while a function may run no request. */
async function refused(folder: string, work: () => Promise<unknown>): Promise<void> {
  atOnce[folder] = 0
  await work().finally(() => delete atOnce[folder])
}

const invoked = (folder: string, event: unknown, how?: 'Event') => invokeAt(host, folder, event, how)

/** Sends more requests than the alarm's threshold in two periods. Returns the statuses of the answers. */
async function often(ask: () => Promise<number>): Promise<Set<number>> {
  const statuses = new Set<number>()
  for (let period = 0; period < 2; period++) {
    if (period > 0) now += PERIOD
    for (let count = 0; count < 11; count++) statuses.add(await ask())
  }
  return statuses
}

const listed = async (): Promise<number> =>
  (await call(host.base_url, 'GET', '/sys/auth', undefined, { token: host.root_token })).status
const login = async (): Promise<number> =>
  (await call(host.base_url, 'POST', '/auth/cloud/login', { role: 'none' })).status
const linked = async (): Promise<number> =>
  (await fetch(`${host.link_address}${linkPath}Heartbeat`, { method: 'POST' })).status

const scenes: Partial<Record<AlarmName, () => Promise<unknown>>> = {
  ServerErrors: async () => {
    await host.control.fault({ service: 'kms', kind: 'error', times: 1000 })
    expect(await often(listed)).toEqual(new Set([503]))
    await host.control.clearFaults({})
    expect(await listed()).toBe(200)
  },
  BalancerErrors: () => refused('login', async () => expect(await often(login)).toEqual(new Set([502]))),
  LinkErrors: () => refused('link', async () => expect(await often(linked)).toEqual(new Set([500]))),
  WorkflowFailed: async () => {
    const credentials = { accessKeyId: host.access_key_id, secretAccessKey: host.secret_access_key }
    const states = new SFN({ region: 'us-east-1', endpoint: host.states_url, credentials })
    const { stateMachines } = await states.listStateMachines({})
    const drill = stateMachines?.find(one => one.name?.endsWith('-drill'))
    // without its settings the drill fails
    const { executionArn } = await states.startExecution({
      stateMachineArn: drill?.stateMachineArn,
      input: '{}',
    })
    await eventually(async () => {
      const { status } = await states.describeExecution({ executionArn })
      return status === 'FAILED' ? true : undefined
    })
  },
  RootGeneration: () => call(host.base_url, 'GET', '/sys/generate-root/attempt'),
  Undelivered: async () => {
    await invoked('on-audit-entries', { no: 'event of a log group' }, 'Event')
    await goesOn('Undelivered')
  },
  Lost: async () => {
    queueAnswers = false
    await invoked('on-audit-entries', { no: 'event of a log group' }, 'Event')
    await goesOn('Lost')
    expect(isOn('Undelivered'), 'nothing came to the queue').toBe(false)
  },
}

/** Lets earlier causes pass: the start, and 5xx answers of throttled functions. */
const quietly = (): void => {
  now += 10 * PERIOD
}

test('the alarm Initialised is raised by an initialisation, and ends by itself', async () => {
  await goesOn('Initialised')
  quietly()
  expect(isOn('Initialised')).toBe(false)
})

test.each(Object.entries(scenes))(
  'the alarm %s is raised by its cause, and ends afterwards',
  async (name, cause) => {
    quietly()
    expect(isOn(name as AlarmName), 'before').toBe(false)
    await cause()
    await goesOn(name as AlarmName)
    quietly()
    expect(isOn(name as AlarmName), 'the cause is gone').toBe(false)
  },
)

describe('one throttled invocation raises the alarm', () => {
  const callers: Record<string, () => Promise<unknown>> = {
    login,
    link: linked,
    'on-audit-entries': () => invoked('on-audit-entries', {}),
  }
  test.each(Object.entries(callers))('Throttled for %s', async (folder, ask) => {
    quietly()
    await ask().catch(() => undefined)
    expect(isOn('Throttled')).toBe(false)
    await refused(folder, ask)
    await goesOn('Throttled')
    quietly()
    expect(isOn('Throttled')).toBe(false)
  })

  test.each(Object.keys(workerDefinitions).filter(name => name !== 'on-audit-entries'))(
    'WorkersThrottled for %s',
    async folder => {
      quietly()
      expect(isOn('WorkersThrottled')).toBe(false)
      await refused(folder, () => invoked(folder, { source: 'aws.events' }))
      await goesOn('WorkersThrottled')
      expect(isOn('Throttled'), 'that is another alarm').toBe(false)
      quietly()
      expect(isOn('WorkersThrottled')).toBe(false)
    },
  )
})

test.each(['httpApi', 'privateRestApi'] as const)(
  '5xx answers raise the alarm ServerErrors of %s',
  async front => {
    const watched = await cloudWatch(front)
    const count = (point: MetricPoint) => watched.counted(point, now)
    const other = await startLocalHost({
      cluster: 'counted-too',
      port: 0,
      memory: true,
      unlisted: true,
      ...frontOption(front),
      observer: await counting(front, { count }),
    })
    onTestFinished(() => other.close())
    const listedThere = async () =>
      (await call(other.base_url, 'GET', '/sys/auth', undefined, { token: other.root_token })).status
    quietly()
    expect(watched.isOn('ServerErrors', now)).toBe(false)
    await other.control.fault({ service: 'kms', kind: 'error', times: 1000 })
    expect(await often(listedThere)).toEqual(new Set([503]))
    await eventually(async () => watched.isOn('ServerErrors', now))
    quietly()
    expect(watched.isOn('ServerErrors', now)).toBe(false)
  },
)
