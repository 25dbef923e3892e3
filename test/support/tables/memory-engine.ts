import { holds, type Terms, updatedBy } from './expression.ts'
import { type MemoryTable, memoryTable } from './memory-table.ts'
import type { WireItem } from './wire-values.ts'

/** A DynamoDB request for one table. */
interface Request extends Terms {
  TableName: string
  Item?: WireItem
  Key?: WireItem
  ConditionExpression?: string
  UpdateExpression?: string
  KeyConditionExpression?: string
  FilterExpression?: string
  IndexName?: string
  Segment?: number
  TotalSegments?: number
  ExclusiveStartKey?: WireItem
  Limit?: number
  ReturnValues?: 'ALL_NEW'
  ReturnValuesOnConditionCheckFailure?: string
}

type Input = Request & {
  RequestItems: Record<string, { Keys: WireItem[] }>
  TransactItems: Record<string, Request>[]
  ClientRequestToken?: string
}

export interface EngineAnswer {
  statusCode: number
  body: object
}

const done = (body: object): EngineAnswer => ({ statusCode: 200, body })
const fault = (name: string, more: object): EngineAnswer => ({
  statusCode: 400,
  body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, ...more },
})

const FAILED = 'ConditionalCheckFailed'

/** The sort key of each index, in addition to the table's own sort key. */
const SORTED: Readonly<Record<string, string>> = { expiry: 'due' }

/**
 * Imitates the part of DynamoDB that this project uses, in memory and without delay. `memory-engine.test.ts`,
 * and games that are played on both engines, show that this engine behaves like the real engine.
 */
export function memoryEngine() {
  const { tableOf, select, batchGet } = newTables()
  const tokens = new Set<string>()
  const { found, passes, inTheWay } = conditionsOn(tableOf)

  /** Performs a write if its condition holds. @returns the new item */
  function write(request: Request): WireItem | undefined {
    const next =
      request.Item ??
      (request.UpdateExpression === undefined
        ? undefined
        : updatedBy(request.UpdateExpression, found(request) ?? { ...request.Key }, request))
    if (next) tableOf(request).put(next)
    else tableOf(request).remove(request.Key ?? {})
    return next
  }

  function single(request: Request): EngineAnswer {
    if (!passes(request)) {
      return fault(`${FAILED}Exception`, {
        message: 'The conditional request failed',
        ...inTheWay(request),
      })
    }
    const Attributes = write(request)
    return done(Attributes && request.ReturnValues ? { Attributes } : {})
  }

  function transact({ TransactItems, ClientRequestToken = '' }: Input): EngineAnswer {
    if (tokens.has(ClientRequestToken)) return done({})
    const parts = TransactItems.flatMap(one => Object.entries(one))
    const CancellationReasons = parts.map(([, request]) =>
      passes(request) ? { Code: 'None' } : { Code: FAILED, ...inTheWay(request) },
    )
    if (CancellationReasons.some(({ Code }) => Code === FAILED)) {
      const codes = CancellationReasons.map(({ Code }) => Code).join(', ')
      const Message = `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`
      return fault('TransactionCanceledException', { Message, CancellationReasons })
    }
    for (const [action, request] of parts) if (action !== 'ConditionCheck') write(request)
    if (ClientRequestToken) tokens.add(ClientRequestToken)
    return done({})
  }

  const operations: Record<string, (input: Input) => EngineAnswer> = {
    PutItem: single,
    UpdateItem: single,
    DeleteItem: single,
    TransactWriteItems: transact,
    Query: select,
    Scan: select,
    BatchWriteItem: input => {
      for (const request of batchIn(input)) write(request)
      return done({ UnprocessedItems: {} })
    },
    BatchGetItem: batchGet,
  }

  return {
    answer: (operation: string, input: object): EngineAnswer => {
      const work = operations[operation]
      if (!work) throw new Error(`${operation} is not imitated`)
      return work(input as Input)
    },
    items: (TableName: string): readonly WireItem[] => tableOf({ TableName }).items(),
    fill: (TableName: string, items: readonly WireItem[]): void => {
      for (const item of items) tableOf({ TableName }).put(item)
    },
  }
}

/** Returns the stored item of each request, and whether the request's condition holds. */
function conditionsOn(tableOf: (request: Request) => MemoryTable) {
  const found = (request: Request) => tableOf(request).at(request.Item ?? request.Key ?? {})
  return {
    found,
    passes: (request: Request): boolean => holds(request.ConditionExpression, found(request), request),
    /** of a refused write: its request */
    inTheWay(request: Request): { Item?: WireItem } {
      const Item = request.ReturnValuesOnConditionCheckFailure ? found(request) : undefined
      return Item ? { Item } : {}
    },
  }
}

