import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createEngineClient, createEngineTables } from '../../../infra/local/engine/engine.ts'
import { type EngineWire, openEngineWire } from '../../support/faults/engine-wire.ts'
import { unsigned } from '../../support/service/lean-client.ts'
import { memoryEngine } from '../../support/tables/memory-engine.ts'

// Most tests of sets keep their tables in memory. The in-memory engine must answer like the real engine.

const key = (pk: string, sk: string) => ({ pk: { S: pk }, sk: { S: sk } })
const item = (pk: string, sk: string, more: object = {}) => ({ ...key(pk, sk), ...more })
const due = (sk: string, at: number) => item('due', sk, { due: { N: String(at) }, rev: { S: 'r' } })

let TableName = ''
let wire: EngineWire
const memory = memoryEngine()

beforeAll(async () => {
  const { engine, model } = inject('ground')
  const [data] = model.tables.filter(({ name }) => name.toLowerCase().includes('data'))
  if (!data) throw new Error('there is no data table')
  TableName = `${data.name}-${randomUUID()}`
  const { ttl: _, ...table } = data
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  await createEngineTables(createEngineClient(engine, 'us-east-1', credentials), [
    { ...table, name: TableName },
  ])
  wire = openEngineWire(engine)
})
afterAll(() => wire.close())

async function atEngine(operation: string, input: object): Promise<{ statusCode: number; body: object }> {
  const headers = {
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-target': `DynamoDB_20120810.${operation}`,
    ...unsigned('test'),
  }
  const { statusCode, body } = await wire.send({ headers, body: Buffer.from(JSON.stringify(input)) })
  return { statusCode, body: JSON.parse(body.toString('utf8')) as object }
}

/** Returns the parts of an answer that the adapters read. */
function told({ statusCode, body }: { statusCode: number; body: object }, sorted: boolean) {
  const { __type, Item, Items, Count, LastEvaluatedKey, Responses, CancellationReasons, Attributes } =
    body as Record<string, never>
  const listed = (items: unknown[]) =>
    items.map(one => JSON.stringify(one, Object.keys(one as object).sort()))
  const inOrder = (items?: unknown[]) =>
    items && (sorted ? (items as { sk: { S: string } }[]).map(({ sk }) => sk.S) : listed(items).sort())
  return {
    statusCode,
    type: String(__type ?? '').split('#')[1],
    reasons: (CancellationReasons as { Code: string }[] | undefined)?.map(({ Code }) => Code),
    Item,
    Count,
    LastEvaluatedKey,
    Attributes,
    items: inOrder(Items),
    read: inOrder((Responses as Record<string, unknown[]> | undefined)?.[TableName]),
  }
}

type Request = [title: string, operation: string, input: () => object]

const put = (Item: object, more: object = {}) => ({ TableName, Item, ...more })
const rev = (text: string) => ({ ExpressionAttributeValues: { ':rev': { S: text } } })
const transaction = (token: string, ...TransactItems: object[]) => ({
  ClientRequestToken: token,
  TransactItems,
})
const [once, twice, never] = [randomUUID(), randomUUID(), randomUUID()]
const query = (condition: string, values: object, more: object = {}) => ({
  TableName,
  KeyConditionExpression: condition,
  ExpressionAttributeValues: values,
  ...more,
})

const writesOnce = () =>
  transaction(
    once,
    { Put: put(item('b', '1', { bucket: { S: 'one' } })) },
    { Put: put(item('b', '2', { bucket: { S: 'one' } })) },
    {
      Update: {
        TableName,
        Key: key('a', '1'),
        UpdateExpression: 'ADD n :n',
        ExpressionAttributeValues: { ':n': { N: '-5' } },
      },
    },
  )

