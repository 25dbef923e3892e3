import { type DynamoDBDocumentClient, QueryCommand, ScanCommand } from '@aws-sdk/lib-dynamodb'
import type { Cursor } from '../../../ports.ts'
import type { Query, ScanCall } from '../../../storage/queries.ts'
import type { StoredItem } from '../../../storage/requests.ts'
import { defined } from '../../../values/defined.ts'
import type { Engine } from './engine.ts'
import type { Raw } from './expressions.ts'
import { sent } from './verdict.ts'

/** What a query finds, call by call. */
export async function* pagesOf(
  meter: Engine['meter'],
  client: DynamoDBDocumentClient,
  query: Query,
): AsyncGenerator<Raw[]> {
  let start: Raw | undefined
  do {
    meter.count('dynamodb')
    const page = await sent(
      client.send(new QueryCommand({ ...query, ...defined({ ExclusiveStartKey: start }) })),
    )
    yield page.Items ?? []
    start = page.LastEvaluatedKey
  } while (start)
}

/** What one call of a scan finds. @returns `next`: where the segment goes on; absent at its end */
export async function scanned(
  { meter, documents }: Pick<Engine, 'meter' | 'documents'>,
  call: ScanCall,
): Promise<{ items: StoredItem[]; next?: Cursor }> {
  meter.count('dynamodb')
  const page = await sent(documents.send(new ScanCommand({ ...call })))
  return defined({
    items: (page.Items ?? []) as StoredItem[],
    next: page.LastEvaluatedKey as Cursor | undefined,
  })
}
