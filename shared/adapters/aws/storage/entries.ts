import {
  decodeEntryBody,
  encodeEntryBody,
  isSameEntry,
  type JournalEntry,
} from '../../../journal/journal-entry.ts'
import {
  epochAt,
  type JournalLineage,
  type JournalPosition,
  sequenceText,
} from '../../../journal/position.ts'
import type { TableKey } from '../../../storage/queries.ts'
import type { TableNames } from '../../../storage/requests.ts'
import { splitIntoChunks } from '../../../values/batches.ts'
import { bounds } from '../../../values/bounds.ts'
import { defined } from '../../../values/defined.ts'
import { mapInParallel } from '../../../values/in-parallel.ts'
import { CONFLICT_RESULT, ok, PENDING_RESULT, type Result } from '../../../values/result.ts'
import type { PlainItem } from '../wire/values.ts'
import { attemptWrite } from './conditional-writes.ts'
import { retryWhileBusy, type StorageEngine, tableKeyText } from './engine.ts'
import { translateDynamoErrors, type WriteFault } from './faults.ts'

/** The number of partitions for the journal entries of an epoch. */
const SPREAD = 32
const DAY_SECONDS = 86_400
/** Maximum bytes of a body in one item. */
const LARGEST_PART = 300_000

const entryKey = ({ epoch, seq }: JournalPosition) => ({
  pk: `j#${epoch}#${seq % SPREAD}`,
  sk: sequenceText(seq),
})

/** Returns the key of a further part of a body that is too large for one item. */
const partKey = (position: JournalPosition, part: number) => {
  const { pk, sk } = entryKey(position)
  return { pk, sk: `${sk}.${part}` }
}

const partKeys = (position: JournalPosition, parts: number) =>
  Array.from({ length: parts }, (_, index) => partKey(position, index + 1))

/** Returns the items that store a journal entry: one item, or several for a large body. */
export function toEntryItems(entry: JournalEntry): PlainItem[] {
  const ttl = Math.floor(entry.at / 1000) + bounds.JOURNAL_RETENTION_DAYS * DAY_SECONDS
  const { id, at, noop, root } = entry
  const common = defined({ kind: 'entry', id, at, ttl, root })
  if (noop) return [{ ...entryKey(entry), ...common, noop }]
  const bytes = encodeEntryBody(entry.body)
  const pieces = Array.from({ length: Math.ceil(bytes.length / LARGEST_PART) }, (_, index) =>
    bytes.subarray(index * LARGEST_PART, (index + 1) * LARGEST_PART),
  )
  const [body, ...rest] = pieces
  return [
    defined({ ...entryKey(entry), ...common, body, parts: rest.length > 0 ? rest.length : undefined }),
    ...rest.map((piece, index) => ({ ...partKey(entry, index + 1), kind: 'entry', ttl, body: piece })),
  ]
}

/** Parses a stored journal entry. @param rest the entry's further items, in their order */
const partsOf = (item: PlainItem): number => Number(item['parts'] ?? 0)

/** Returns the journal entries after `after`, up to and including `to`; undefined for a position without an entry. */
export function parseJournalEntry(
  position: JournalPosition,
  item: PlainItem,
  rest: readonly PlainItem[] = [],
): JournalEntry {
  const { id, at, noop, root } = item as { id: string; at: number; noop?: true; root?: string }
  const bytes = Buffer.concat(
    [item, ...rest].map(part => (part['body'] as Uint8Array | undefined) ?? Buffer.alloc(0)),
  )
  return defined({
    ...position,
    id,
    at,
    body: noop ? [] : decodeEntryBody(bytes, position),
    noop: noop || undefined,
    root,
  })
}

const inCluster = ({ cluster }: TableNames, { pk, sk }: { pk: string; sk: string }): TableKey => ({
  table: cluster,
  pk,
  sk,
})

/** Returns the journal entries after `after`, up to and including `to`; undefined for a position without one. */
export async function readJournalEntries(
  engine: StorageEngine,
  lineage: JournalLineage,
  after: number,
  to: number,
): Promise<(JournalEntry | undefined)[]> {
  const { tables, get } = engine
  const positions = Array.from({ length: Math.max(0, to - after) }, (_, index) => {
    const seq = after + 1 + index
    return { epoch: epochAt(lineage, seq), seq }
  })
  const items = await get(positions.map(position => inCluster(tables, entryKey(position))))
  const found = positions.flatMap(position => {
    const item = items.get(tableKeyText(inCluster(tables, entryKey(position))))
    return item ? [{ position, item }] : []
  })
  const bySeq = new Map((await readParts(engine, found)).map(entry => [entry.seq, entry]))
  return positions.map(({ seq }) => bySeq.get(seq))
}

