import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { DeleteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb'
import { DynamoDBStreamsClient, GetRecordsCommand } from '@aws-sdk/client-dynamodb-streams'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { createEngineClient, createEngineTables } from '../../../../infra/local/engine/engine.ts'
import { createWorkActivity, type TrackedWorkActivity } from '../../../../infra/local/lambda/activity.ts'
import { startStreamPollers } from '../../../../infra/local/streams/poller.ts'
import { eventually } from '../../../support/service/cluster.ts'

const region = 'us-east-1'
const credentials = { accessKeyId: 'streams', secretAccessKey: 'of the test' }
const entries = { eventName: ['INSERT'], dynamodb: { Keys: { pk: { S: [{ prefix: 'j#' }] } } } }

interface StreamEvent {
  Records: { eventName: string; dynamodb: { Keys: object; NewImage: Record<string, object> } }[]
}

/** Reports that a function is always running, because in this test the test itself writes. */
function alwaysActive(): TrackedWorkActivity {
  const activity = createWorkActivity()
  void activity.during(new Promise(() => undefined))
  return activity
}

/** Creates a table with a stream, and a function subscribed to it. */
async function listening(take: (event: StreamEvent) => void, activity = alwaysActive()) {
  const { engine, model } = inject('ground')
  const [template] = model.tables.filter(({ stream }) => stream)
  if (!template) throw new Error('no table has a stream')
  const client = createEngineClient(engine, region, credentials)
  const name = `streams-${randomUUID()}`
  await createEngineTables(client, [{ ...template, name, stream: 'NEW_AND_OLD_IMAGES' }])
  const complaints: string[] = []
  const begin = () => {
    const streams = startStreamPollers({
      url: engine,
      region,
      credentials,
      tables: client,
      lambdas: {
        invoke: async (_, event) => take(event as StreamEvent),
        logError: (_, text) => complaints.push(text),
        activity,
      },
      streams: [
        { table: name, functionName: 'f', batchSize: 10, bisect: true, retries: 1, filters: [entries] },
      ],
    })
    onTestFinished(() => streams.close())
    return streams
  }
  const put = (pk: string, sk: string) =>
    client.send(
      new PutItemCommand({
        TableName: name,
        Item: { pk: { S: pk }, sk: { S: sk }, bytes: { B: Buffer.from('abc') } },
      }),
    )
  const remove = (pk: string, sk: string) =>
    client.send(new DeleteItemCommand({ TableName: name, Key: { pk: { S: pk }, sk: { S: sk } } }))
  return { begin, put, remove, complaints }
}

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => String(n).padStart(3, '0'))

describe("a function subscribed to a table's stream", () => {
  test("receives inserts of its partitions in order, in Lambda's format", async () => {
    const told: StreamEvent['Records'] = []
    const table = await listening(({ Records }) => told.push(...Records))
    // the first records may be written before or after the poller starts
    table.begin()
    await eventually(async () => {
      await table.put('j#warm', randomUUID())
      return told.length > 0
    })
    told.length = 0
    for (const sk of numbered(25)) {
      await table.put('j#e', sk)
      await table.put('t#other', sk)
    }
    await table.remove('j#e', '000')
    await table.put('j#e', 'last')
    const ofOurs = () => told.filter(({ dynamodb }) => JSON.stringify(dynamodb.Keys).includes('j#e'))
    await eventually(async () => ofOurs().length >= 26)
    expect(ofOurs().map(({ dynamodb }) => dynamodb.Keys)).toEqual(
      [...numbered(25), 'last'].map(sk => ({ pk: { S: 'j#e' }, sk: { S: sk } })),
    )
    expect(ofOurs()[0]).toMatchObject({
      eventSource: 'aws:dynamodb',
      eventName: 'INSERT',
      dynamodb: { NewImage: { bytes: { B: Buffer.from('abc').toString('base64') } } },
    })
    expect(told.every(({ eventName }) => eventName === 'INSERT')).toBe(true)
  })

  test('receives all records except the record that makes the function fail', async () => {
    const told = new Set<string>()
    const table = await listening(({ Records }) => {
      const names = Records.map(({ dynamodb }) => JSON.stringify(dynamodb.Keys))
      if (names.some(name => name.includes('poison'))) throw new Error('cannot take it')
      for (const name of names) told.add(name)
    })
    table.begin()
    await eventually(async () => {
      await table.put('j#warm', randomUUID())
      return told.size > 0
    })
    await table.put('j#e', 'poison')
    for (const sk of numbered(5)) await table.put('j#e', sk)
    await eventually(async () => numbered(5).every(sk => [...told].some(name => name.includes(sk))))
    expect(table.complaints).toHaveLength(1)
    expect(table.complaints[0]).toContain('cannot take it')
  })
})

test('the stream poller rests while no function runs, and reads again when one writes', async () => {
  const looks = vi.spyOn(DynamoDBStreamsClient.prototype, 'send')
  onTestFinished(() => looks.mockRestore())
  const looked = () => looks.mock.calls.filter(([command]) => command instanceof GetRecordsCommand).length
  const [told, activity] = [new Set<string>(), createWorkActivity()]
  const table = await listening(({ Records }) => {
    for (const { dynamodb } of Records) told.add(JSON.stringify(dynamodb.Keys))
  }, activity)
  table.begin()
  await eventually(async () => looked() > 0)
  const before = looked()
  await setTimeout(1000)
  expect(looked() - before, 'one look is the last before the rest').toBeLessThanOrEqual(1)
  await activity.during(table.put('j#e', 'one'))
  await eventually(async () => told.size === 1)
})