/** Returns the items that a batch write stores, each independently. */
export const batchIn = ({
  RequestItems,
}: object & { RequestItems?: unknown }): { TableName: string; Item: WireItem }[] =>
  Object.entries(RequestItems as Record<string, { PutRequest: { Item: WireItem } }[]>).flatMap(
    ([TableName, requests]) => requests.map(({ PutRequest }) => ({ TableName, ...PutRequest })),
  )

/** The beginning of a query's condition: the partition key, in the table or in an index. */
const PARTITION = /^(#?\w+) = (:\w+)/

/** Creates tables and functions that look up their items. */
function newTables() {
  const tables = new Map<string, MemoryTable>()
  const tableOf = ({ TableName }: Pick<Request, 'TableName'>): MemoryTable => {
    const table = tables.get(TableName) ?? memoryTable()
    tables.set(TableName, table)
    return table
  }

  /** Returns the items of a query, in order: the items of a partition with matching sort keys. */
  function queried(request: Request, name: string, partition: string): readonly WireItem[] {
    const { ExclusiveStartKey: from, KeyConditionExpression, IndexName = '' } = request
    const inOrder = orderBy(SORTED[IndexName] ?? 'sk')
    return tableOf(request)
      .partition(name, partition)
      .filter(item => holds(KeyConditionExpression, item, request) && (!from || inOrder(from, item) < 0))
      .sort(inOrder)
  }

  /** Returns the items of a segment of a scan, in order. */
  function scanned(request: Request): readonly WireItem[] {
    const { Limit = Number.POSITIVE_INFINITY, ExclusiveStartKey: from } = request
    const found: WireItem[] = []
    for (const pk of tableOf(request).partitionsFrom(from?.['pk']?.S ?? '')) {
      if (found.length > Limit) break
      if (!inSegment(pk, request)) continue
      const items = tableOf(request).partition('pk', pk).sort(orderBy('sk'))
      const begun = from?.['pk']?.S === pk
      found.push(...(begun ? items.filter(item => order(item['sk'], from['sk']) > 0) : items))
    }
    return found
  }

  function select(request: Request): EngineAnswer {
    const { ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} } = request
    const { IndexName = '', Limit } = request
    // DynamoDB refuses empty text in a key condition; the real local engine accepts it
    if (request.KeyConditionExpression !== undefined && Object.values(values).some(({ S }) => S === ''))
      return fault('ValidationException', { message: 'a key attribute cannot contain an empty string' })
    const [, term = '', value = ''] = PARTITION.exec(request.KeyConditionExpression ?? '') ?? []
    const partition = values[value]?.S
    const listed =
      partition === undefined ? scanned(request) : queried(request, names[term] ?? term, partition)
    const page = listed.slice(0, Limit)
    const { pk, sk, ...rest } = page.at(-1) ?? {}
    const due = IndexName === 'expiry' ? { due: rest['due'] } : {}
    const Items = page.filter(item => holds(request.FilterExpression, item, request))
    return done({
      Items,
      Count: Items.length,
      ScannedCount: page.length,
      ...(page.length < listed.length ? { LastEvaluatedKey: { pk, sk, ...due } } : {}),
    })
  }

  function batchGet({ RequestItems }: Input): EngineAnswer {
    const read = Object.entries(RequestItems).map(([TableName, { Keys }]) => {
      const items = Keys.flatMap(key => tableOf({ TableName }).at(key) ?? [])
      return [TableName, items] as const
    })
    return done({ Responses: Object.fromEntries(read), UnprocessedKeys: {} })
  }

  return { tableOf, select, batchGet }
}

const order = (a: WireItem[string] | undefined, b: WireItem[string] | undefined): number =>
  a?.N === undefined ? textOrder(a?.S, b?.S) : Number(a.N) - Number(b?.N)

const textOrder = (a = '', b = ''): number => (a < b ? -1 : Number(a > b))

/** Compares items by the sort key of a table or an index, then by the table's own keys. */
const orderBy =
  (sorted: string) =>
  (a: WireItem, b: WireItem): number =>
    order(a[sorted], b[sorted]) || textOrder(a['pk']?.S, b['pk']?.S) || textOrder(a['sk']?.S, b['sk']?.S)

/** Reports whether a partition belongs to a segment of a scan. Each partition belongs to one segment. */
function inSegment(pk: string, { Segment, TotalSegments }: Request): boolean {
  if (Segment === undefined || TotalSegments === undefined) return true
  const sum = [...pk].reduce((all, letter) => (all * 31 + letter.charCodeAt(0)) % 65_521, 7)
  return sum % TotalSegments === Segment
}
