import {
  type AttributeValue,
  BatchWriteItemCommand,
  DeleteTableCommand,
  type DynamoDBClient,
  paginateScan,
} from '@aws-sdk/client-dynamodb'
import type { TableNames } from '../../../shared/storage/requests.ts'
import type { WireItem } from '../tables/wire-values.ts'
import type { ownKms } from './own-kms.ts'

/** A snapshot of a cluster, from which the cluster can be restored. */
export interface MemberSnapshot {
  name: string
  token: string
  kms: ReturnType<typeof ownKms>
  shares: readonly string[]
  items: Record<keyof TableNames, readonly WireItem[]>
}

/** A snapshot of clusters, from which they can be restored any number of times. */
export interface SetSnapshot {
  /** epoch milliseconds */
  at: number
  members: readonly MemberSnapshot[]
}

/** Returns all items of a table, in the engine's wire format. */
export async function itemsOf(client: DynamoDBClient, TableName: string): Promise<WireItem[]> {
  const found: WireItem[] = []
  for await (const { Items = [] } of paginateScan({ client }, { TableName }))
    found.push(...Items.map(item => JSON.parse(JSON.stringify(item, bytesAsText)) as WireItem))
  return found
}

const bytesAsText = (_: string, value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value

/** Converts an item to the form that the SDK's client takes: binary attributes become bytes. */
const asGiven = (item: WireItem): Record<string, AttributeValue> =>
  Object.fromEntries(
    Object.entries(item).map(([name, value]) => [
      name,
      value.B === undefined ? value : { B: Buffer.from(value.B, 'base64') },
    ]),
  ) as Record<string, AttributeValue>

const AT_ONCE = 25

/** Writes items into an empty table. */
export async function fillTable(
  client: DynamoDBClient,
  table: string,
  items: readonly WireItem[],
): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const requests = items.slice(at, at + AT_ONCE).map(item => ({ PutRequest: { Item: asGiven(item) } }))
    await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: requests } }))
  }
}

export async function dropTables(client: DynamoDBClient, tables: TableNames): Promise<void> {
  for (const TableName of Object.values(tables)) await client.send(new DeleteTableCommand({ TableName }))
}
