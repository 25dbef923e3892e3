import { QueryCommand, type QueryCommandInput, ScanCommand } from '@aws-sdk/lib-dynamodb'
import type { Cursor, Due, Items, OneOrMore, Page, Scanned, ScanSegment, Store } from '../../../ports.ts'
import type { Item, Key, Kind, Partitions } from '../../../storage/kinds.ts'
import { fromStored, isKey, type StoredItem, tableOf } from '../../../storage/requests.ts'
import { defined } from '../../../values/defined.ts'
import { type Engine, nameOf } from './engine.ts'
import { sent } from './verdict.ts'

/** Reading the tables. */
export function reads({ tables, meter, documents, seconds, get }: Engine): Omit<Store, 'commit'> {
  async function read<const K extends readonly Key[]>(keys: K): Promise<Items<K>> {
    const places = keys.map(key => ({ table: tableOf(tables, key), pk: key.pk, sk: key.sk }))
    const found = await get(places.filter(isKey))
    return keys.map((key, index) =>
      fromStored(
        key.kind,
        found.get(nameOf(places[index] as (typeof places)[number])) as StoredItem | undefined,
        seconds(),
      ),
    ) as unknown as Items<K>
  }

  async function* pages(input: QueryCommandInput): AsyncGenerator<StoredItem[]> {
    let start: Record<string, unknown> | undefined
    do {
      meter.count('dynamodb')
      const page = await sent(
        documents.send(new QueryCommand({ ...input, ...defined({ ExclusiveStartKey: start }) })),
      )
      yield (page.Items ?? []) as StoredItem[]
      start = page.LastEvaluatedKey
    } while (start)
  }

  async function partition<K extends Kind>(kind: K, pk: string, { after, limit }: Page): Promise<Item<K>[]> {
    const items: Item<K>[] = []
    const input: QueryCommandInput = defined({
      TableName: tableOf(tables, { kind }),
      ConsistentRead: true,
      KeyConditionExpression: after === undefined ? 'pk = :pk' : 'pk = :pk AND sk > :after',
      ExpressionAttributeValues: defined({ ':pk': pk, ':after': after }),
      Limit: limit,
    })
    for await (const page of pages(input)) {
      items.push(
        ...page.map(stored => fromStored(kind, stored, seconds())).filter(item => item !== undefined),
      )
      if (limit !== undefined && items.length >= limit) break
    }
    return items
  }

  async function list<K extends Kind>({ kind, pks }: Partitions<K>, page: Page = {}): Promise<Item<K>[]> {
    const items = (await Promise.all(pks.map(pk => partition(kind, pk, page)))).flat()
    if (pks.length > 1) items.sort((a, b) => (a.sk < b.sk ? -1 : 1))
    return page.limit === undefined ? items : items.slice(0, page.limit)
  }

  async function* due<K extends Kind>(
    { kind, pks }: Partitions<K>,
    before: number,
  ): AsyncGenerator<Due<K>[]> {
    for (const pk of pks) {
      const input: QueryCommandInput = {
        TableName: tableOf(tables, { kind }),
        IndexName: 'expiry',
        KeyConditionExpression: 'pk = :pk AND due < :before',
        ExpressionAttributeValues: { ':pk': pk, ':before': before },
      }
      for await (const page of pages(input)) {
        yield page.map(({ sk, rev, due: at = 0 }) => ({ kind, pk, sk, rev, due: at }))
      }
    }
  }

  async function* scan<K extends Kind>(
    wanted: OneOrMore<K>,
    { index, of, from }: ScanSegment,
  ): AsyncGenerator<Scanned<K>> {
    const kinds = Array.isArray(wanted) ? wanted : [wanted]
    const values = Object.fromEntries(kinds.map((kind, place) => [`:kind${place}`, kind]))
    let start = from
    do {
      meter.count('dynamodb')
      const page = await sent(
        documents.send(
          new ScanCommand(
            defined({
              TableName: tableOf(tables, { kind: kinds[0] }),
              ConsistentRead: true,
              FilterExpression: `kind IN (${Object.keys(values)})`,
              ExpressionAttributeValues: values,
              Segment: index,
              TotalSegments: of,
              ExclusiveStartKey: start,
            }),
          ),
        ),
      )
      const stored = (page.Items ?? []) as StoredItem[]
      const items = stored
        .map(item => fromStored(item.kind as K, item, seconds()))
        .filter(item => item !== undefined)
      start = page.LastEvaluatedKey as Cursor | undefined
      yield defined({ items, next: start })
    } while (start)
  }

  return { read, list, due, scan }
}
