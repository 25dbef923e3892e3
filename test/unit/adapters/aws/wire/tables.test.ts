import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTableSend, type DynamoDbOperation } from '../../../../../shared/adapters/aws/wire/tables.ts'
import { fromWireItem, toWireItem } from '../../../../../shared/adapters/aws/wire/values.ts'
import { sized } from '../../../../support/runner/size.ts'
import { type Calling, type Engine, operations, sdkCalls, seen, wireCalls } from './sdk-tables.ts'
import { answers, inputs, mutated } from './table-values.ts'

const MUTATED = sized(100, 1000)
const GENERATED = sized(50, 500)

/** Sends a call to an engine with a given answer. */
function asked(calls: (engine: Engine) => Calling) {
  const state = { status: 200, text: '{}', operation: '', input: {} as object }
  const call = calls(({ operation, input }) => {
    Object.assign(state, { operation, input: JSON.parse(JSON.stringify(input)) as object })
    return state
  })
  return { state, call }
}
const sdk = asked(sdkCalls)
const wire = asked(wireCalls)

async function bothAnswer(operation: DynamoDbOperation, text: string, numbers: 'rounded' | 'exact') {
  const settled = async ({ state, call }: typeof sdk) => {
    Object.assign(state, { status: 200, text })
    return call(operation, smallest[operation], numbers).then(
      answer => ({ seen: seen(operation, answer as never) }),
      (error: Error) => ({ error }),
    )
  }
  return { expected: await settled(sdk), got: await settled(wire) }
}

/** An input of each operation that fits any answer. */
const smallest: Record<DynamoDbOperation, object> = {
  BatchGetItem: { RequestItems: { data: { Keys: [{ pk: 'a', sk: 'b' }] } } },
  BatchWriteItem: { RequestItems: { data: [{ PutRequest: { Item: { pk: 'a', sk: 'b' } } }] } },
  DeleteItem: { TableName: 'data', Key: { pk: 'a', sk: 'b' } },
  PutItem: { TableName: 'data', Item: { pk: 'a', sk: 'b' } },
  Query: { TableName: 'data', KeyConditionExpression: 'pk = a' },
  Scan: { TableName: 'data' },
  TransactWriteItems: { TransactItems: [{ Put: { TableName: 'data', Item: { pk: 'a', sk: 'b' } } }] },
  UpdateItem: { TableName: 'data', Key: { pk: 'a', sk: 'b' } },
}

describe.each(operations)('%s, compared with the SDK', operation => {
  test('our client sends the same request', async () => {
    await fc.assert(
      fc.asyncProperty(inputs[operation], async input => {
        Object.assign(sdk.state, { status: 200, text: '{}' })
        await sdk.call(operation, structuredClone(input))
        await wire.call(operation, input)
        expect(wire.state).toMatchObject({ operation, input: sdk.state.input })
        expect(sdk.state).toMatchObject({ operation, input: wire.state.input })
      }),
      { numRuns: GENERATED },
    )
  })

  test.each(['rounded', 'exact'] as const)('our client reads the same answer, numbers %s', async numbers => {
    await fc.assert(
      fc.asyncProperty(answers[numbers][operation], async answer => {
        const { expected, got } = await bothAnswer(operation, JSON.stringify(answer), numbers)
        expect(got).toEqual(expected)
        expect(got).not.toHaveProperty('error')
      }),
      { numRuns: GENERATED },
    )
  })
})

describe.each(operations)('malformed answers to %s', operation => {
  test('malformed answers are read as the SDK reads them, or are rejected', async () => {
    const met = { same: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(mutated(answers.rounded[operation]), async text => {
        const { expected, got } = await bothAnswer(operation, text, 'rounded')
        if ('error' in got) {
          met.refused += 1
          expect(['UnreadableAnswer', 'SyntaxError']).toContain(got.error?.name)
        } else {
          met.same += 1
          expect(got).toEqual(expected)
        }
      }),
      { numRuns: MUTATED },
    )
    expect(met.refused).toBeGreaterThan(MUTATED / 10)
    expect(met.same).toBeGreaterThan(0)
  })
})

test.each([
  { N: '' },
  { N: '0x10' },
  { N: ' 1' },
  { N: 'Infinity' },
  { N: 1 },
  { S: 1 },
  { B: 'a' },
  { BOOL: 'true' },
  { NULL: false },
  { L: {} },
  { M: [] },
  { SS: ['a'] },
  { S: 'a', N: '1' },
  {},
  null,
])('a value that does not fit its type is rejected: %j', async value => {
  const { got } = await bothAnswer('Scan', JSON.stringify({ Items: [{ a: value }] }), 'rounded')
  expect(got).toMatchObject({ error: { name: 'UnreadableAnswer' } })
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, new Set(['a']), new Map(), () => 1])(
  'a value that cannot be stored unchanged is not sent: %s',
  async value => {
    wire.state.operation = ''
    await expect(
      (async () => wire.call('PutItem', { TableName: 'data', Item: { pk: 'a', value } }))(),
    ).rejects.toThrow('cannot be stored')
    expect(wire.state.operation).toBe('')
  },
)

test('an attempt gets the time that its call has left, at most three seconds', async () => {
  const given: number[] = []
  const send = createTableSend(async (_, ms) => {
    given.push(ms)
    return { statusCode: 200, body: {} }
  })
  await send('Scan', { TableName: 'data' })
  await send('Scan', { TableName: 'data' }, { ms: 60_000 })
  await send('Scan', { TableName: 'data' }, { ms: 80 })
  expect(given.slice(0, 2)).toEqual([3000, 3000])
  expect(given[2]).toBeLessThanOrEqual(80)
})

test('a member named __proto__ is stored and read at each depth', () => {
  const text = '{"__proto__":{"admin":true},"meta":{"__proto__":"x","team":"a"}}'
  const read = fromWireItem(JSON.parse(JSON.stringify(toWireItem(JSON.parse(text)))), 'rounded')
  expect(JSON.stringify(read)).toBe(text)
  expect('admin' in read).toBe(false)
})
