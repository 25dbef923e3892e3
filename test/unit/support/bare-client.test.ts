import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  PutCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { failureOf } from '../../../shared/adapters/aws/storage/verdict.ts'
import { bareClient, type TableAnswer, type TableEngine } from '../../support/bare-client.ts'
import { memoryEngine } from '../../support/set/memory-engine.ts'

// Most tests of a service reach its tables past the SDK: what is sent there, and what comes of it, is the same.

const TableName = 'data'
const at = (sk: string) => ({ pk: 'a', sk })
const values = {
  ...{ text: '', long: 2n ** 80n, unsafe: 9_007_199_254_740_993n, small: -1.5, zero: 0 },
  ...{ yes: true, no: false, nothing: null, bytes: new Uint8Array([0, 255]), gone: undefined },
  nested: { list: [1, 'two', [null], { Item: { S: 'x' } }, undefined], empty: {}, constructor: 'odd' },
}
const rev = { ConditionExpression: 'rev = :rev', ExpressionAttributeValues: { ':rev': 'r' } }

const commands: [string, () => object][] = [
  ['a put', () => new PutCommand({ TableName, Item: { ...at('1'), rev: 'r', ...values } })],
  ['a put that is refused', () => new PutCommand({ TableName, Item: at('2'), ...rev })],
  [
    'a put that is refused, and what is in the way',
    () =>
      new PutCommand({
        ...{ TableName, Item: at('1'), ConditionExpression: 'attribute_not_exists(pk)' },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
  ],
  [
    'an update',
    () =>
      new UpdateCommand({
        ...{ TableName, Key: at('1'), UpdateExpression: 'SET #l = :v ADD zero :n', ReturnValues: 'ALL_NEW' },
        ExpressionAttributeNames: { '#l': 'label' },
        ExpressionAttributeValues: { ':v': ['x', 1n], ':n': 5 },
      }),
  ],
  [
    'a transaction',
    () =>
      new TransactWriteCommand({
        ClientRequestToken: 'once',
        TransactItems: [{ Put: { TableName, Item: at('3') } }, { Delete: { TableName, Key: at('4') } }],
      }),
  ],
  [
    'a transaction that is refused',
    () =>
      new TransactWriteCommand({
        ClientRequestToken: 'never',
        TransactItems: [{ Put: { TableName, Item: at('3') } }, { Put: { TableName, Item: at('3'), ...rev } }],
      }),
  ],
  [
    'a batch',
    () => new BatchWriteCommand({ RequestItems: { [TableName]: [{ PutRequest: { Item: at('5') } }] } }),
  ],
  [
    'a batch read',
    () =>
      new BatchGetCommand({
        RequestItems: { [TableName]: { Keys: [at('1'), at('9')], ConsistentRead: true } },
      }),
  ],
  [
    'a query',
    () =>
      new QueryCommand({
        ...{ TableName, KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': 'a' } },
        ExclusiveStartKey: at('0'),
      }),
  ],
  ['a scan', () => new ScanCommand({ TableName })],
  ['a deletion', () => new DeleteCommand({ TableName, Key: at('1') })],
]

/** An engine in memory that notes what it is asked; what is not an operation fails as told. */
function noted(fails?: { statusCode: number; __type: string }) {
  const memory = memoryEngine()
  const asked: object[] = []
  const engine: TableEngine = async ({ operation, input }) => {
    const { ClientRequestToken: _, ...rest } = JSON.parse(JSON.stringify(input)) as Record<string, unknown>
    asked.push({ operation, ...rest })
    if (fails) return { statusCode: fails.statusCode, body: { __type: fails.__type, message: 'said' } }
    const answer = memory.answer(operation, input)
    // of a query and a scan there may be more
    if (operation === 'Query') Object.assign(answer.body, { LastEvaluatedKey: { pk: { S: 'a' } } })
    return answer
  }
  return { engine, asked }
}

/** The SDK's client, over the same engine. */
function sdkClient(engine: TableEngine, maxAttempts = 1): DynamoDBClient {
  const handle = async ({ headers, body }: { headers: Record<string, string>; body: Uint8Array }) => {
    const operation = headers['x-amz-target']?.split('.')[1] ?? ''
    const input = JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>
    const invocation = headers['amz-sdk-invocation-id'] ?? ''
    const { statusCode, body: said } = await engine({ operation, input, invocation })
    const response = { 'content-type': 'application/x-amz-json-1.0' }
    return { response: { statusCode, headers: response, body: Buffer.from(JSON.stringify(said)) } }
  }
  return new DynamoDBClient({
    ...{ endpoint: 'http://tables.test', region: 'us-east-1', maxAttempts },
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    requestHandler: { handle } as never,
  })
}

const translations = {
  rounded: {},
  exact: { unmarshallOptions: { wrapNumbers: (text: string) => text } },
}

/** What comes of a command: its answer, or what the adapters make of its error. */
async function outcome(client: DynamoDBClient, command: object, how: keyof typeof translations) {
  const documents = DynamoDBDocumentClient.from(client, {
    marshallOptions: { removeUndefinedValues: true, convertClassInstanceToMap: true },
    ...translations[how],
  })
  try {
    const { $metadata: _, ...answer } = (await documents.send(command as never)) as Record<string, unknown>
    return { answer }
  } catch (error) {
    const { name, message, CancellationReasons } = error as Record<string, unknown>
    return {
      name,
      message,
      CancellationReasons,
      Item: (error as { Item?: object }).Item,
      failure: failed(error),
    }
  }
}

function failed(error: unknown): unknown {
  try {
    return failureOf(error)
  } catch (other) {
    return other instanceof Error ? other.message : other
  }
}

describe.each(['rounded', 'exact'] as const)('past the SDK, with numbers that are %s', how => {
  test('requests are those of the SDK, and so is what comes of them', async () => {
    const [sdk, bare] = [noted(), noted()]
    for (const [title, command] of commands) {
      const expected = await outcome(sdkClient(sdk.engine), command(), how)
      expect(await outcome(bareClient(bare.engine), command(), how), title).toEqual(expected)
      expect(bare.asked.at(-1), title).toEqual(sdk.asked.at(-1))
    }
  })
})

test.each([
  { statusCode: 500, __type: 'com.amazonaws.dynamodb.v20120810#InternalServerError' },
  { statusCode: 400, __type: 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException' },
  { statusCode: 400, __type: 'com.amazonaws.dynamodb.v20120810#TransactionConflictException' },
  { statusCode: 400, __type: 'com.amazonaws.dynamodb.v20120810#ValidationException' },
])('an error is the one that the SDK throws: $__type', async fails => {
  const command = () => new PutCommand({ TableName, Item: at('1') })
  const expected = await outcome(sdkClient(noted(fails).engine), command(), 'rounded')
  expect(await outcome(bareClient(noted(fails).engine), command(), 'rounded')).toEqual(expected)
})

describe('what fails is repeated as often as by the SDK, as the same call', () => {
  beforeAll(() => void vi.spyOn(Math, 'random').mockReturnValue(0))
  afterAll(() => void vi.restoreAllMocks())
  const broken = Object.assign(new Error('broken'), { name: 'TimeoutError', code: 'ECONNRESET' })
  const answers: Record<string, () => TableAnswer> = {
    'a connection that breaks': () => {
      throw broken
    },
    ...Object.fromEntries(
      [
        [500, 'InternalServerError'],
        [503, 'ServiceUnavailable'],
        [400, 'ProvisionedThroughputExceededException'],
        [400, 'TransactionConflictException'],
        [400, 'TransactionCanceledException'],
        [400, 'TransactionInProgressException'],
        [400, 'ConditionalCheckFailedException'],
        [400, 'ValidationException'],
      ].map(([statusCode, type]) => {
        const body = { __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: 'said' }
        return [`${statusCode} ${type}`, () => ({ statusCode: Number(statusCode), body })]
      }),
    ),
  }
  const put = { Put: { TableName, Item: at('1') } }
  const given = {
    'a put': () => new PutCommand({ TableName, Item: at('1') }),
    'a transaction': () => new TransactWriteCommand({ TransactItems: [put] }),
    'a transaction with a name': () =>
      new TransactWriteCommand({ ClientRequestToken: 'once', TransactItems: [put] }),
  }

  /** Fails so often, then answers. @returns each attempt, ids by the order in which they came */
  async function attempts(
    clientOf: (engine: TableEngine, maxAttempts: number) => DynamoDBClient,
    answer: () => TableAnswer,
    times: number,
  ) {
    const ids = new Map<string, number>()
    const idOf = (id = '') => ids.get(id) ?? ids.set(id, ids.size).size - 1
    const seen: object[] = []
    const engine: TableEngine = async ({ operation, input, invocation }) => {
      const { ClientRequestToken: token } = input as { ClientRequestToken?: string }
      seen.push({ operation, call: idOf(invocation), token: token === 'once' ? token : idOf(token) })
      return seen.length <= times ? answer() : { statusCode: 200, body: {} }
    }
    const client = clientOf(engine, 3)
    const outcomes: unknown[] = []
    for (const command of Object.values(given)) {
      outcomes.push(await outcome(client, command(), 'rounded'))
      outcomes.push(seen.splice(0))
    }
    return outcomes
  }

  test.each(Object.entries(answers))('%s', async (_, answer) => {
    for (const times of [2, 9]) {
      const expected = await attempts(sdkClient, answer, times)
      expect(await attempts(bareClient, answer, times), `${times} times`).toEqual(expected)
    }
  })
})

test('a call that is given up ends', async () => {
  const client = bareClient(() => new Promise(() => undefined))
  const over = new AbortController()
  const call = DynamoDBDocumentClient.from(client).send(new ScanCommand({ TableName }), {
    abortSignal: over.signal,
  })
  over.abort()
  await expect(call).rejects.toMatchObject({ name: 'AbortError' })
})
