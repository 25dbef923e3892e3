import type { DueItem, ItemStore, ItemsOfKeys, ListPage, ScannedPage } from '../../../ports.ts'
import type { Item, ItemPartitions, Key, Kind } from '../../../storage/kinds.ts'
import {
  buildDueItemsQuery,
  buildKindsScan,
  buildPartitionQuery,
  type TableKey,
} from '../../../storage/queries.ts'
import {
  fromStoredItem,
  isValidItemKey,
  type StoredItem,
  type TableNames,
  tableNameOf,
} from '../../../storage/requests.ts'
import { defined } from '../../../values/defined.ts'
import type { ReadItems } from './batching/reads.ts'
import { queryPages, type StorageEngine, scanTablePage, tableKeyText } from './engine.ts'

/**
 * Reads items of the tables.
 * @param find reads several items at a time, possibly in one call with the reads of other callers
 */
export const createStoreReads = (
  engine: StorageEngine,
  find: ReadItems = keys => engine.get(keys),
): Omit<ItemStore, 'commit'> => ({
  read: keys => readItems(engine, find, keys),
  list: (where, page) => listItems(engine, where, page),
  due: (where, before) => dueItems(engine, where, before),
  scan: (kinds, segment) => scanItems(engine, kinds, segment),
})

async function readItems<const K extends readonly Key[]>(
  { tables, seconds }: StorageEngine,
  find: ReadItems,
  keys: K,
): Promise<ItemsOfKeys<K>> {
  const places = tableKeysOf(tables, keys)
  const found = await find(
    places,
    keys.map(({ kind }) => kind),
  )
  return pickReadItems(found, tables, keys, seconds()) as unknown as ItemsOfKeys<K>
}

const placeOf = (tables: TableNames, key: Key): TableKey => ({
  table: tableNameOf(tables, key),
  pk: key.pk,
  sk: key.sk,
})

/** Returns the table keys of items. Keys that no item can have are left out. */
export const tableKeysOf = (tables: TableNames, keys: readonly Key[]): TableKey[] =>
  keys.map(key => placeOf(tables, key)).filter(isValidItemKey)

/**
 * Returns the items of some keys, in their order, from the result of a batch read.
 * @param now epoch seconds
 */
export const pickReadItems = (
  found: ReadonlyMap<string, Record<string, unknown>>,
  tables: TableNames,
  keys: readonly Key[],
  now: number,
): (Item | undefined)[] =>
  keys.map(key => {
    const stored = found.get(tableKeyText(placeOf(tables, key)))
    return fromStoredItem(key.kind, stored as StoredItem | undefined, now)
  })

async function listItems<K extends Kind>(
  engine: StorageEngine,
  { kind, pks }: ItemPartitions<K>,
  page: ListPage = {},
): Promise<Item<K>[]> {
  const [pk = ''] = pks
  if (pks.length === 1) return listPartition(engine, kind, pk, page)
  if (page.limit !== undefined) return mergePage(engine, { kind, pks }, page, page.limit)
  return (await Promise.all(pks.map(one => listPartition(engine, kind, one, page)))).flat().sort(byName)
}

const byName = (a: Pick<Item, 'sk'>, b: Pick<Item, 'sk'>): number => (a.sk < b.sk ? -1 : 1)

/**
 * Reads a page of a collection with several partitions. The reader requests from each partition its share of the
 * page, and another share while the partition may have earlier names than the page's last. Because of these shares
 * a page costs little more than its items.
 */
async function mergePage<K extends Kind>(
  engine: StorageEngine,
  { kind, pks }: ItemPartitions<K>,
  { after }: ListPage,
  limit: number,
): Promise<Item<K>[]> {
  const share = shareOf(limit, pks.length)
  const items: Item<K>[] = []
  const partitions = pks.map(pk => ({
    calls: queryPages(engine, buildPartitionQuery(engine.tables, kind, pk, defined({ after, limit: share }))),
    ended: false,
    last: '',
  }))
  const readOn = async (partition: (typeof partitions)[number]): Promise<void> => {
    const { done = false, value = [] } = await partition.calls.next()
    const found = value as unknown as StoredItem[]
    partition.ended = done
    partition.last = found.at(-1)?.sk ?? partition.last
    items.push(...parseLiving(kind, found, engine.seconds()))
  }
  for (let behind = partitions; behind.length > 0; ) {
    await Promise.all(behind.map(readOn))
    items.sort(byName)
    const end = items[limit - 1]?.sk
    behind = partitions.filter(({ ended, last }) => !ended && (end === undefined || last < end))
  }
  return items.slice(0, limit)
}

/**
 * Returns how many items to request from one of several partitions. Names are spread by hash, so few partitions have
 * more than the mean plus twice the deviation.
 */
function shareOf(limit: number, partitions: number): number {
  const mean = limit / partitions
  return Math.ceil(mean + 2 * Math.sqrt(mean))
}

async function listPartition<K extends Kind>(
  engine: StorageEngine,
  kind: K,
  pk: string,
  page: ListPage,
): Promise<Item<K>[]> {
  const items: Item<K>[] = []
  for await (const found of queryPages(engine, buildPartitionQuery(engine.tables, kind, pk, page))) {
    items.push(...parseLiving(kind, found as unknown as StoredItem[], engine.seconds()))
    if (page.limit !== undefined && items.length >= page.limit) break
  }
  return items.slice(0, page.limit)
}

async function* dueItems<K extends Kind>(
  engine: StorageEngine,
  { kind, pks }: ItemPartitions<K>,
  before: number,
): AsyncGenerator<DueItem<K>[]> {
  for (const pk of pks)
    for await (const found of queryPages(engine, buildDueItemsQuery(engine.tables, kind, pk, before)))
      yield (found as unknown as StoredItem[]).map(({ sk, rev, due = 0 }) => ({ kind, pk, sk, rev, due }))
}

async function* scanItems<K extends Kind>(
  engine: StorageEngine,
  ...[kinds, segment]: Parameters<ItemStore['scan']>
): AsyncGenerator<ScannedPage<K>> {
  let from = segment.from
  do {
    const { items, next } = await scanTablePage(
      engine,
      buildKindsScan(engine.tables, kinds, { ...segment, from }),
    )
    from = next
    const now = engine.seconds()
    yield defined({ items: items.flatMap(item => parseLiving(item.kind as K, [item], now)), next })
  } while (from)
}

/**
 * Returns the items that have not expired.
 * @param now epoch seconds
 */
const parseLiving = <K extends Kind>(kind: K, stored: readonly StoredItem[], now: number): Item<K>[] =>
  stored.map(item => fromStoredItem(kind, item, now)).filter(item => item !== undefined)
