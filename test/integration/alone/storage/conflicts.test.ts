import '../../../support/service/over-connections.ts'
import {
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { cluster, eventually, fresh, storage } from '../../../support/service/cluster.ts'

const client = new DynamoDBClient({
  endpoint: cluster.tap_url ?? '',
  region: 'us-east-1',
  credentials: cluster.credentials,
  maxAttempts: 1,
})
afterAll(() => client.destroy())
beforeEach(storage.reset)

const TableName = cluster.tables.data
const keyOf = (name: string) => ({ pk: { S: name }, sk: { S: 'x' } })
const put = (name: string) => ({ Put: { TableName, Item: keyOf(name) } })
const check = (name: string) => ({
  ConditionCheck: { TableName, Key: keyOf(name), ConditionExpression: 'attribute_not_exists(never)' },
})
const transact = (...TransactItems: (ReturnType<typeof put> | ReturnType<typeof check>)[]) =>
  client.send(new TransactWriteItemsCommand({ TransactItems }))
const isThere = async (name: string): Promise<boolean> =>
  (await client.send(new GetItemCommand({ TableName, Key: keyOf(name), ConsistentRead: true }))).Item !==
  undefined

/** Milliseconds of a lock that lasts until the next reset. */
const FOREVER = 600_000

/**
 * Starts a transaction and waits until it has reached the tap. The transaction does not end before the next
 * reset.
 */
async function underWay(...items: Parameters<typeof transact>) {
  const before = (await storage.calls()).length
  const over = transact(...items)
  await eventually(async () => (await storage.calls()).length > before)
  return { over }
}

describe('the DynamoDB test proxy rejects writes to items of a running transaction, as DynamoDB does', () => {
  test('another transaction is cancelled with a reason for each item', async () => {
    await storage.awsLike(FOREVER)
    const [a, b, c] = [fresh(), fresh(), fresh()]
    const { over } = await underWay(put(a), put(b))
    await expect(transact(put(c), put(b))).rejects.toMatchObject({
      name: 'TransactionCanceledException',
      CancellationReasons: [{ Code: 'None' }, { Code: 'TransactionConflict' }],
    })
    await storage.reset()
    await over
    expect([await isThere(a), await isThere(b), await isThere(c)]).toEqual([true, true, false])
  })

  test("a condition check conflicts with another transaction's check of the same item", async () => {
    await storage.awsLike(FOREVER)
    const shared = fresh()
    const { over } = await underWay(put(fresh()), check(shared))
    await expect(transact(put(fresh()), check(shared))).rejects.toMatchObject({
      CancellationReasons: [{ Code: 'None' }, { Code: 'TransactionConflict' }],
    })
    await storage.reset()
    await over
  })

  test.each([
    ['a put', (name: string) => new PutItemCommand({ TableName, Item: keyOf(name) })],
    ['a deletion', (name: string) => new DeleteItemCommand({ TableName, Key: keyOf(name) })],
    ['an update', (name: string) => new UpdateItemCommand({ TableName, Key: keyOf(name) })],
  ])('%s of the item is rejected, of another item succeeds', async (_, write) => {
    await storage.awsLike(FOREVER)
    const name = fresh()
    const { over } = await underWay(put(name))
    await expect(client.send(write(name) as PutItemCommand)).rejects.toMatchObject({
      name: 'TransactionConflictException',
    })
    await client.send(write(fresh()) as PutItemCommand)
    await storage.reset()
    await over
    await client.send(write(name) as PutItemCommand)
  })

  test('single writes never conflict with each other', async () => {
    await storage.awsLike(FOREVER)
    const name = fresh()
    const add = () =>
      client.send(
        new UpdateItemCommand({
          TableName,
          Key: keyOf(name),
          UpdateExpression: 'ADD n :one',
          ExpressionAttributeValues: { ':one': { N: '1' } },
        }),
      )
    await Promise.all(Array.from({ length: 50 }, add))
    const { Item } = await client.send(new GetItemCommand({ TableName, Key: keyOf(name) }))
    expect(Item?.['n']).toEqual({ N: '50' })
  })

  test('without awsLike the engine reports no conflicts', async () => {
    const name = fresh()
    await Promise.all(Array.from({ length: 20 }, () => transact(put(name), put(fresh()))))
    expect((await storage.calls()).filter(({ conflict }) => conflict)).toEqual([])
  })
})

describe('items that are locked', () => {
  test('by name reject all writes until the reset, and allow reads', async () => {
    const name = fresh()
    await storage.take({ table: TableName, pk: name, sk: 'x' }, FOREVER)
    await expect(transact(put(name))).rejects.toMatchObject({ name: 'TransactionCanceledException' })
    expect(await isThere(name)).toBe(false)
    await storage.reset()
    await transact(put(name))
    expect(await isThere(name)).toBe(true)
  })

  test.each([
    ['after', true],
    ['before', false],
  ] as const)(
    'by a stuck transaction reject writes until the transaction takes effect or fails (%s)',
    async (when, done) => {
      const [a, b] = [fresh(), fresh()]
      await storage.fault({ kind: 'stuck', when, stuckMs: FOREVER, operation: 'TransactWriteItems', skip: 0 })
      await expect(transact(put(a), put(b))).rejects.toThrow()
      await expect(transact(put(b))).rejects.toMatchObject({ name: 'TransactionCanceledException' })
      expect(await isThere(a)).toBe(false)
      await storage.reset()
      await eventually(() =>
        transact(put(fresh()), check(b)).then(
          () => true,
          () => false,
        ),
      )
      await eventually(async () => (await isThere(a)) === done)
      expect(await isThere(b)).toBe(done)
    },
  )

  test('the call log lists what a transaction writes and checks', async () => {
    const [a, b] = [fresh(), fresh()]
    await transact(put(a), check(b))
    expect((await storage.calls()).at(-1)?.writes).toEqual([
      { action: 'Put', table: TableName, pk: a, sk: 'x' },
      { action: 'ConditionCheck', table: TableName, pk: b, sk: 'x' },
    ])
  })
})
