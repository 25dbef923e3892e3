import type { CallMeter, Clock, Entropy, Log, ScanCursor } from '../../../ports.ts'
import {
  type DynamoDbQuery,
  type DynamoDbScan,
  groupKeysByTable,
  type TableKey,
} from '../../../storage/queries.ts'
import type { StoredItem, TableNames } from '../../../storage/requests.ts'
import { splitIntoChunks } from '../../../values/batches.ts'
import { defined } from '../../../values/defined.ts'
import { mapInParallel } from '../../../values/in-parallel.ts'
import { ok, PENDING_RESULT, type Result } from '../../../values/result.ts'
import { retryOnConflict } from '../../../values/retrying.ts'
import type { TableSend } from '../wire/tables.ts'
import type { NumberReading, PlainItem } from '../wire/values.ts'
import { storageBusyError, translateDynamoErrors } from './faults.ts'

/** The dependencies of the table adapter. */
export interface StorageDependencies {
  tables: TableNames
  clock: Clock
  entropy: Entropy
  meter: CallMeter
  log: Pick<Log, 'error'>
}

/** Our own attempts while DynamoDB cannot take a request. Each try of the engine is several attempts of the client. */
export const MAX_STORAGE_TRIES = 5
const LARGEST_BATCH = 100
/**
 * Number of batches of one read that run in parallel. Each batch may have megabytes, and must arrive within the
 * time of an attempt.
 */
const BATCHES_AT_ONCE = 10

export const tableKeyText = ({ table, pk, sk }: TableKey): string => `${table}\n${pk}\n${sk}`

/** Returns items or keys by table, each with its place. */
const placesIn = (tables: Record<string, PlainItem[]>): [TableKey, PlainItem][] =>
  Object.entries(tables).flatMap(([table, items]) =>
    items.map(item => [{ table, ...(item as { pk: string; sk: string }) }, item] as [TableKey, PlainItem]),
  )

export type StorageEngine = ReturnType<typeof createStorageEngine>

/** Repeats an attempt until it succeeds. @throws ApiError `busy` after the last attempt */
export async function retryWhileBusy<T>(
  { pause }: Pick<StorageEngine, 'pause'>,
  attempt: () => Promise<Result<T, unknown>>,
  tries = MAX_STORAGE_TRIES,
): Promise<T> {
  const ended = await retryOnConflict({ tries, pause }, attempt)
  if (!ended.ok) throw storageBusyError()
  return ended.value
}

/** Creates the engine that reading and writing have in common. */
export function createStorageEngine(send: TableSend, dependencies: StorageDependencies) {
  const { tables, clock, entropy, meter, log } = dependencies
  const pause = (tries: number) => clock.sleep((entropy.bytes(1)[0] ?? 0) % (20 * 2 ** tries))
  const seconds = () => Math.floor(clock.now() / 1000)

  /**
   * Makes one batch call, for at most a hundred keys.
   * @returns `left`: the keys that were not processed
   */
  async function getOnce(
    keys: readonly TableKey[],
    numbers: NumberReading = 'rounded',
  ): Promise<{ found: [string, PlainItem][]; left: TableKey[] }> {
    const { Responses, UnprocessedKeys } = await translateDynamoErrors(
      send('BatchGetItem', { RequestItems: groupKeysByTable(keys) }, { numbers }),
    )
    return {
      found: placesIn(Responses).map(([place, item]) => [tableKeyText(place), item]),
      left: placesIn(UnprocessedKeys).map(([place]) => place),
    }
  }

  async function batchGet(keys: readonly TableKey[], numbers: NumberReading): Promise<[string, PlainItem][]> {
    let wanted = keys
    const all: [string, PlainItem][] = []
    await retryWhileBusy({ pause }, async () => {
      if (wanted.length === 0) return ok()
      meter.count('dynamodb')
      const { found, left } = await getOnce(wanted, numbers)
      all.push(...found)
      wanted = left
      return wanted.length > 0 ? PENDING_RESULT : ok()
    })
    return all
  }

  /** Returns items of any keys by `tableKeyText`, read consistently, a hundred at a time. */
  async function get(
    keys: readonly TableKey[],
    numbers: NumberReading = 'rounded',
  ): Promise<Map<string, PlainItem>> {
    const unique = [...new Map(keys.map(key => [tableKeyText(key), key])).values()]
    const batches = splitIntoChunks(unique, LARGEST_BATCH)
    const found = await mapInParallel(batches, batch => batchGet(batch, numbers), BATCHES_AT_ONCE)
    return new Map(found.flat())
  }

  return { tables, clock, entropy, meter, log, send, pause, seconds, get, getOnce }
}

/** Runs a query and yields one page for each call. */
export async function* queryPages(
  { meter, send }: Pick<StorageEngine, 'meter' | 'send'>,
  query: DynamoDbQuery,
  numbers?: NumberReading,
): AsyncGenerator<PlainItem[]> {
  let start: PlainItem | undefined
  do {
    meter.count('dynamodb')
    const page = await translateDynamoErrors(
      send('Query', { ...query, ...defined({ ExclusiveStartKey: start }) }, defined({ numbers })),
    )
    yield page.Items
    start = page.LastEvaluatedKey
  } while (start)
}

/**
 * Runs one call of a scan.
 * @returns `next`: the key at which the segment continues; absent at its end
 */
export async function scanTablePage(
  { meter, send }: Pick<StorageEngine, 'meter' | 'send'>,
  call: DynamoDbScan,
): Promise<{ items: StoredItem[]; next?: ScanCursor }> {
  meter.count('dynamodb')
  const page = await translateDynamoErrors(send('Scan', call))
  return defined({
    items: page.Items as unknown as StoredItem[],
    next: page.LastEvaluatedKey as ScanCursor | undefined,
  })
}
