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
import { ownCredentials, type WireSettings, wireSettings } from '../environment.ts'
import { type JsonAnswer, parseJsonAnswer, readResult } from './json.ts'
import { ATTEMPT_MS, CALL_MS, FIRST_TABLES_PAUSE_MS, MOST_ATTEMPTS } from './limits.ts'
import type { WireAnswer } from './post.ts'
import { createRetry } from './retry.ts'
import { unreadableAnswer } from './service-error.ts'
import { createSignedPost, type KeySource, type SignedPost } from './signed-posts.ts'
import { checkObject, fromWire, type Numbers, type PlainItem, toWire } from './values.ts'

/** A call to DynamoDB, in its terms. */
export interface TableCall {
  operation: string
  input: Record<string, unknown>
  /** id that all attempts of one call share */
  invocation: string
}

/**
 * Makes one attempt of a call.
 * @param ms timeout
 * @throws Error when there is no answer
 */
export type TableEngine = (call: TableCall, ms: number) => Promise<JsonAnswer>

/** The inputs of each operation, in plain values. */
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
  /** absent: this is the last page */
  LastEvaluatedKey?: PlainItem
}

/** The outputs of each operation, as far as the storage needs them. */
export interface Outputs {
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

export type TableOperation = keyof Inputs

export interface SendOptions {
  numbers?: Numbers
  /** milliseconds that the call may take, with all its attempts; absent: `CALL_MS` */
  ms?: number | undefined
}

/**
 * Sends a call to the tables, and retries it while it fails with faults that may pass.
 * @throws ServiceError when DynamoDB refuses; Error when it does not answer
 */
export type Send = <O extends TableOperation>(
  operation: O,
  input: Inputs[O],
  options?: SendOptions,
) => Promise<Outputs[O]>

/** Creates the function that calls the tables, from one that makes single attempts. */
export function tableSend(engine: TableEngine, attempts = MOST_ATTEMPTS): Send {
  const insist = createRetry({ most: attempts, pauseMs: FIRST_TABLES_PAUSE_MS })
  return (operation, input, { numbers = 'rounded', ms = CALL_MS } = {}) => {
    const call: TableCall = { operation, input: inputs[operation](input as never), invocation: randomUUID() }
    return insist(async left => {
      const answer = await engine(call, Math.min(ATTEMPT_MS, Math.max(1, left)))
      return outputs[operation](readResult(answer), numbers)
    }, ms)
  }
}

type Params = Record<string, unknown>

/** Members that contain an item. */
const ITEMS = ['Item', 'Key', 'ExpressionAttributeValues', 'ExclusiveStartKey']

function params(input: object): Params {
  const made: Params = {}
  for (const [name, value] of Object.entries(input))
    if (value !== undefined) made[name] = ITEMS.includes(name) ? toWire(value as object) : value
  return made
}

export function mapTables<T, R>(tables: Record<string, T> = {}, of: (one: T) => R): Record<string, R> {
  const made: Record<string, R> = {}
  for (const table in tables) made[table] = of(tables[table] as T)
  return made
}

/** Converts inputs to requests. */
const inputs: { readonly [O in TableOperation]: (input: Inputs[O]) => Params } = {
  BatchGetItem: ({ RequestItems }) => ({
    RequestItems: mapTables(RequestItems, ({ Keys = [], ...rest }) => ({ ...rest, Keys: Keys.map(toWire) })),
  }),
  BatchWriteItem: ({ RequestItems }) => ({
    RequestItems: mapTables(RequestItems, writes =>
      writes.map(({ PutRequest }) => ({ PutRequest: { Item: toWire(PutRequest?.Item ?? {}) } })),
    ),
  }),
  DeleteItem: params,
  PutItem: params,
  Query: params,
  Scan: params,
  // Without a token, callers must find out by themselves whether a transaction took effect before.
  TransactWriteItems: ({ TransactItems = [], ...rest }) => ({
    TransactItems: TransactItems.map(element => mapTables(element as Params, part => params(part as object))),
    ...rest,
  }),
  UpdateItem: params,
}

type Reader<T> = (value: unknown, numbers: Numbers) => T

const listOf =
  <T>(read: Reader<T>): Reader<T[]> =>
  (value = [], numbers) => {
    if (!Array.isArray(value)) throw unreadableAnswer('a list is none')
    return value.map(one => read(one, numbers))
  }

const tablesOf =
  <T>(read: Reader<T>): Reader<Record<string, T>> =>
  (value = {}, numbers) =>
    mapTables(checkObject(value), one => read(one, numbers))

const readPage = ({ Items, LastEvaluatedKey }: Params, numbers: Numbers): Page => ({
  Items: listOf(fromWire)(Items, numbers),
  ...(LastEvaluatedKey === undefined ? {} : { LastEvaluatedKey: fromWire(LastEvaluatedKey, numbers) }),
})

const readPut: Reader<PlainItem> = (value, numbers) =>
  fromWire(checkObject(checkObject(value)['PutRequest'])['Item'], numbers)

// keys without a name would count as absent items
const readKeys: Reader<PlainItem[]> = (left, numbers) =>
  listOf(fromWire)(checkObject(left)['Keys'] ?? null, numbers)

const nothing = () => ({})

/** Parses answers strictly, and only the members that are needed. */
const outputs: { readonly [O in TableOperation]: (body: Params, numbers: Numbers) => Outputs[O] } = {
  BatchGetItem: ({ Responses, UnprocessedKeys }, numbers) => ({
    Responses: tablesOf(listOf(fromWire))(Responses, numbers),
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
    Attributes === undefined ? {} : { Attributes: fromWire(Attributes, numbers) },
}

/** The place of the tables, if it differs from the runtime's variables. */
export interface TablesAt {
  settings: WireSettings
  credentials: KeySource
}

/** Calls DynamoDB over HTTP. The endpoint is determined at the first call. */
export function tablesOverHttp(at?: TablesAt): TableEngine {
  let posts: SignedPost | undefined
  return async ({ operation, input, invocation }, ms) => {
    posts ??= postsTo(at ?? { settings: wireSettings(), credentials: ownCredentials })
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

const postsTo = ({ settings, credentials }: TablesAt): SignedPost =>
  createSignedPost({ service: 'dynamodb', settings, credentials })

/**
 * Verifies the checksum of an answer.
 * @throws ServiceError when the answer was changed on its way
 */
function verifyChecksum({ headers, body }: WireAnswer): void {
  const { 'x-amz-crc32': sum } = headers
  if (sum !== undefined && Number(sum) !== crc32(body))
    throw unreadableAnswer('the answer does not match its checksum')
}
