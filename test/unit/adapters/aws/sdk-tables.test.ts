import fc from 'fast-check'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createSdkSend } from '../../../../shared/adapters/aws/sdk-tables.ts'
import type { AwsJsonAnswer } from '../../../../shared/adapters/aws/wire/json.ts'
import {
  createTableSend,
  type DynamoDbCall,
  type TableSend,
} from '../../../../shared/adapters/aws/wire/tables.ts'
import { sized } from '../../../support/runner/size.ts'
import { sdkHandler } from '../../../support/service/lean-client.ts'
import { operations } from './wire/sdk-tables.ts'
import { answers, inputs } from './wire/table-values.ts'

// Tests that calls to the tables have the same effect with the SDK and with our own client.

const GENERATED = sized(40, 400)

beforeEach(() => {
  vi.stubEnv('AWS_REGION', 'eu-west-1')
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AK')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  vi.spyOn(Math, 'random').mockReturnValue(0)
  return () => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  }
})

/** Makes an engine that answers all calls alike, and a `Send` of each client to the engine. */
function world() {
  const state = { answer: { statusCode: 200, body: {} } as AwsJsonAnswer, asked: [] as DynamoDbCall[] }
  const engine = async (call: DynamoDbCall): Promise<AwsJsonAnswer> => {
    state.asked.push(JSON.parse(JSON.stringify(call)) as DynamoDbCall)
    return state.answer
  }
  const wire = createTableSend(engine)
  const overWire = vi.fn(wire) as unknown as TableSend & typeof vi.fn
  return { state, wire, overWire, sdk: createSdkSend(overWire, sdkHandler(engine)) }
}

/** Returns the result of a call, and the engine's last request. */
async function outcome(
  send: TableSend,
  state: ReturnType<typeof world>['state'],
  ...call: Parameters<TableSend>
) {
  const end = await send(...call).then(
    value => ({ value }),
    ({ name, message, details, $metadata }) => ({
      name,
      message,
      details,
      status: $metadata?.httpStatusCode,
    }),
  )
  const { operation, input } = state.asked.at(-1) ?? {}
  return { end, operation, input }
}

describe.each(operations)('%s by the SDK, compared with our own client', operation => {
  test('the SDK sends the same request', async () => {
    const { state, wire, sdk } = world()
    await fc.assert(
      fc.asyncProperty(inputs[operation], async input => {
        const over = await outcome(wire, state, operation, structuredClone(input) as never)
        const by = await outcome(sdk, state, operation, structuredClone(input) as never)
        // The SDK adds a token to each attempt at a transaction. The token identifies a repetition on a new
        // connection.
        const { ClientRequestToken: _, ...sent } = by.input as Record<string, unknown>
        const { ClientRequestToken: __, ...expected } = over.input as Record<string, unknown>
        expect({ ...by, input: sent }).toEqual({ ...over, input: expected })
      }),
      { numRuns: GENERATED },
    )
  })

  test.each(['rounded', 'exact'] as const)('the SDK reads the same answer, numbers %s', async numbers => {
    const { state, wire, sdk } = world()
    const input = fc.sample(inputs[operation], { numRuns: 1, seed: 1 })[0] as never
    await fc.assert(
      fc.asyncProperty(answers[numbers][operation], async body => {
        state.answer = { statusCode: 200, body: JSON.parse(JSON.stringify(body)) as object }
        const over = await wire(operation, input, { numbers })
        expect(await sdk(operation, input, { numbers })).toEqual(over)
      }),
      { numRuns: GENERATED },
    )
  })
})

const item = { pk: { S: 'a' }, n: { N: '1' }, b: { B: 'AAE=' } }
const put = { TableName: 'data', Item: { pk: 'a', sk: 'b' } }

test.each([
  [400, 'ConditionalCheckFailedException', { Item: item }],
  [
    400,
    'TransactionCanceledException',
    { CancellationReasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed', Item: item }] },
  ],
  [400, 'ValidationException', {}],
])('error %i %s is read alike, with the refusing item', async (statusCode, name, said) => {
  const { state, wire, sdk } = world()
  const body = { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: 'refused', ...said }
  state.answer = { statusCode, body }
  const over = await outcome(wire, state, 'PutItem', put)
  expect(over.end).toMatchObject({ name, details: said })
  expect(await outcome(sdk, state, 'PutItem', put)).toEqual(over)
})

test.each([
  [400, 'ThrottlingException'],
  [500, 'InternalServerError'],
])('error %i %s is tried three times', async (statusCode, name) => {
  const { state, sdk } = world()
  state.answer = { statusCode, body: { __type: name, message: 'later' } }
  await expect(sdk('PutItem', put)).rejects.toMatchObject({ name })
  expect(state.asked).toHaveLength(3)
})

test('unprocessed keys without names are rejected, as by our own client', async () => {
  const { state, sdk } = world()
  state.answer = { statusCode: 200, body: { UnprocessedKeys: { data: {} } } }
  const RequestItems = { data: { Keys: [{ pk: 'a', sk: 'b' }] } }
  await expect(sdk('BatchGetItem', { RequestItems })).rejects.toMatchObject({ name: 'UnreadableAnswer' })
})

test('a member named __proto__ is sent and read by our own client, because `lib-dynamodb` loses it', async () => {
  const { state, overWire, sdk } = world()
  const Item = { pk: 'a', sk: 'b', meta: JSON.parse('{"__proto__":"x","team":"a"}') as object }
  await sdk('PutItem', { TableName: 'data', Item })
  expect(JSON.stringify(state.asked.at(-1)?.input)).toContain('"__proto__":{"S":"x"}')
  expect(overWire).toHaveBeenCalledTimes(1)
  state.answer = {
    statusCode: 200,
    body: JSON.parse('{"Items":[{"meta":{"M":{"__proto__":{"S":"x"}}}}]}') as object,
  }
  const { Items } = await sdk('Scan', { TableName: 'data' })
  expect(JSON.stringify(Items)).toBe('[{"meta":{"__proto__":"x"}}]')
  expect(overWire).toHaveBeenCalledTimes(2)
})

test('concurrent calls are not mixed up', async () => {
  const { state, sdk } = world()
  await Promise.all(['a', 'b', 'c'].map(pk => sdk('PutItem', { TableName: 'data', Item: { pk, sk: 'x' } })))
  const sent = state.asked.map(({ input }) => (input as { Item: { pk: { S: string } } }).Item.pk.S)
  expect(sent.toSorted()).toEqual(['a', 'b', 'c'])
})
