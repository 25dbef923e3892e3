import { randomUUID } from 'node:crypto'
import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb'
import type { TranslateConfig } from '@aws-sdk/lib-dynamodb'
import { plainItem, wireItem } from './wire-values.ts'

/** A call to the tables, in the engine's terms. */
export interface TableCall {
  /** `BatchGetItem`, `TransactWriteItems` … */
  operation: string
  input: Record<string, unknown>
  /** the SDK's id of the call, the same for its repetitions; absent where there are none */
  invocation?: string
}

export interface TableAnswer {
  statusCode: number
  body: object
}

/** Decides a call. */
export type TableEngine = (call: TableCall) => Promise<TableAnswer>

/** Fields that hold an item, and those that hold a list of them. */
const ITEM = [
  'Item',
  'Key',
  'ExpressionAttributeValues',
  'ExclusiveStartKey',
  'LastEvaluatedKey',
  'Attributes',
]
const ITEMS = ['Items', 'Keys']

type Convert = (item: never) => object

/** A request or an answer whose items are written in another way. */
function converted(value: unknown, convert: Convert, name = '', isItems = false): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value))
    return value.map(one =>
      isItems || ITEMS.includes(name) ? convert(one as never) : converted(one, convert),
    )
  if (ITEM.includes(name)) return convert(value as never)
  const copy: Record<string, unknown> = {}
  // of a batch read there are lists by the name of a table
  for (const [key, one] of Object.entries(value))
    if (one !== undefined) copy[key] = converted(one, convert, key, name === 'Responses')
  return copy
}

/** Items of errors are in the engine's terms, but for bytes: what has `B` and a text is a value of bytes. */
const withBytes = <T>(body: T): T =>
  JSON.parse(JSON.stringify(body), (name, value) =>
    name === 'B' && typeof value === 'string' ? new Uint8Array(Buffer.from(value, 'base64')) : value,
  )

/** What the SDK throws for an answer that is an error. */
function errorOf({ statusCode, body }: TableAnswer): Error {
  const { __type = '', message, Message, ...rest } = withBytes(body) as Record<string, string>
  const name = __type.split('#')[1] ?? __type
  const said = { message: message ?? Message ?? '', $metadata: { httpStatusCode: statusCode }, ...rest }
  if (name === 'ConditionalCheckFailedException') return new ConditionalCheckFailedException(said)
  if (name === 'TransactionCanceledException') return new TransactionCanceledException(said)
  return Object.assign(new Error(said.message), { ...said, name })
}

interface Context {
  commandName?: string
  __smithy_context?: { abortSignal?: AbortSignal }
}

interface Given {
  input: object
  /** what the SDK looks for before it gives a call its id */
  request?: { headers: Record<string, string> }
}
type Answering = (given: Given) => Promise<{ response: object; output: object }>

type Repeating = (answer: Answering, context: Context) => Answering

/** The SDK's own repetitions of a call that fails, with its own pauses, and nothing else of it. */
function repetitionsOf({ middlewareStack }: DynamoDBClient): Repeating {
  let repeating: Repeating | undefined
  const take = (middleware: unknown, { name }: { name?: string } = {}) => {
    if (name === 'retryMiddleware') repeating = middleware as Repeating
  }
  middlewareStack.applyToStack({ add: take, addRelativeTo: take } as never)
  if (!repeating) throw new Error('the SDK repeats nothing')
  const repeat = repeating
  const request = { method: 'POST', protocol: 'http:', hostname: 'tables.test', path: '/', query: {} }
  return (answer, context) => {
    const handle = repeat(answer, context)
    return ({ input }) => handle({ input: oneTransaction(input), request: { ...request, headers: {} } })
  }
}

/** What is repeated is one transaction: the SDK gives it a name where the adapters give none. */
const oneTransaction = (input: object): object =>
  'TransactItems' in input ? { ClientRequestToken: randomUUID(), ...input } : input

/**
 * A client of the tables for `DynamoDBDocumentClient`, whose calls come to an engine past the rest of the SDK, which
 * takes half of the time of what is tested over it. What comes of a call is the same (`bare-client.test.ts`).
 * @param maxAttempts more than one: what fails is repeated as the SDK does
 */
export function bareClient(engine: TableEngine, maxAttempts = 1): DynamoDBClient {
  const client = new DynamoDBClient({
    ...{ endpoint: 'http://tables.test', region: 'us-east-1', maxAttempts },
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  })
  // the document client tells here how it wants numbers
  const config: typeof client.config & { translateConfig?: TranslateConfig } = client.config
  const answering = (context: Context): Answering => {
    const operation = (context.commandName ?? '').replace('Command', '')
    return async ({ input, request }) => {
      const call: TableCall = { operation, input: converted(input, wireItem) as TableCall['input'] }
      const invocation = request?.headers['amz-sdk-invocation-id']
      if (invocation !== undefined) call.invocation = invocation
      const signal = context.__smithy_context?.abortSignal
      const answer = await (signal ? unlessAborted(signal, engine(call)) : engine(call))
      if (answer.statusCode !== 200) throw errorOf(answer)
      const { wrapNumbers } = config.translateConfig?.unmarshallOptions ?? {}
      const number = typeof wrapNumbers === 'function' ? wrapNumbers : undefined
      const output = converted(answer.body, item => plainItem(item, number)) as object
      return { response: {}, output: { ...output, $metadata: {} } }
    }
  }
  const repeating = maxAttempts > 1 ? repetitionsOf(client) : undefined
  // whatever commands add to it, this is what they come to
  const stack = {
    ...client.middlewareStack,
    concat: () => stack as never,
    resolve: (_: unknown, context: object) =>
      (repeating?.(answering(context), context) ?? answering(context)) as never,
  }
  client.middlewareStack = stack
  return client
}

/** As the SDK's own handler ends what takes too long. */
const unlessAborted = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const end = () => reject(Object.assign(new Error('Request aborted'), { name: 'AbortError' }))
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
