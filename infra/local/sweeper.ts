import { DeleteItemCommand, type DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb'
import type { TableModel } from './assembly.ts'

const EVERY_MS = 60_000

/** Deletes items whose native expiry has passed: the engine from npm accepts the setting but never does. */
export function startSweeper(
  client: DynamoDBClient,
  tables: readonly TableModel[],
): { sweep(): Promise<number>; close(): void } {
  const sweep = async (): Promise<number> => {
    let removed = 0
    for (const { name, ttl } of tables) if (ttl) removed += await sweepTable(client, name, ttl)
    return removed
  }
  const timer = setInterval(() => {
    sweep().catch(() => 0) // the next round finds what this one did not
  }, EVERY_MS)
  timer.unref()
  return { sweep, close: () => clearInterval(timer) }
}

async function sweepTable(client: DynamoDBClient, TableName: string, ttl: string): Promise<number> {
  const now = { ':now': { N: String(Math.floor(Date.now() / 1000)) } }
  const names = { '#ttl': ttl }
  const pages = paginateScan(
    { client },
    {
      TableName,
      FilterExpression: '#ttl < :now',
      ProjectionExpression: 'pk, sk',
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: now,
    },
  )
  let removed = 0
  for await (const { Items = [] } of pages) {
    for (const item of Items) {
      const Key = { pk: item['pk'] ?? { S: '' }, sk: item['sk'] ?? { S: '' } }
      const expired = {
        ConditionExpression: '#ttl < :now',
        ExpressionAttributeNames: names,
        ExpressionAttributeValues: now,
      }
      await client.send(new DeleteItemCommand({ TableName, Key, ...expired })).then(
        () => {
          removed += 1
        },
        () => undefined, // renewed meanwhile
      )
    }
  }
  return removed
}
