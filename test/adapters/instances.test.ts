import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type RunningProvider as Aws, startProvider } from '../../infra/local/provider/provider.ts'
import type { LambdaEnvironment } from '../../shared/adapters/aws/environment.ts'
import { createEc2Instances } from '../../shared/adapters/aws/instances.ts'
import { createAwsProvider } from '../../shared/adapters/aws/provider.ts'
import { createCallMeter, systemClock } from '../../shared/adapters/aws/system.ts'
import type { AwsTarget } from '../../shared/ports.ts'
import { Secret } from '../../shared/values/secret.ts'
import '../support/service/sdk-clients.ts'

const HOME = '111122223333'
const FOREIGN = '444455556666'
const REGION = 'eu-west-1'
const id = (number: number): string => `i-${number.toString(16).padStart(17, '0')}`
const idsTo = (count: number): string[] => Array.from({ length: count }, (_, index) => id(index + 1))

let aws: Aws
let target: AwsTarget
beforeAll(async () => {
  vi.stubEnv('AWS_REGION', REGION)
  aws = await startProvider({ home: { account: HOME, region: REGION } })
  await aws.control.putUser({ account: HOME, name: 'server' })
  const pair = await aws.control.createAccessKey({ account: HOME, user: 'server' })
  const { arn } = await aws.control.putRole({ account: FOREIGN, name: 'reader' })
  for (const instanceId of idsTo(130))
    await aws.control.putInstance({ account: HOME, region: REGION, instanceId })
  await aws.control.putInstance({ account: FOREIGN, region: REGION, instanceId: id(200) })
  const client = {
    version: 'v',
    maxRetries: -1,
    stsRegion: '',
    endpoint: aws.url,
    iamEndpoint: aws.url,
    stsEndpoint: aws.url,
    credentials: { accessKey: pair.accessKeyId, secretKey: new Secret(pair.secretAccessKey) },
  }
  target = { account: HOME, region: REGION, client }
  satellite = { ...target, account: FOREIGN, assume: { role: arn, externalId: '' } }
  return async () => {
    vi.unstubAllEnvs()
    await aws.close()
  }
})
let satellite: AwsTarget

beforeEach(async () => {
  await aws.control.clearFaults()
  await aws.control.clearLimits()
  await aws.control.resetCalls()
})

const meter = createCallMeter()

/** Returns the port for instances, as a new environment has it. */
function instances() {
  const environment = { cloudKeys: { accessKey: '', secretKey: '' }, onLambda: true } as LambdaEnvironment
  return createEc2Instances(createAwsProvider({ environment, clock: systemClock, meter }), {
    clock: systemClock,
    meter,
  })
}

/** Looks up instances. Returns the ID of each, or the message of its error. */
async function found(all: readonly string[], { to = target, port = instances() } = {}) {
  const asked = all.map(one => port.describe(to, one, Date.now() + 10_000))
  const told = await Promise.all(
    asked.map(one =>
      one.then(
        instance => instance?.id ?? 'none',
        (error: Error) => error.message,
      ),
    ),
  )
  return told
}

/** Returns for each EC2 call its status and the IDs that it named, in a filter or alone. */
async function described(): Promise<string[]> {
  const { calls } = await aws.control.calls()
  const ec2 = calls.filter(({ action }) => action === 'DescribeInstances')
  return ec2.map(({ body, status }) => {
    const form = [...new URLSearchParams(body)]
    const values = (name: RegExp) => form.filter(([key]) => name.test(key)).map(([, value]) => value)
    const [filter] = values(/^Filter\.1\.Name$/)
    const told = filter === 'instance-id' ? values(/^Filter\.1\.Value\.\d+$/) : values(/^InstanceId\.1$/)
    return `${status} ${filter === undefined ? 'alone' : 'filter'} ${told.length > 2 ? told.length : told}`
  })
}

