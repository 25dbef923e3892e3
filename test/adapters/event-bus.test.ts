import { beforeAll, expect, test } from 'vitest'
import { type RunningProvider, startProvider } from '../../infra/local/provider/provider.ts'
import { createEventBridgeBus } from '../../shared/adapters/aws/event-bus.ts'
import { createCallMeter } from '../../shared/adapters/aws/system.ts'

const ACCOUNT = '111122223333'
const event = {
  type: 'DR role changed',
  time: '2026-11-22T12:00:00Z',
  detail: { cluster: 'c-1', lost: null },
}
let provider: RunningProvider
const put: string[] = []

beforeAll(async () => {
  provider = await startProvider({ onBusEvent: ({ detailType }) => void put.push(detailType) })
  await provider.control.putUser({ account: ACCOUNT, name: 'lambda' })
  const { accessKeyId, secretAccessKey } = await provider.control.createAccessKey({
    account: ACCOUNT,
    user: 'lambda',
  })
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey })
  return () => provider.close()
})

const busAt = (eventsEndpoint: string) =>
  createEventBridgeBus({
    environment: { ownRegion: 'eu-west-1', eventsEndpoint },
    clock: { now: Date.now, sleep: async () => undefined },
    meter: createCallMeter(),
  })

test('events are put unchanged on the default bus of the region, in requests of a size that AWS takes', async () => {
  await busAt(provider.url).put(Array.from({ length: 12 }, () => event))
  const { events } = await provider.control.busEvents({})
  expect(events).toHaveLength(12)
  expect(events[0]).toEqual({
    seq: 1,
    account: ACCOUNT,
    region: 'eu-west-1',
    source: 'cloud-auth',
    detailType: 'DR role changed',
    time: '2026-11-22T12:00:00.000Z',
    detail: event.detail,
  })
  expect(put).toHaveLength(12)
})

test('sending an event fails as busy when the bus cannot be reached or refuses the signature', async () => {
  await expect(busAt('http://127.0.0.1:1').put([event])).rejects.toMatchObject({ code: 'busy' })
  const key = process.env['AWS_SECRET_ACCESS_KEY']
  process.env['AWS_SECRET_ACCESS_KEY'] = 'another'
  await expect(busAt(provider.url).put([event])).rejects.toMatchObject({ code: 'busy' })
  process.env['AWS_SECRET_ACCESS_KEY'] = key
})
