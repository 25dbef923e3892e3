import { DynamoDBClient, DynamoDBServiceException } from '@aws-sdk/client-dynamodb'
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
import { buildClientSettings, createWireRequestHandler, limitAttemptTime } from './client.ts'
import { readOwnCredentials, readWireSettings } from './environment.ts'
import { CALL_TIMEOUT_MS, FIRST_TABLES_PAUSE_MS, MAX_ATTEMPTS } from './wire/limits.ts'
import { createRetryCall } from './wire/retry.ts'
import { AwsServiceError, unreadableAnswerError } from './wire/service-error.ts'
import { type DynamoDbOperation, type DynamoDbOutputs, mapByTable, type TableSend } from './wire/tables.ts'
import type { PlainItem } from './wire/values.ts'

/** The SDK's commands for the calls to the tables. */
export const dynamoDbCommands = {
  BatchGetItem: BatchGetCommand,
  BatchWriteItem: BatchWriteCommand,
  DeleteItem: DeleteCommand,
  PutItem: PutCommand,
  Query: QueryCommand,
  Scan: ScanCommand,
  TransactWriteItems: TransactWriteCommand,
  UpdateItem: UpdateCommand,
} as const

interface Answer {
  Responses?: Record<string, PlainItem[]>
  UnprocessedKeys?: Record<string, { Keys?: PlainItem[] }>
  UnprocessedItems?: Record<string, { PutRequest?: { Item?: PlainItem } }[]>
  Items?: PlainItem[]
  LastEvaluatedKey?: PlainItem
  Attributes?: PlainItem
}

const missing = (what: string): never => {
  throw unreadableAnswerError(`DynamoDB’s answer has no ${what}`)
}

const pageIn = ({ Items = [], LastEvaluatedKey }: Answer) =>
  LastEvaluatedKey ? { Items, LastEvaluatedKey } : { Items }

const nothing = () => ({})

/** Converts the SDK's answers to the answers that the storage expects. */
const outputs: { readonly [O in DynamoDbOperation]: (answer: Answer) => DynamoDbOutputs[O] } = {
  BatchGetItem: ({ Responses = {}, UnprocessedKeys }) => ({
    Responses,
    // keys without a name would count as absent items
    UnprocessedKeys: mapByTable(UnprocessedKeys, ({ Keys }) => Keys ?? missing('keys')),
  }),
  BatchWriteItem: ({ UnprocessedItems }) => ({
    UnprocessedItems: mapByTable(UnprocessedItems, writes =>
      writes.map(({ PutRequest }) => PutRequest?.Item ?? missing('item')),
    ),
  }),
  DeleteItem: nothing,
  PutItem: nothing,
  Query: pageIn,
  Scan: pageIn,
  TransactWriteItems: nothing,
  UpdateItem: ({ Attributes }) => (Attributes ? { Attributes } : {}),
}

/**
 * `lib-dynamodb` loses a member of this name, because it assigns members: assigning `__proto__` sets the object's
 * prototype.
 */
const LOST = '__proto__'

const holdsLost = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !ArrayBuffer.isView(value) &&
  (Object.hasOwn(value, LOST) || Object.values(value).some(holdsLost))

/** An answer contains a member of that name. */
class LostMember extends Error {}

type Handler = ReturnType<typeof createWireRequestHandler>

/** Rejects answers that `lib-dynamodb` would change. */
const refuseLostMembers = ({ handle }: Handler): Handler => ({
  handle: async (...request) => {
    const answer = await handle(...request)
    if (answer.response.body.includes(`"${LOST}"`)) throw new LostMember()
    return answer
  },
})

/** Converts the attributes in an error of DynamoDB to JSON values. */
function inJson(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map(inJson)
  return typeof value === 'object' && value !== null
    ? mapByTable(value as Record<string, unknown>, inJson)
    : value
}

/** Converts DynamoDB's refusal of a call. Errors other than DynamoDB's refusals stay unchanged. */
function toServiceError(error: unknown): unknown {
  if (!(error instanceof DynamoDBServiceException)) return error
  const { name, message, $metadata, CancellationReasons, Item } = error as DynamoDBServiceException & {
    CancellationReasons?: unknown
    Item?: unknown
  }
  const said = inJson({ CancellationReasons, Item }) as object
  return new AwsServiceError(name, message, { status: $metadata.httpStatusCode ?? 0, said })
}

const marshallOptions = { removeUndefinedValues: true, convertClassInstanceToMap: true }

/**
 * Returns an SDK client for each way of reading numbers.
 * @param make makes a client; it is called for each way, because a client reads all numbers in one way
 */
export const createDocumentClients = (make: () => DynamoDBClient) => ({
  rounded: DynamoDBDocumentClient.from(make(), { marshallOptions }),
  exact: DynamoDBDocumentClient.from(make(), {
    marshallOptions,
    unmarshallOptions: { wrapNumbers: text => BigInt(text) },
  }),
})

/**
 * Calls the tables with the SDK, with the same retries and limits as this service's own client.
 * @param make makes a client, which attempts each call once
 */
export function createDocumentSend(make: () => DynamoDBClient): TableSend {
  const documents = createDocumentClients(make)
  const insist = createRetryCall({ most: MAX_ATTEMPTS, pauseMs: FIRST_TABLES_PAUSE_MS })
  return (operation, input, { numbers = 'rounded', ms = CALL_TIMEOUT_MS } = {}) => {
    const command = new dynamoDbCommands[operation](input as never)
    return insist(async left => {
      const answer = await documents[numbers]
        .send(command as never, limitAttemptTime(left))
        .catch((error: unknown) => {
          throw toServiceError(error)
        })
      return outputs[operation](answer as Answer)
    }, ms)
  }
}

/**
 * Calls a function's tables with the SDK.
 * @param wire our own client, for items with a member of the name `__proto__`
 * @param handler sends the SDK's requests
 */
export function createSdkSend(wire: TableSend, handler = createWireRequestHandler()): TableSend {
  const { region, accountMode, accountId } = readWireSettings()
  const credentials = () => ({ ...readOwnCredentials(), ...(accountId === '' ? {} : { accountId }) })
  const settings = {
    ...buildClientSettings('dynamodb', { region, credentials }, refuseLostMembers(handler)),
    accountIdEndpointMode: accountMode,
    // with a cache, commands of `lib-dynamodb` would be sent with the input of the first command of their kind
    cacheMiddleware: false,
    endpointDiscoveryEnabled: false,
  }
  const send = createDocumentSend(() => new DynamoDBClient(settings))
  return (operation, input, options) =>
    holdsLost(input)
      ? wire(operation, input, options)
      : send(operation, input, options).catch((error: unknown) => {
          if (error instanceof LostMember) return wire(operation, input, options)
          throw error
        })
}