describe('concurrent look-ups of instances', () => {
  test('use one call for the first instance, and one call with a filter for all other instances', async () => {
    expect(await found(idsTo(20))).toEqual(idsTo(20))
    expect(await described()).toEqual([`200 alone ${id(1)}`, '200 filter 19'])
  })

  test('put at most a hundred IDs into a call', async () => {
    expect(await found(idsTo(130))).toEqual(idsTo(130))
    expect(await described()).toEqual([`200 alone ${id(1)}`, '200 filter 100', '200 filter 29'])
  })

  test('look-ups one after the other share no call and cache nothing', async () => {
    const port = instances()
    for (const one of [id(1), id(1), id(2)]) expect(await found([one], { port })).toEqual([one])
    expect(await described()).toEqual([1, 1, 2].map(one => `200 alone ${id(one)}`))
  })

  test('an unknown instance fails no other look-up and is looked up again alone', async () => {
    expect(await found([id(1), id(2), id(999), id(3)])).toEqual([id(1), id(2), 'none', id(3)])
    expect(await described()).toEqual([`200 alone ${id(1)}`, '200 filter 3', `400 alone ${id(999)}`])
  })

  test('an answer with instances of another account does not count (CVE-2025-11621)', async () => {
    const instance = (account: string, one: string) =>
      `<item><reservationId>r-1</reservationId><ownerId>${account}</ownerId><instancesSet><item><instanceId>${one}</instanceId><instanceState><code>16</code><name>running</name></instanceState></item></instancesSet></item>`
    const body = `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet>${instance(HOME, id(2))}${instance(FOREIGN, id(999))}</reservationSet></DescribeInstancesResponse>`
    const answer = { status: 200, contentType: 'text/xml', body }
    await aws.control.fault({ service: 'ec2', kind: 'answer', skip: 1, answer })
    expect(await found([id(1), id(2), id(999)])).toEqual([id(1), id(2), 'none'])
    await aws.control.fault({ service: 'ec2', kind: 'answer', answer })
    expect(await found([id(999)])).toEqual(['none'])
  })

  test('look-ups of different accounts, regions or configurations share no call', async () => {
    const port = instances()
    const others = [
      { ...target, region: 'us-east-1' },
      { ...target, client: { ...target.client, version: 'w' } },
    ]
    const all = [
      found([id(1), id(2)], { port }),
      found([id(200), id(201)], { port, to: satellite }),
      ...others.map(to => found([id(3)], { port, to })),
    ]
    expect(await Promise.all(all)).toEqual([[id(1), id(2)], [id(200), 'none'], ['none'], [id(3)]])
    expect((await described()).toSorted()).toEqual(
      [
        ...[id(1), id(2), id(200), id(3)].map(one => `200 alone ${one}`),
        ...[id(201), id(3)].map(one => `400 alone ${one}`),
      ].toSorted(),
    )
  })

  test('after a shared call failed each instance is looked up alone', async () => {
    await aws.control.fault({
      service: 'ec2',
      kind: 'error',
      status: 403,
      code: 'UnauthorizedOperation',
      skip: 1,
    })
    expect(await found(idsTo(3))).toEqual(idsTo(3))
    const [first, shared, ...alone] = await described()
    expect([first, shared]).toEqual([`200 alone ${id(1)}`, `403 filter ${id(2)},${id(3)}`])
    // both are sent at the same time, so their order varies
    expect(alone.sort()).toEqual([`200 alone ${id(2)}`, `200 alone ${id(3)}`])
  })

  test('a shared call that is throttled is repeated', async () => {
    await aws.control.fault({ service: 'ec2', kind: 'throttle', times: 3, skip: 1 })
    expect(await found(idsTo(9))).toEqual(idsTo(9))
    const calls = await described()
    expect(calls.map(call => call.slice(0, 3))).toEqual(['200', '503', '503', '503', '200'])
    expect(calls.at(-1)).toBe('200 filter 8')
  })

  test('a look-up of one instance is repeated max_retries times when EC2 throttles the look-up', async () => {
    const to = { ...target, client: { ...target.client, maxRetries: 1 } }
    await aws.control.fault({ service: 'ec2', kind: 'throttle', times: 9 })
    expect(await found([id(1)], { to })).toEqual(['EC2 is throttling requests'])
    expect(await described()).toHaveLength(2)
  })

  test('each look-up counts one call', async () => {
    const port = instances()
    const counts = idsTo(3).map(one => meter.measure(() => found([one], { port })))
    const told = await Promise.all(counts)
    expect(told.map(({ calls }) => calls['ec2'])).toEqual([1, 1, 1])
  })

  test('300 look-ups under a limit of 20 calls a second need at most six calls', async () => {
    await aws.control.limit({ service: 'ec2', action: 'DescribeInstances', perSecond: 20, burst: 2 })
    const environments = Array.from({ length: 3 }, () => found(idsTo(100)))
    for (const told of await Promise.all(environments)) expect(told).toEqual(idsTo(100))
    const served = (await described()).filter(call => call.startsWith('200'))
    expect(served.length, 'two for each environment').toBeLessThanOrEqual(6)
  })
})
