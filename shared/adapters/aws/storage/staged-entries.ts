import type { JournalEntry } from '../../../journal/journal-entry.ts'
import { CONFLICT, ok, PENDING } from '../../../values/result.ts'
import { retrying } from '../../../values/retrying.ts'
import { entryItems, entryKey } from './elements.ts'
import { type Engine, nameOf, STORAGE_TRIES } from './engine.ts'
import type { Raw } from './expressions.ts'
import { readEntries, writeEntry } from './journal-entries.ts'
import { busy, sent } from './verdict.ts'

/** Items that one call may store, and calls at once. */
const LARGEST_BATCH = 25
const AT_ONCE = 8

/**
 * Stores journal entries that another cluster has written, where there are none. Many go with one call, which costs what single
 * writes cost and knows no conditions: those that are there are looked for before.
 * @returns the first that stands there otherwise
 */
export async function writeEntries(
  engine: Engine,
  entries: readonly JournalEntry[],
): Promise<'done' | JournalEntry> {
  const { tables, get } = engine
  const inCluster = (entry: JournalEntry) => ({ table: tables.cluster, ...entryKey(entry) })
  const found = await get(entries.map(inCluster))
  const missing: JournalEntry[] = []
  for (const entry of entries) {
    const there = found.get(nameOf(inCluster(entry)))
    if (!there) missing.push(entry)
    else if (there['id'] !== entry.id || there['noop'] !== entry.noop) {
      const [other] = await readEntries(engine, [[entry.epoch, 0]], entry.seq - 1, entry.seq)
      if (other) return other
    }
  }
  const items = missing.map(entryItems)
  await putAll(
    engine,
    items.flatMap(([item, ...rest]) => (item && rest.length === 0 ? [item] : [])),
  )
  // the parts of a journal entry come together or not at all
  for (const entry of missing.filter((_, index) => (items[index]?.length ?? 0) > 1)) {
    const stored = await storeWhole(engine, entry)
    if (stored !== 'done') return stored
  }
  return 'done'
}

async function storeWhole(engine: Engine, entry: JournalEntry): Promise<'done' | JournalEntry> {
  const stored = await retrying({ tries: STORAGE_TRIES, pause: engine.pause }, async () => {
    const written = await writeEntry(engine, entry)
    return written === 'conflict' ? CONFLICT : ok(written)
  })
  if (!stored.ok) throw busy()
  return stored.value
}

async function putAll(engine: Engine, items: readonly Raw[]): Promise<void> {
  const batches = Array.from({ length: Math.ceil(items.length / LARGEST_BATCH) }, (_, index) =>
    items.slice(index * LARGEST_BATCH, (index + 1) * LARGEST_BATCH),
  ).values()
  const worker = async () => {
    for (const batch of batches) await putBatch(engine, batch)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

async function putBatch({ tables, meter, send, pause }: Engine, items: readonly Raw[]): Promise<void> {
  let left = items
  const put = await retrying({ tries: STORAGE_TRIES, pause }, async () => {
    if (left.length === 0) return ok()
    meter.count('dynamodb')
    const RequestItems = { [tables.cluster]: left.map(Item => ({ PutRequest: { Item } })) }
    const { UnprocessedItems } = await sent(send('BatchWriteItem', { RequestItems }))
    left = UnprocessedItems[tables.cluster] ?? []
    return left.length > 0 ? PENDING : ok()
  })
  if (!put.ok) throw busy()
}
