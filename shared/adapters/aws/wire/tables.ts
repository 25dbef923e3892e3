import { randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type {
  BatchGetCommandInput,
  BatchWriteCommandInput,
  DeleteCommandInput,
  PutCommandInput,
  QueryCommandInput,
  ScanCommandInput,
  TransactWriteCommandInput,
  UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb'
import { readOwnCredentials, readWireSettings, type WireSettings } from '../environment.ts'
import { type AwsJsonAnswer, parseJsonAnswer, readAwsResult } from './json.ts'
import { ATTEMPT_TIMEOUT_MS, CALL_TIMEOUT_MS, FIRST_TABLES_PAUSE_MS, MAX_ATTEMPTS } from './limits.ts'
import type { WireAnswer } from './post.ts'
import { createRetryCall } from './retry.ts'
import { unreadableAnswerError } from './service-error.ts'
import { createSignedPost, type SendSignedPost, type SigningKeySource } from './signed-posts.ts'
import { checkAnswerObject, fromWireItem, type NumberReading, type PlainItem, toWireItem } from './values.ts'

/** A call to DynamoDB in DynamoDB's terms. */
export interface DynamoDbCall {
  operation: string
  input: Record<string, unknown>
  /** id that all attempts of one call share */
  invocation: string
}

/**
 * Makes one attempt of a call to DynamoDB.
 * @param ms timeout
 * @throws Error when DynamoDB does not answer
 */
export type SendDynamoDbCall = (call: DynamoDbCall, ms: number) => Promise<AwsJsonAnswer>

/** The inputs of each DynamoDB operation, in plain values. */
interface Inputs {
  BatchGetItem: BatchGetCommandInput
  BatchWriteItem: BatchWriteCommandInput
  DeleteItem: DeleteCommandInput
  PutItem: PutCommandInput
  Query: QueryCommandInput
  Scan: ScanCommandInput
  TransactWriteItems: TransactWriteCommandInput
  UpdateItem: UpdateCommandInput
}

interface Page {
  Items: PlainItem[]
  /** an absent `LastEvaluatedKey` marks the last page */
  LastEvaluatedKey?: PlainItem
}

/** The outputs of each DynamoDB operation, as far as the storage needs them. */
export interface DynamoDbOutputs {
  BatchGetItem: { Responses: Record<string, PlainItem[]>; UnprocessedKeys: Record<string, PlainItem[]> }
  /** items that were not stored, by table */
  BatchWriteItem: { UnprocessedItems: Record<string, PlainItem[]> }
  DeleteItem: object
  PutItem: object
  Query: Page
  Scan: Page
  TransactWriteItems: object
  UpdateItem: { Attributes?: PlainItem }
}

export type DynamoDbOperation = keyof Inputs

export interface TableSendOptions {
  numbers?: NumberReading
  /** milliseconds that the call may take, with all its attempts; absent: `CALL_TIMEOUT_MS` */
  ms?: number | undefined
}

/**
 * Sends a call to the tables, and retries it as long as it fails with faults that may pass.
 * @throws AwsServiceError when DynamoDB refuses the call; Error when DynamoDB does not answer
 */
export type TableSend = <O extends DynamoDbOperation>(
  operation: O,
  input: Inputs[O],
  options?: TableSendOptions,
) => Promise<DynamoDbOutputs[O]>

/** Creates the function that calls the tables, from a function that makes single attempts. */
export function createTableSend(engine: SendDynamoDbCall, attempts = MAX_ATTEMPTS): TableSend {
  const insist = createRetryCall({ most: attempts, pauseMs: FIRST_TABLES_PAUSE_MS })
  return (operation, input, { numbers = 'rounded', ms = CALL_TIMEOUT_MS } = {}) => {
    const call: DynamoDbCall = {
      operation,
      input: inputs[operation](input as never),
      invocation: randomUUID(),
    }
    return insist(async left => {
      const answer = await engine(call, Math.min(ATTEMPT_TIMEOUT_MS, Math.max(1, left)))
      return outputs[operation](readAwsResult(answer), numbers)
    }, ms)
  }
}

type Params = Record<string, unknown>

/** Members of inputs and outputs that contain an item. */
const ITEMS = ['Item', 'Key', 'ExpressionAttributeValues', 'ExclusiveStartKey']

function params(input: object): Params {
  const made: Params = {}
  for (const [name, value] of Object.entries(input))
    if (value !== undefined) made[name] = ITEMS.includes(name) ? toWireItem(value as object) : value
  return made
}

export function mapByTable<T, R>(tables: Record<string, T> = {}, of: (one: T) => R): Record<string, R> {
  const made: Record<string, R> = {}
  for (const table in tables) made[table] = of(tables[table] as T)
  return made
}

/** Converts inputs of calls to requests. */
const inputs: { readonly [O in DynamoDbOperation]: (input: Inputs[O]) => Params } = {
  BatchGetItem: ({ RequestItems }) => ({
    RequestItems: mapByTable(RequestItems, ({ Keys = [], ...rest }) => ({
      ...rest,
      Keys: Keys.map(toWireItem),
    })),
  }),
  BatchWriteItem: ({ RequestItems }) => ({
    RequestItems: mapByTable(RequestItems, writes =>
      writes.map(({ PutRequest }) => ({ PutRequest: { Item: toWireItem(PutRequest?.Item ?? {}) } })),
    ),
  }),
  DeleteItem: params,
  PutItem: params,
  Query: params,
  Scan: params,
  // Without a token, callers must find out by themselves whether an earlier attempt of a transaction took effect.
  TransactWriteItems: ({ TransactItems = [], ...rest }) => ({
    TransactItems: TransactItems.map(element =>
      mapByTable(element as Params, part => params(part as object)),
    ),
    ...rest,
  }),
  UpdateItem: params,
}

type Reader<T> = (value: unknown, numbers: NumberReading) => T

const listOf =
  <T>(read: Reader<T>): Reader<T[]> =>
  (value = [], numbers) => {
    if (!Array.isArray(value)) throw unreadableAnswerError('a list is none')
    return value.map(one => read(one, numbers))
  }

const tablesOf =
  <T>(read: Reader<T>): Reader<Record<string, T>> =>
  (value = {}, numbers) =>
    mapByTable(checkAnswerObject(value), one => read(one, numbers))

const readPage = ({ Items, LastEvaluatedKey }: Params, numbers: NumberReading): Page => ({
  Items: listOf(fromWireItem)(Items, numbers),
  ...(LastEvaluatedKey === undefined ? {} : { LastEvaluatedKey: fromWireItem(LastEvaluatedKey, numbers) }),
})

const readPut: Reader<PlainItem> = (value, numbers) =>
  fromWireItem(checkAnswerObject(checkAnswerObject(value)['PutRequest'])['Item'], numbers)

// keys without a name would count as absent items
const readKeys: Reader<PlainItem[]> = (left, numbers) =>
  listOf(fromWireItem)(checkAnswerObject(left)['Keys'] ?? null, numbers)

const nothing = () => ({})

/** Parses answers strictly, and only the members that are needed. */
const outputs: {
  readonly [O in DynamoDbOperation]: (body: Params, numbers: NumberReading) => DynamoDbOutputs[O]
} = {
  BatchGetItem: ({ Responses, UnprocessedKeys }, numbers) => ({
    Responses: tablesOf(listOf(fromWireItem))(Responses, numbers),
    UnprocessedKeys: tablesOf(readKeys)(UnprocessedKeys, numbers),
  }),
  BatchWriteItem: ({ UnprocessedItems }, numbers) => ({
    UnprocessedItems: tablesOf(listOf(readPut))(UnprocessedItems, numbers),
  }),
  DeleteItem: nothing,
  PutItem: nothing,
  Query: readPage,
  Scan: readPage,
  TransactWriteItems: nothing,
  UpdateItem: ({ Attributes }, numbers) =>
    Attributes === undefined ? {} : { Attributes: fromWireItem(Attributes, numbers) },
}

/** The region and endpoint of the tables, if they differ from the runtime's variables. */
export interface TablesEndpoint {
  settings: WireSettings
  credentials: SigningKeySource
}

/** Calls DynamoDB over HTTP. The endpoint of DynamoDB is determined at the first call. */
export function createTablesOverHttp(at?: TablesEndpoint): SendDynamoDbCall {
  let posts: SendSignedPost | undefined
  return async ({ operation, input, invocation }, ms) => {
    posts ??= postsTo(at ?? { settings: readWireSettings(), credentials: readOwnCredentials })
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDB_20120810.${operation}`,
      'amz-sdk-invocation-id': invocation,
    }
    const answer = await posts(headers, JSON.stringify(input), ms)
    verifyChecksum(answer)
    return parseJsonAnswer(answer)
  }
}

const postsTo = ({ settings, credentials }: TablesEndpoint): SendSignedPost =>
  createSignedPost({ service: 'dynamodb', settings, credentials })

/**
 * Verifies the checksum of DynamoDB's answer.
 * @throws AwsServiceError when the answer was changed in transit
 */
function verifyChecksum({ headers, body }: WireAnswer): void {
  const { 'x-amz-crc32': sum } = headers
  if (sum !== undefined && Number(sum) !== crc32(body))
    throw unreadableAnswerError('the answer of DynamoDB does not match its checksum')
}