/**
 * Reads the further items of journal entries whose first items were read. The function omits an entry that lacks
 * one of its items, because DynamoDB deletes expired items one by one.
 */
async function readParts(
  { tables, get }: StorageEngine,
  found: readonly { position: JournalPosition; item: PlainItem }[],
): Promise<JournalEntry[]> {
  const keysOf = (position: JournalPosition, item: PlainItem) =>
    partKeys(position, partsOf(item)).map(at => inCluster(tables, at))
  const keys = found.flatMap(({ position, item }) => keysOf(position, item))
  const parts = keys.length > 0 ? await get(keys) : new Map<string, PlainItem>()
  return found.flatMap(({ position, item }) => {
    const rest = keysOf(position, item).map(at => parts.get(tableKeyText(at)))
    const there = rest.filter(part => part !== undefined)
    return there.length === rest.length ? [parseJournalEntry(position, item, there)] : []
  })
}

/**
 * Stores a journal entry if the position has none; otherwise returns the stored entry. If the stored entry is the
 * same entry, the call counts as successful.
 */
export async function writeJournalEntry(
  engine: StorageEngine,
  entry: JournalEntry,
): Promise<'done' | 'conflict' | JournalEntry> {
  const result = await attemptEntry(engine, entry)
  if (result.ok) return 'done'
  if (result.fault.kind === 'busy') return 'conflict'
  const [there] = await readJournalEntries(engine, [[entry.epoch, 0]], entry.seq - 1, entry.seq)
  if (!there) return 'conflict'
  return isSameEntry(there, entry) ? 'done' : there
}

/** Returns the writes that store a journal entry if its position has none. */
export const buildEntryWrites = (entry: JournalEntry, { cluster }: TableNames) =>
  toEntryItems(entry).map(Item => ({
    Put: { TableName: cluster, Item, ConditionExpression: 'attribute_not_exists(pk)' },
  }))

function attemptEntry(engine: StorageEngine, entry: JournalEntry): Promise<Result<unknown, WriteFault>> {
  const writes = buildEntryWrites(entry, engine.tables)
  const [only, second] = writes
  return attemptWrite(engine, () =>
    only && !second
      ? engine.send('PutItem', only.Put)
      : engine.send('TransactWriteItems', { TransactItems: writes }),
  )
}

/** Number of items in one call, and number of concurrent calls. */
const LARGEST_BATCH = 25
const AT_ONCE = 8

/**
 * Stores journal entries that another cluster wrote, if their positions have none. `BatchWriteItem` stores many items
 * with one call but takes no conditions, so the stored entries are read first.
 * @returns the stored entry of the first position that has a different entry
 */
export async function writeJournalEntries(
  engine: StorageEngine,
  entries: readonly JournalEntry[],
): Promise<'done' | JournalEntry> {
  const { tables, get } = engine
  const inCluster = (entry: JournalEntry) => ({ table: tables.cluster, ...entryKey(entry) })
  const found = await get(entries.map(inCluster))
  const missing: JournalEntry[] = []
  for (const entry of entries) {
    const there = found.get(tableKeyText(inCluster(entry)))
    if (!there) missing.push(entry)
    else if (there['id'] !== entry.id || there['noop'] !== entry.noop) {
      const [other] = await readJournalEntries(engine, [[entry.epoch, 0]], entry.seq - 1, entry.seq)
      if (other) return other
    }
  }
  const items = missing.map(toEntryItems)
  const small = items.flatMap(([item, ...rest]) => (item && rest.length === 0 ? [item] : []))
  await mapInParallel(splitIntoChunks(small, LARGEST_BATCH), batch => putBatch(engine, batch), AT_ONCE)
  // a transaction stores all parts of a journal entry or none
  for (const entry of missing.filter((_, index) => (items[index]?.length ?? 0) > 1)) {
    const stored = await writeLargeEntry(engine, entry)
    if (stored !== 'done') return stored
  }
  return 'done'
}

const writeLargeEntry = (engine: StorageEngine, entry: JournalEntry): Promise<'done' | JournalEntry> =>
  retryWhileBusy(engine, async () => {
    const written = await writeJournalEntry(engine, entry)
    return written === 'conflict' ? CONFLICT_RESULT : ok(written)
  })

async function putBatch(engine: StorageEngine, items: readonly PlainItem[]): Promise<void> {
  const { tables, meter, send } = engine
  let left = items
  await retryWhileBusy(engine, async () => {
    if (left.length === 0) return ok()
    meter.count('dynamodb')
    const RequestItems = { [tables.cluster]: left.map(Item => ({ PutRequest: { Item } })) }
    const { UnprocessedItems } = await translateDynamoErrors(send('BatchWriteItem', { RequestItems }))
    left = UnprocessedItems[tables.cluster] ?? []
    return left.length > 0 ? PENDING_RESULT : ok()
  })
}
