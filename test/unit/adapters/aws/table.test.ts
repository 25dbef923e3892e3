import { describe, expect, test } from 'vitest'
import { createDynamoTables } from '../../../../shared/adapters/aws/table.ts'
import { createTableSend } from '../../../../shared/adapters/aws/wire/tables.ts'
import { itemPartitions, key } from '../../../../shared/storage/kinds.ts'
import { NOW } from '../../tokens/support.ts'

/** Makes a store, and records the calls that it makes to an empty engine. */
function world() {
  const inputs: Record<string, unknown>[] = []
  const send = createTableSend(async ({ input }) => {
    inputs.push(input)
    return { statusCode: 200, body: {} }
  })
  const { store } = createDynamoTables(
    {
      tables: { data: 'data', cluster: 'cluster', ceremony: 'ceremony' },
      clock: { now: () => NOW, sleep: async () => undefined },
      entropy: { bytes: length => Buffer.alloc(length), uuid: () => 'uuid' },
      meter: { count: () => undefined, measure: async work => ({ value: await work(), calls: {} }) },
      log: { error: () => undefined },
    },
    send,
  )
  return { store, inputs }
}

describe('strongly consistent reads', () => {
  test('a batch read is consistent in every table', async () => {
    const { store, inputs } = world()
    await store.read([key('role', 'auth_1', 'dev'), key('cluster'), key('ceremony')])
    const [{ RequestItems = {} } = {}] = inputs as {
      RequestItems?: Record<string, { ConsistentRead?: boolean }>
    }[]
    expect(
      Object.entries(RequestItems).map(([table, { ConsistentRead }]) => [table, ConsistentRead]),
    ).toEqual([
      ['data', true],
      ['cluster', true],
      ['ceremony', true],
    ])
  })

  test('a listing is consistent in every partition', async () => {
    const { store, inputs } = world()
    await store.list(itemPartitions('access', 'auth_1'))
    expect(inputs.map(({ ConsistentRead }) => ConsistentRead)).toEqual(Array(16).fill(true))
  })

  test('a scan is consistent', async () => {
    const { store, inputs } = world()
    for await (const { items } of store.scan('token', { index: 0, of: 1 })) expect(items).toEqual([])
    expect(inputs).toMatchObject([{ ConsistentRead: true }])
  })
})
