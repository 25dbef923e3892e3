import type { Journal, JournalStatusView, Place, StoredPage } from '../../../journal/journal.ts'
import { scanCall } from '../../../storage/queries.ts'
import { type StoredItem, tableOf } from '../../../storage/requests.ts'
import { defined } from '../../../values/defined.ts'
import type { PlainItem } from '../wire/values.ts'
import type { BatchCalls } from './batching/batch-calls.ts'
import { batchPositions } from './batching/positions.ts'
import type { Commit } from './commit.ts'
import { retryWrite } from './conditional-writes.ts'
import { type Engine, nameOf, scanPage } from './engine.ts'
import { readEntries, writeEntries, writeEntry } from './entries.ts'
import { dynamoHead, headKey, parseHead } from './head.ts'
import { createJournaledWriter, stripJournal } from './journaled-commit.ts'
import { pickItems, tableKeysOf } from './reads.ts'
import { conditionExpression, transactParts } from './transaction.ts'
import { dynamoTree, parsePage } from './tree.ts'

/** The code that only a cluster with a journal needs. */
export interface OpenJournal {
  journal: Journal
  view: JournalStatusView
  writer: { commit: Commit }
}

/**
 * Opens the journal.
 * @param writing makes the calls of commits
 * @param batchCalls if given, commits that wait at the same time get their positions by one call
 */
export function openJournal(
  engine: Engine,
  writing: Engine,
  batchCalls: BatchCalls | undefined,
): OpenJournal {
  const journal = dynamoJournal(engine, batchCalls)
  const written = writing === engine ? journal : dynamoJournal(writing, batchCalls)
  const { commit, backfill } = createJournaledWriter(writing, written)
  return { journal: { ...journal, backfill }, view: journalView(engine), writer: { commit } }
}

/** The journal in its table, without `backfill`, which needs the cluster record (`journaled-commit.ts`). */
const dynamoJournal = (engine: Engine, batchCalls: BatchCalls | undefined): Omit<Journal, 'backfill'> => ({
  ...dynamoHead(engine, batchCalls && batchPositions(engine, batchCalls)),
  entries: (lineage, after, to) => readEntries(engine, lineage, after, to),
  putEntry: entry => writeEntry(engine, entry),
  putEntries: entries => writeEntries(engine, entries),
  transact: elements => transactParts(engine, elements),
  ...dynamoItems(engine),
  ...dynamoTree(engine),
})

const WRITES_AT_ONCE = 16

/** Reads and deletes stored items. */
const dynamoItems = (engine: Engine): Pick<Journal, 'readRaw' | 'scan' | 'wipe' | 'detach'> => ({
  readRaw: async places => {
    const keys = places.map(place => ({ table: tableOf(engine.tables, place), pk: place.pk, sk: place.sk }))
    const found = await engine.get(keys)
    return keys.map(key => found.get(nameOf(key)) as StoredItem | undefined)
  },
  scan: segment => scanPage(engine, scanCall(engine.tables.data, segment)),
  wipe: (items, treeId) => countSuccesses(items, place => wipeOne(engine, place, treeId)),
  detach: items => countSuccesses(items, item => detachOne(engine, item)),
})

/**
 * Deletes an item from a scan, also one of an unknown kind.
 * @returns false when the item belongs to this tree, and stays
 */
async function wipeOne(
  engine: Engine,
  { pk, sk }: Pick<Place, 'pk' | 'sk'>,
  treeId: string,
): Promise<boolean> {
  const deletion = {
    TableName: engine.tables.data,
    Key: { pk, sk },
    ...conditionExpression({ notOf: treeId }),
  }
  return (await retryWrite(engine, () => engine.send('DeleteItem', deletion))).ok
}

/**
 * Removes the journal's attributes from an item.
 * @returns false when the item has changed since it was read
 */
async function detachOne(engine: Engine, item: StoredItem): Promise<boolean> {
  const { rev, pos } = item
  const put = {
    TableName: tableOf(engine.tables, item),
    Item: stripJournal(item),
    ...conditionExpression({ rev, ...(pos === undefined ? {} : { pos }) }),
  }
  return (await retryWrite(engine, () => engine.send('PutItem', put))).ok
}

/**
 * Runs some work for each element, sixteen at a time.
 * @returns how many returned true
 */
async function countSuccesses<T>(
  elements: readonly T[],
  work: (element: T) => Promise<boolean>,
): Promise<number> {
  let count = 0
  for (let at = 0; at < elements.length; at += WRITES_AT_ONCE) {
    const results = await Promise.all(elements.slice(at, at + WRITES_AT_ONCE).map(work))
    count += results.filter(Boolean).length
  }
  return count
}

/** Reads head, roots and items of further keys by one batch read. */
const journalView = ({ tables, get, seconds }: Engine): JournalStatusView => ({
  readStatus: async (treeId, keys = []) => {
    const inCluster = (pk: string, sk: string) => ({ table: tables.cluster, pk, sk })
    const head = inCluster(headKey.pk, headKey.sk)
    const names = treeId === undefined ? [] : ['replicated', 'local', 'whole']
    const roots = names.map(sk => inCluster(`t#${treeId}#root`, sk))
    const found = await get([head, ...roots, ...tableKeysOf(tables, keys)])
    const [replicated, local, whole] = roots.map(at => pageFrom(found.get(nameOf(at))))
    const item = found.get(nameOf(head))
    return defined({
      items: pickItems(found, tables, keys, seconds()),
      head: item && parseHead(item),
      roots: replicated && local ? defined({ replicated, local, whole }) : undefined,
    })
  },
})

const pageFrom = (item: PlainItem | undefined): StoredPage | undefined => item && parsePage(item)
