import { defined } from '../values/defined.ts'
import type { Kind } from './kinds.ts'
import { type TableNames, tableNameOf } from './requests.ts'

/** The input of a query (document form). */
export interface DynamoDbQuery {
  TableName: string
  IndexName?: string
  ConsistentRead?: true
  KeyConditionExpression: string
  ExpressionAttributeNames?: Record<string, string>
  ExpressionAttributeValues: Record<string, unknown>
  Limit?: number
}

/** Returns the query for the items of one partition, by name. DynamoDB refuses a key condition with an empty name. */
export const buildPartitionQuery = (
  tables: TableNames,
  kind: Kind,
  pk: string,
  { after = '', limit }: { after?: string; limit?: number } = {},
): DynamoDbQuery =>
  defined({
    TableName: tableNameOf(tables, { kind }),
    ConsistentRead: true as const,
    KeyConditionExpression: after === '' ? 'pk = :pk' : 'pk = :pk AND sk > :after',
    ExpressionAttributeValues: { ':pk': pk, ...(after === '' ? {} : { ':after': after }) },
    Limit: limit,
  })

/**
 * Returns the query for the items of one partition that tidy may consider. The index `expiry` may be seconds
 * behind.
 * @param before epoch seconds
 */
export const buildDueItemsQuery = (
  tables: TableNames,
  kind: Kind,
  pk: string,
  before: number,
): DynamoDbQuery => ({
  TableName: tableNameOf(tables, { kind }),
  IndexName: 'expiry',
  KeyConditionExpression: 'pk = :pk AND due < :before',
  ExpressionAttributeValues: { ':pk': pk, ':before': before },
})

/** One of several segments of a table, and the key at which an earlier scan of this segment stopped. */
interface Segment {
  index: number
  of: number
  from?: { pk: string; sk: string } | undefined
  limit?: number
}

/** The input of one call of a scan (document form). */
export interface DynamoDbScan {
  TableName: string
  ConsistentRead: true
  FilterExpression?: string
  ExpressionAttributeValues?: Record<string, unknown>
  Segment: number
  TotalSegments: number
  ExclusiveStartKey?: NonNullable<Segment['from']>
  Limit: number
}

/**
 * The maximum number of items that one call of a scan reads. On AWS a call ends at 1 MB in any case. Without a
 * limit the embedded engine would read the whole rest of the segment and block all other calls meanwhile.
 */
const SCANNED = 500

/** Returns a scan of all items in a segment. */
export const buildScan = (TableName: string, { index, of, from, limit = SCANNED }: Segment): DynamoDbScan =>
  defined({
    TableName,
    ConsistentRead: true as const,
    Segment: index,
    TotalSegments: of,
    ExclusiveStartKey: from,
    Limit: Math.min(SCANNED, limit),
  })

/** Returns a scan for the items of some kinds, all in the same table. */
export function buildKindsScan(
  tables: TableNames,
  wanted: Kind | readonly Kind[],
  segment: Segment,
): DynamoDbScan {
  const kinds = typeof wanted === 'string' ? [wanted] : wanted
  const [first] = kinds
  if (first === undefined) throw new Error('a scan names no kind')
  const values = Object.fromEntries(kinds.map((kind, place) => [`:kind${place}`, kind]))
  return {
    ...buildScan(tableNameOf(tables, { kind: first }), segment),
    FilterExpression: `kind IN (${Object.keys(values)})`,
    ExpressionAttributeValues: values,
  }
}

/** A key in a table. */
export interface TableKey {
  table: string
  pk: string
  sk: string
}

/** Groups the keys of a batch read by table. Reads of these keys are strongly consistent. */
export function groupKeysByTable(
  keys: readonly TableKey[],
): Record<string, { ConsistentRead: true; Keys: { pk: string; sk: string }[] }> {
  const byTable: ReturnType<typeof groupKeysByTable> = {}
  for (const { table, pk, sk } of keys) {
    byTable[table] ??= { ConsistentRead: true, Keys: [] }
    byTable[table].Keys.push({ pk, sk })
  }
  return byTable
}
