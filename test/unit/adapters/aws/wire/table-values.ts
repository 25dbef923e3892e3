import fc from 'fast-check'
import type { DynamoDbOperation } from '../../../../../shared/adapters/aws/wire/tables.ts'

// Generates inputs and answers of every operation on the tables.

const name = fc.string({ minLength: 1, maxLength: 8 }).filter(text => text !== '__proto__')
const number = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }),
)
const bytes = fc.uint8Array({ maxLength: 12 })

/** Values as the storage uses them. */
const { plain } = fc.letrec(tie => ({
  plain: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.string(),
    number,
    fc.bigInt({ min: -(10n ** 38n), max: 10n ** 38n }),
    fc.boolean(),
    fc.constant(null),
    fc.constant(undefined),
    bytes,
    fc.array(tie('plain'), { maxLength: 4 }),
    fc.dictionary(name, tie('plain'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))

const place = fc.record({ pk: fc.string({ minLength: 1 }), sk: fc.string({ minLength: 1 }) })
const item = fc
  .tuple(place, fc.dictionary(name, plain, { maxKeys: 5, noNullPrototype: true }))
  .map(([key, rest]) => ({ ...rest, ...key }))
const expression = {
  ConditionExpression: fc.string({ minLength: 1 }),
  ExpressionAttributeNames: fc.dictionary(name, name, { maxKeys: 2, noNullPrototype: true }),
  ExpressionAttributeValues: fc.dictionary(name, plain, { maxKeys: 3, noNullPrototype: true }),
}
const TableName = fc.constant('data')
const optional = <T extends object>(required: T, more: object) =>
  fc.record({ ...required, ...more } as Record<string, fc.Arbitrary<unknown>>, {
    requiredKeys: Object.keys(required),
  })
const put = optional({ TableName, Item: item }, expression)
const deletion = optional({ TableName, Key: place }, expression)
const update = optional({ TableName, Key: place, UpdateExpression: fc.string({ minLength: 1 }) }, expression)
const page = { ExclusiveStartKey: item, Limit: fc.integer({ min: 1, max: 500 }), ...expression }
const tables = <T>(value: fc.Arbitrary<T>) =>
  fc.dictionary(fc.constantFrom('data', 'cluster', 'ceremony'), value, {
    minKeys: 1,
    noNullPrototype: true,
  })
const { ConditionExpression: _, ...filters } = page

export const inputs: Record<DynamoDbOperation, fc.Arbitrary<object>> = {
  BatchGetItem: fc.record({
    RequestItems: tables(
      fc.record({ ConsistentRead: fc.constant(true), Keys: fc.array(place, { minLength: 1, maxLength: 5 }) }),
    ),
  }),
  BatchWriteItem: fc.record({
    RequestItems: tables(fc.array(fc.record({ PutRequest: fc.record({ Item: item }) }), { maxLength: 4 })),
  }),
  DeleteItem: deletion,
  PutItem: put,
  Query: optional({ TableName, KeyConditionExpression: fc.string({ minLength: 1 }) }, filters),
  Scan: optional({ TableName, Segment: fc.nat(3), TotalSegments: fc.constant(4) }, filters),
  TransactWriteItems: fc.record({
    ClientRequestToken: fc.uuid(),
    TransactItems: fc.array(
      fc.oneof(
        fc.record({ Put: put }),
        fc.record({ Update: update }),
        fc.record({ Delete: deletion }),
        fc.record({ ConditionCheck: deletion }),
      ),
      { minLength: 1, maxLength: 4 },
    ),
  }),
  UpdateItem: optional({ TableName, Key: place, ReturnValues: fc.constant('ALL_NEW') }, expression),
}

/**
 * Generates values in DynamoDB's form.
 * @param digits digits of numbers
 */
const wireOf = (digits: fc.Arbitrary<string>) =>
  fc.letrec(tie => ({
    wire: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.record({ S: fc.string() }),
      fc.record({ N: digits }),
      fc.record({ BOOL: fc.boolean() }),
      fc.record({ NULL: fc.constant(true) }),
      fc.record({ B: bytes.map(one => Buffer.from(one).toString('base64')) }),
      fc.record({ L: fc.array(tie('wire'), { maxLength: 3 }) }),
      fc.record({ M: fc.dictionary(name, tie('wire'), { maxKeys: 3, noNullPrototype: true }) }),
    ),
  })).wire

const integer = fc.bigInt({ min: -(10n ** 37n), max: 10n ** 37n }).map(String)
const decimal = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }).map(String)

function answersOf(digits: fc.Arbitrary<string>): Record<DynamoDbOperation, fc.Arbitrary<object>> {
  const wireItem = fc.dictionary(name, wireOf(digits), { maxKeys: 4, noNullPrototype: true })
  const pages = fc.record(
    { Items: fc.array(wireItem, { maxLength: 3 }), LastEvaluatedKey: wireItem },
    {
      requiredKeys: [],
    },
  )
  return {
    BatchGetItem: fc.record({
      Responses: tables(fc.array(wireItem, { maxLength: 3 })),
      UnprocessedKeys: tables(fc.record({ Keys: fc.array(wireItem, { minLength: 1, maxLength: 3 }) })),
    }),
    BatchWriteItem: fc.record({
      UnprocessedItems: tables(
        fc.array(fc.record({ PutRequest: fc.record({ Item: wireItem }) }), { maxLength: 3 }),
      ),
    }),
    DeleteItem: fc.constant({}),
    PutItem: fc.constant({}),
    Query: pages,
    Scan: pages,
    TransactWriteItems: fc.constant({}),
    UpdateItem: fc.record({ Attributes: wireItem }, { requiredKeys: [] }),
  }
}

export const answers = { rounded: answersOf(fc.oneof(integer, decimal)), exact: answersOf(integer) }

/** Generates JSON text with one change: another value, a missing value, other bytes, a cut end. */
export const mutated = (answer: fc.Arbitrary<object>): fc.Arbitrary<string> =>
  fc
    .tuple(answer, fc.nat(), fc.nat(), fc.jsonValue({ maxDepth: 1 }), fc.integer({ min: 0, max: 3 }))
    .map(([body, at, other, value, how]) => {
      const text = JSON.stringify(body)
      const place = at % Math.max(1, text.length)
      if (how === 0) return text.slice(0, place)
      if (how === 1)
        return `${text.slice(0, place)}${String.fromCharCode(33 + (other % 90))}${text.slice(place + 1)}`
      const copy = JSON.parse(text) as unknown
      change(copy, at, how === 2 ? value : undefined)
      return JSON.stringify(copy)
    })

/** Replaces or removes one value somewhere in a JSON tree. */
function change(tree: unknown, at: number, value: unknown): void {
  const places: [Record<string, unknown>, string][] = []
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    for (const key of Object.keys(node)) {
      places.push([node as Record<string, unknown>, key])
      walk((node as Record<string, unknown>)[key])
    }
  }
  walk(tree)
  const [parent, key] = places[at % Math.max(1, places.length)] ?? []
  if (!parent || key === undefined) return
  if (value === undefined) delete parent[key]
  else parent[key] = value
}