const requests: Request[] = [
  [
    'creating an item',
    'PutItem',
    () =>
      put(item('a', '1', { rev: { S: 'x' }, n: { N: '1' } }), {
        ConditionExpression: 'attribute_not_exists(pk)',
      }),
  ],
  [
    'creating an existing item',
    'PutItem',
    () => put(item('a', '1'), { ConditionExpression: 'attribute_not_exists(pk)' }),
  ],
  [
    'a failed conditional put that returns the old item',
    'PutItem',
    () =>
      put(item('a', '1'), {
        ConditionExpression: 'rev = :rev',
        ...rev('y'),
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
  ],
  [
    'a conditional put of the next revision',
    'PutItem',
    () =>
      put(item('a', '1', { rev: { S: 'y' }, n: { N: '5' } }), {
        ConditionExpression: 'attribute_exists(pk) AND rev = :rev',
        ...rev('x'),
      }),
  ],
  [
    'an update that adds, sets and removes',
    'UpdateItem',
    () => ({
      TableName,
      Key: key('a', '1'),
      UpdateExpression: 'SET #s = :s ADD n :n REMOVE rev',
      ExpressionAttributeNames: { '#s': 'status' },
      ExpressionAttributeValues: { ':s': { S: 'new' }, ':n': { N: '123456789012345678901234567890' } },
      ReturnValues: 'ALL_NEW',
    }),
  ],
  [
    'an update of a missing item',
    'UpdateItem',
    () => ({
      TableName,
      Key: key('a', '2'),
      UpdateExpression: 'ADD n :n',
      ExpressionAttributeValues: { ':n': { N: '7' } },
      ReturnValues: 'ALL_NEW',
    }),
  ],
  [
    'an update whose condition fails',
    'UpdateItem',
    () => ({
      TableName,
      Key: key('a', '2'),
      UpdateExpression: 'ADD n :n',
      ConditionExpression: 'n < :n OR attribute_not_exists(n)',
      ExpressionAttributeValues: { ':n': { N: '7' } },
    }),
  ],
  [
    'a deletion whose condition fails',
    'DeleteItem',
    () => ({
      TableName,
      Key: key('a', '2'),
      ConditionExpression: 'NOT n IN (:a, :b)',
      ExpressionAttributeValues: { ':a': { N: '6' }, ':b': { N: '7' } },
    }),
  ],
  [
    'a conditional deletion',
    'DeleteItem',
    () => ({
      TableName,
      Key: key('a', '2'),
      ConditionExpression: 'n >= :a',
      ExpressionAttributeValues: { ':a': { N: '7' } },
    }),
  ],
  ['a deletion of a missing item', 'DeleteItem', () => ({ TableName, Key: key('a', '2') })],
  ['a transaction', 'TransactWriteItems', writesOnce],
  ['the same transaction again', 'TransactWriteItems', writesOnce],
  [
    'a transaction with a failed check',
    'TransactWriteItems',
    () =>
      transaction(
        never,
        { Put: put(item('b', '9')) },
        {
          ConditionCheck: { TableName, Key: key('b', '1'), ConditionExpression: 'attribute_not_exists(pk)' },
        },
        { Delete: { TableName, Key: key('b', '2') } },
      ),
  ],
  [
    'a failed transaction that returns the old items',
    'TransactWriteItems',
    () => {
      const asking = {
        ConditionExpression: 'attribute_not_exists(pk)',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }
      const TransactItems = [
        { Put: put(item('b', '1'), asking) },
        { Put: put(item('b', '7'), asking) },
        { Put: put(item('b', '2'), { ConditionExpression: 'attribute_not_exists(pk)' }) },
      ]
      return { TransactItems }
    },
  ],
  [
    'a transaction with a successful check',
    'TransactWriteItems',
    () =>
      transaction(
        twice,
        { Put: put(item('b', '3', { bucket: { S: 'two' } })) },
        {
          ConditionCheck: {
            TableName,
            Key: key('b', '1'),
            ConditionExpression: 'begins_with(#bucket, :o)',
            ExpressionAttributeNames: { '#bucket': 'bucket' },
            ExpressionAttributeValues: { ':o': { S: 'on' } },
          },
        },
        { Delete: { TableName, Key: key('b', '2') } },
      ),
  ],
  ...[30, 4, 100].map(
    (at): Request => [`an item that is due at ${at}`, 'PutItem', () => put(due(`d${at}`, at))],
  ),
  [
    'a batch read',
    'BatchGetItem',
    () => ({
      RequestItems: {
        [TableName]: {
          ConsistentRead: true,
          Keys: [key('a', '1'), key('b', '2'), key('b', '3'), key('none', '1')],
        },
      },
    }),
  ],
  ['a partition', 'Query', () => query('pk = :pk', { ':pk': { S: 'b' } })],
  [
    'a partition after a key',
    'Query',
    () => query('pk = :pk AND sk > :after', { ':pk': { S: 'b' }, ':after': { S: '1' } }),
  ],
  ['the first items of a partition', 'Query', () => query('pk = :pk', { ':pk': { S: 'due' } }, { Limit: 2 })],
  [
    'a partition after a deleted item',
    'Query',
    () => query('pk = :pk', { ':pk': { S: 'due' } }, { Limit: 1, ExclusiveStartKey: key('due', 'd2') }),
  ],
  [
    'the first due item',
    'Query',
    () =>
      query(
        'pk = :pk AND due < :before',
        { ':pk': { S: 'due' }, ':before': { N: '99' } },
        { IndexName: 'expiry', Limit: 1 },
      ),
  ],
  ['an empty partition', 'Query', () => query('pk = :pk', { ':pk': { S: 'none' } })],
  [
    'due items',
    'Query',
    () =>
      query(
        'pk = :pk AND due < :before',
        { ':pk': { S: 'due' }, ':before': { N: '99' } },
        { IndexName: 'expiry' },
      ),
  ],
  [
    'items of a bucket',
    'Query',
    () =>
      query(
        '#bucket = :bucket',
        { ':bucket': { S: 'one' } },
        { IndexName: 'tree', ExpressionAttributeNames: { '#bucket': 'bucket' } },
      ),
  ],
  ['everything', 'Scan', () => ({ TableName })],
  [
    'a filtered scan',
    'Scan',
    () => ({
      TableName,
      FilterExpression: 'attribute_exists(due) AND due <> :d',
      ExpressionAttributeValues: { ':d': { N: '4' } },
    }),
  ],
]

// the index returns keys only, and the adapters read nothing else from it
const byKeys = ['items of a bucket', 'due items']

test.each(requests)(
  'the in-memory storage engine answers like the real storage engine: %s',
  async (title, operation, input) => {
    const sorted = byKeys.includes(title) || title.includes('partition')
    const [expected, found] = [
      told(await atEngine(operation, input()), sorted),
      told(memory.answer(operation, input()), sorted),
    ]
    expect(found).toEqual(expected)
  },
)

test('the pages of a scan contain every item once', () => {
  type Page = { Items: unknown[]; LastEvaluatedKey?: object }
  const all = (memory.answer('Scan', { TableName }).body as Page).Items
  const pages: unknown[][] = []
  let from: object | undefined
  do {
    const { Items, LastEvaluatedKey } = memory.answer('Scan', {
      TableName,
      Limit: 2,
      ...(from ? { ExclusiveStartKey: from } : {}),
    }).body as Page
    pages.push(Items)
    from = LastEvaluatedKey
  } while (from)
  expect(
    pages
      .flat()
      .map(one => JSON.stringify(one))
      .sort(),
  ).toEqual(all.map(one => JSON.stringify(one)).sort())
  expect(pages.every(page => page.length <= 2)).toBe(true)
})

test('the segments of a scan contain every item once', () => {
  const segment = (Segment: number) =>
    memory.answer('Scan', { TableName, Segment, TotalSegments: 3 }).body as { Items: unknown[] }
  const all = memory.answer('Scan', { TableName }).body as { Items: unknown[] }
  const parts = [0, 1, 2].flatMap(one => segment(one).Items).map(one => JSON.stringify(one))
  expect(parts.sort()).toEqual(all.Items.map(one => JSON.stringify(one)).sort())
})

test('a key condition with an empty name is refused, as by DynamoDB, although the real engine accepts it', () => {
  const values = { ':pk': { S: 'a' }, ':after': { S: '' } }
  expect(memory.answer('Query', query('pk = :pk AND sk > :after', values))).toMatchObject({ statusCode: 400 })
})
