import type { DynamoDbCall } from '../../../shared/adapters/aws/wire/tables.ts'
import type { WireItem } from '../tables/wire-values.ts'
import type { IamRequest } from './evaluate.ts'

/** The parts of a call to one table that conditions use. */
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

/** Returns the terms of an expression that stand for attributes. */
function readTerms(expression: string): readonly string[] {
  const terms = expression.match(/[:#.]?\w+(?:\s*\()?/g) ?? []
  return terms.filter(term => !(/^[:.\d]|\($/.test(term) || WORDS.test(term)))
}

/** The terms of known expressions. Expressions repeat, so each is read once. */
const read = new Map<string, readonly string[]>()

/** Returns the names of the attributes in an expression, at the top level like `dynamodb:Attributes`. */
function namesIn(expression: string | undefined, names: Readonly<Record<string, string>> = {}): string[] {
  if (expression === undefined) return []
  const terms = read.get(expression) ?? readTerms(expression)
  read.set(expression, terms)
  return terms.map(term => names[term] ?? term)
}

const partitionOf = ({ Item, Key }: Part): string[] =>
  [Item?.['pk']?.S, Key?.['pk']?.S].filter(pk => pk !== undefined)

/** Returns the partition of a query. */
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

/** The actions of a transaction's elements. Each element is judged separately. */
const ELEMENTS: Readonly<Record<string, string>> = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheckItem',
}

/** Makes the request of a batch on one table. Its leading keys are those of all elements. */
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
 * Returns the IAM requests of a call to the tables.
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
