import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { createDocumentClients, dynamoDbCommands } from '../../../../../shared/adapters/aws/sdk-tables.ts'
import type { AwsJsonAnswer } from '../../../../../shared/adapters/aws/wire/json.ts'
import {
  createTableSend,
  type DynamoDbCall,
  type DynamoDbOperation,
} from '../../../../../shared/adapters/aws/wire/tables.ts'
import type { NumberReading } from '../../../../../shared/adapters/aws/wire/values.ts'

// Uses the SDK as the oracle for our client: the same engine answers both clients.

/** Answers a request to the engine as text. */
export type Engine = (
  call: DynamoDbCall,
  headers: Record<string, string>,
  body: string,
) => { status: number; text: string }

export const operations = Object.keys(dynamoDbCommands) as DynamoDbOperation[]

/** Calls the engine by either client: operation, input, way of reading numbers. */
export type Calling = (
  operation: DynamoDbOperation,
  input: object,
  numbers?: NumberReading,
) => Promise<object>

const signer = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'session' }

/** Makes calls through the SDK, with the adapters' former settings. */
export function sdkCalls(engine: Engine, maxAttempts = 1): Calling {
  const handle = async ({ headers, body }: { headers: Record<string, string>; body: Uint8Array }) => {
    const operation = headers['x-amz-target']?.split('.')[1] ?? ''
    const given = new TextDecoder().decode(body)
    const input = JSON.parse(given) as DynamoDbCall['input']
    const invocation = headers['amz-sdk-invocation-id'] ?? ''
    const { status: statusCode, text } = engine({ operation, input, invocation }, headers, given)
    const response = { 'content-type': 'application/x-amz-json-1.0' }
    return { response: { statusCode, headers: response, body: Buffer.from(text) } }
  }
  const documents = createDocumentClients(
    () =>
      new DynamoDBClient({
        region: 'eu-west-1',
        maxAttempts,
        credentials: signer,
        requestHandler: { handle } as never,
      }),
  )
  return async (operation, input, numbers = 'rounded') => {
    const command = new dynamoDbCommands[operation](input as never)
    const { $metadata: _, ...answer } = (await documents[numbers].send(command as never)) as Record<
      string,
      unknown
    >
    return answer
  }
}

/** Makes calls through our client, to the same engine. */
export function wireCalls(engine: Engine, maxAttempts = 1): Calling {
  const send = createTableSend(async (call): Promise<AwsJsonAnswer> => {
    const { status: statusCode, text } = engine(call, {}, '')
    return { statusCode, body: JSON.parse(text) as object }
  }, maxAttempts)
  return (operation, input, numbers) => send(operation, input as never, numbers && { numbers })
}

interface Output {
  Responses?: Record<string, unknown[]>
  UnprocessedKeys?: Record<string, { Keys?: unknown[] } | unknown[]>
  UnprocessedItems?: Record<string, { PutRequest?: { Item?: unknown } }[] | unknown[]>
  Items?: unknown[]
  LastEvaluatedKey?: unknown
  Attributes?: unknown
}

/**
 * Returns the members of a DynamoDB answer that the storage adapter reads, whichever client received the
 * answer.
 */
export function seen(operation: DynamoDbOperation, answer: Output): unknown {
  const { Responses = {}, UnprocessedKeys = {}, UnprocessedItems = {}, Items = [] } = answer
  const keys = Object.entries(UnprocessedKeys ?? {}).map(([table, one]) => [
    table,
    Array.isArray(one) ? one : (one?.Keys ?? one),
  ])
  const items = Object.entries(UnprocessedItems ?? {}).map(([table, all]) => [
    table,
    Array.isArray(all) ? all.map(itemOf) : all,
  ])
  if (operation === 'BatchGetItem') return { Responses, keys }
  if (operation === 'BatchWriteItem') return { items }
  if (operation === 'Query' || operation === 'Scan')
    return { Items, LastEvaluatedKey: answer.LastEvaluatedKey }
  return operation === 'UpdateItem' ? { Attributes: answer.Attributes } : {}
}

const itemOf = (one: unknown): unknown =>
  (one as { PutRequest?: { Item?: unknown } } | null)?.PutRequest?.Item ?? one
