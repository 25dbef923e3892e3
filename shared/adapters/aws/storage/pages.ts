import type { Cursor } from '../../../ports.ts'
import type { Query, ScanCall } from '../../../storage/queries.ts'
import type { StoredItem } from '../../../storage/requests.ts'
import { defined } from '../../../values/defined.ts'
import type { Numbers } from '../wire/values.ts'
import type { Engine } from './engine.ts'
import type { Raw } from './expressions.ts'
import { sent } from './verdict.ts'

/** What a query finds, call by call. */
export async function* pagesOf(
  { meter, send }: Pick<Engine, 'meter' | 'send'>,
  query: Query,
  numbers?: Numbers,
): AsyncGenerator<Raw[]> {
  let start: Raw | undefined
  do {
    meter.count('dynamodb')
    const page = await sent(
      send('Query', { ...query, ...defined({ ExclusiveStartKey: start }) }, defined({ numbers })),
    )
    yield page.Items
    start = page.LastEvaluatedKey
  } while (start)
}

/** What one call of a scan finds. @returns `next`: where the segment goes on; absent at its end */
export async function scanned(
  { meter, send }: Pick<Engine, 'meter' | 'send'>,
  call: ScanCall,
): Promise<{ items: StoredItem[]; next?: Cursor }> {
  meter.count('dynamodb')
  const page = await sent(send('Scan', call))
  return defined({
    items: page.Items as unknown as StoredItem[],
    next: page.LastEvaluatedKey as Cursor | undefined,
  })
}
