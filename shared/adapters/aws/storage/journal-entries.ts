import type { Transacted } from '../../../journal/journal.ts'
import { type JournalEntry, sameEntry } from '../../../journal/journal-entry.ts'
import { epochAt, type Lineage, type Position } from '../../../journal/position.ts'
import type { TableKey } from '../../../storage/queries.ts'
import type { Tables } from '../../../storage/requests.ts'
import { attempted } from './attempts.ts'
import { entryFrom, entryItems, entryKey, type Part, partKeys, partsOf, writesOf } from './elements.ts'
import { type Engine, nameOf } from './engine.ts'
import type { Raw } from './expressions.ts'
import { isAllowed } from './head.ts'

const inCluster = ({ cluster }: Tables, { pk, sk }: { pk: string; sk: string }): TableKey => ({
  table: cluster,
  pk,
  sk,
})

/** The journal entries of all positions behind `after` up to `to`; undefined where there is none. */
export async function readEntries(
  engine: Engine,
  lineage: Lineage,
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
    const item = items.get(nameOf(inCluster(tables, entryKey(position))))
    return item ? [{ position, item }] : []
  })
  const bySeq = new Map((await withParts(engine, found)).map(entry => [entry.seq, entry]))
  return positions.map(({ seq }) => bySeq.get(seq))
}

/**
 * Journal entries of which the first items were read; those of several items get the others. The engine removes old items one
 * by one: a journal entry that has lost one of its own is no longer there.
 */
async function withParts(
  { tables, get }: Engine,
  found: readonly { position: Position; item: Raw }[],
): Promise<JournalEntry[]> {
  const keysOf = (position: Position, item: Raw) =>
    partKeys(position, partsOf(item)).map(at => inCluster(tables, at))
  const keys = found.flatMap(({ position, item }) => keysOf(position, item))
  const parts = keys.length > 0 ? await get(keys) : new Map<string, Raw>()
  return found.flatMap(({ position, item }) => {
    const rest = keysOf(position, item).map(at => parts.get(nameOf(at)))
    const there = rest.filter(part => part !== undefined)
    return there.length === rest.length ? [entryFrom(position, item, there)] : []
  })
}

/** Stores a journal entry where there is none, or tells which one there is; the same one counts as stored. */
export async function writeEntry(
  engine: Engine,
  entry: JournalEntry,
): Promise<'done' | 'conflict' | JournalEntry> {
  const result = await attemptEntry(engine, entry)
  if (result === 'again' || result === 'conflict') return 'conflict'
  if (result === 'done' || 'value' in result) return 'done'
  const [there] = await readEntries(engine, [[entry.epoch, 0]], entry.seq - 1, entry.seq)
  if (!there) return 'conflict'
  return sameEntry(there, entry) ? 'done' : there
}

async function attemptEntry(engine: Engine, entry: JournalEntry) {
  const items = entryItems(entry)
  if (items.length > 1) return transactParts(engine, [{ entry }])
  const put = {
    TableName: engine.tables.cluster,
    Item: items[0],
    ConditionExpression: 'attribute_not_exists(pk)',
  }
  return attempted(engine, () => engine.send('PutItem', put))
}

/**
 * A part that is refused once it was written, and whose writers then look whether it was by them. An engine may remember
 * the token of each transaction for ten minutes and look through all of them at the next, as the embedded one does (some
 * 40 ns each).
 */
const isEvident = (part: Part): boolean => 'entry' in part || ('bucket' in part && part.mark !== undefined)

/** All parts, or none. */
export async function transactParts(engine: Engine, parts: readonly Part[]): Promise<Transacted> {
  const refused = parts.flatMap((part, index) =>
    'head' in part && !isAllowed(engine, part.head) ? [index] : [],
  )
  if (refused.length > 0) return { condition: refused }
  const writes = parts.map(part => writesOf(part, engine.tables, engine.seconds()))
  const owner = writes.flatMap((list, index) => list.map(() => index))
  const TransactItems = writes.flat()
  const ClientRequestToken = parts.some(isEvident) ? undefined : engine.entropy.uuid()
  const input = { TransactItems, ClientRequestToken }
  const result = await attempted(engine, () => engine.send('TransactWriteItems', input))
  if (result === 'again') return 'conflict'
  if ('value' in result) return 'done'
  return { condition: [...new Set(result.condition.map(index => owner[index] ?? 0))] }
}
