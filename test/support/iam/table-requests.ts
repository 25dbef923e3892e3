import type { DynamoDbCall } from '../../../shared/adapters/aws/wire/tables.ts'
import type { WireItem } from '../tables/wire-values.ts'
import type { IamRequest } from './evaluate.ts'

/** The elements of a DynamoDB call to one table that IAM conditions use. */
interface Part {
  TableName: string
  IndexName?: string
  Item?: WireItem
  Key?: WireItem
  KeyConditionExpression?: string
  ConditionExpression?: string
  UpdateExpression?: string
  FilterExpression?: string
  ProjectionExpression?: string
  ExpressionAttributeNames?: Record<string, string>
  ExpressionAttributeValues?: WireItem
  ReturnValues?: string
}

const WORDS = /^(SET|REMOVE|ADD|DELETE|AND|OR|NOT|BETWEEN|IN)$/

/** Returns the terms of a DynamoDB expression that stand for attributes. */
function readTerms(expression: string): readonly string[] {
  const terms = expression.match(/[:#.]?\w+(?:\s*\()?/g) ?? []
  return terms.filter(term => !(/^[:.\d]|\($/.test(term) || WORDS.test(term)))
}

/** Cache of the terms of DynamoDB expressions. Expressions repeat, so each expression is parsed once. */
const read = new Map<string, readonly string[]>()

/**
 * Returns the names of the top-level attributes in a DynamoDB expression, like the condition key
 * `dynamodb:Attributes`.
 */
function namesIn(expression: string | undefined, names: Readonly<Record<string, string>> = {}): string[] {
  if (expression === undefined) return []
  const terms = read.get(expression) ?? readTerms(expression)
  read.set(expression, terms)
  return terms.map(term => names[term] ?? term)
}

const partitionOf = ({ Item, Key }: Part): string[] =>
  [Item?.['pk']?.S, Key?.['pk']?.S].filter(pk => pk !== undefined)

/** Returns the partition key of a query. */
function queried({ KeyConditionExpression = '', ExpressionAttributeValues = {} }: Part): string[] {
  const [, name = ''] = /= (:\w+)/.exec(KeyConditionExpression) ?? []
  return [ExpressionAttributeValues[name]?.S ?? ''].filter(pk => pk !== '')
}

function requestOf(operation: string, part: Part, arnOf: (table: string) => string): IamRequest {
  const { IndexName, ExpressionAttributeNames: names, ReturnValues } = part
  const attributes = [
    ...Object.keys(part.Item ?? part.Key ?? {}),
    ...[
      part.KeyConditionExpression,
      part.ConditionExpression,
      part.UpdateExpression,
      part.FilterExpression,
      part.ProjectionExpression,
    ].flatMap(expression => namesIn(expression, names)),
  ]
  const leading = operation === 'Query' ? queried(part) : partitionOf(part)
  const table = arnOf(part.TableName)
  return {
    action: `dynamodb:${operation}`,
    resource: IndexName === undefined ? table : `${table}/index/${IndexName}`,
    context: {
      ...(leading.length > 0 ? { 'dynamodb:LeadingKeys': leading } : {}),
      'dynamodb:Attributes': [...new Set(attributes)],
      ...(ReturnValues === undefined ? {} : { 'dynamodb:ReturnValues': [ReturnValues] }),
    },
  }
}

/** The IAM actions of a transaction's elements. IAM checks each element separately. */
const ELEMENTS: Readonly<Record<string, string>> = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheckItem',
}

/**
 * Makes the IAM request of a batch call on one table. The leading keys of the IAM request are the partition keys of
 * all elements.
 */
function batchRequest(operation: string, table: string, keys: readonly WireItem[]): IamRequest {
  const leading = keys.map(({ pk }) => pk?.S ?? '')
  const attributes = [...new Set(keys.flatMap(item => Object.keys(item)))]
  return {
    action: `dynamodb:${operation}`,
    resource: table,
    context: { 'dynamodb:LeadingKeys': leading, 'dynamodb:Attributes': attributes },
  }
}

/**
 * Returns the IAM requests of a DynamoDB call.
 * @param arnOf returns the ARN of a table from its name
 */
export function tableRequests(
  { operation, input }: Pick<DynamoDbCall, 'operation' | 'input'>,
  arnOf: (table: string) => string,
): IamRequest[] {
  if (operation === 'TransactWriteItems')
    return (input['TransactItems'] as Record<string, Part>[]).flatMap(element =>
      Object.entries(element).map(([name, part]) => requestOf(ELEMENTS[name] ?? name, part, arnOf)),
    )
  if (operation === 'BatchGetItem')
    return Object.entries(input['RequestItems'] as Record<string, { Keys: WireItem[] }>).map(
      ([table, { Keys }]) => batchRequest(operation, arnOf(table), Keys),
    )
  if (operation === 'BatchWriteItem')
    return Object.entries(input['RequestItems'] as Record<string, { PutRequest: { Item: WireItem } }[]>).map(
      ([table, requests]) =>
        batchRequest(
          operation,
          arnOf(table),
          requests.map(({ PutRequest }) => PutRequest.Item),
        ),
    )
  return [requestOf(operation, input as unknown as Part, arnOf)]
}
