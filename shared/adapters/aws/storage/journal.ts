import type { ItemPlace, Journal, JournalStatusView, StoredPageHash } from '../../../journal/journal.ts'
import { buildScan } from '../../../storage/queries.ts'
import { type StoredItem, tableNameOf } from '../../../storage/requests.ts'
import { splitIntoChunks } from '../../../values/batches.ts'
import { defined } from '../../../values/defined.ts'
import type { PlainItem } from '../wire/values.ts'
import type { CreateCallBatcher } from './batching/batch-calls.ts'
import { createPositionBatcher } from './batching/positions.ts'
import type { CommitChanges } from './commit.ts'
import { writeWithRetries } from './conditional-writes.ts'
import { type StorageEngine, scanTablePage, tableKeyText } from './engine.ts'
import { readJournalEntries, writeJournalEntries, writeJournalEntry } from './entries.ts'
import { createHeadStore, journalHeadKey, parseJournalHead } from './head.ts'
import { createJournaledWriter, stripJournalAttributes } from './journaled-commit.ts'
import { pickReadItems, tableKeysOf } from './reads.ts'
import { buildConditionExpression, writeTransaction } from './transaction.ts'
import { createDynamoTree, parseStoredPage } from './tree.ts'

/** The code that only a cluster with a journal needs. */
export interface OpenJournal {
  journal: Journal
  view: JournalStatusView
  writer: { commit: CommitChanges }
}

/**
 * Opens the journal of this cluster.
 * @param writing makes the calls of commits
 * @param batchCalls if given, commits that wait at the same time get their positions by one call
 */
export function openJournal(
  engine: StorageEngine,
  writing: StorageEngine,
  batchCalls: CreateCallBatcher | undefined,
): OpenJournal {
  const journal = dynamoJournal(engine, batchCalls)
  const written = writing === engine ? journal : dynamoJournal(writing, batchCalls)
  const { commit, backfill } = createJournaledWriter(writing, written)
  return { journal: { ...journal, backfill }, view: journalView(engine), writer: { commit } }
}

/** The journal in its table, without `backfill`, which needs the cluster record (`journaled-commit.ts`). */
const dynamoJournal = (
  engine: StorageEngine,
  batchCalls: CreateCallBatcher | undefined,
): Omit<Journal, 'backfill'> => ({
  ...createHeadStore(engine, batchCalls && createPositionBatcher(engine, batchCalls)),
  entries: (lineage, after, to) => readJournalEntries(engine, lineage, after, to),
  putEntry: entry => writeJournalEntry(engine, entry),
  putEntries: entries => writeJournalEntries(engine, entries),
  transact: elements => writeTransaction(engine, elements),
  ...dynamoItems(engine),
  ...createDynamoTree(engine),
})

const WRITES_AT_ONCE = 16

/** Reads and deletes stored items. */
const dynamoItems = (engine: StorageEngine): Pick<Journal, 'readRaw' | 'scan' | 'wipe' | 'detach'> => ({
  readRaw: async places => {
    const keys = places.map(place => ({
      table: tableNameOf(engine.tables, place),
      pk: place.pk,
      sk: place.sk,
    }))
    const found = await engine.get(keys)
    return keys.map(key => found.get(tableKeyText(key)) as StoredItem | undefined)
  },
  scan: segment => scanTablePage(engine, buildScan(engine.tables.data, segment)),
  wipe: (items, treeId) => countSuccesses(items, place => wipeOne(engine, place, treeId)),
  detach: items => countSuccesses(items, item => detachOne(engine, item)),
})

/**
 * Deletes an item that a scan returned, also an item of an unknown kind.
 * @returns false when the item belongs to this tree, and stays
 */
async function wipeOne(
  engine: StorageEngine,
  { pk, sk }: Pick<ItemPlace, 'pk' | 'sk'>,
  treeId: string,
): Promise<boolean> {
  const deletion = {
    TableName: engine.tables.data,
    Key: { pk, sk },
    ...buildConditionExpression({ notOf: treeId }),
  }
  return (await writeWithRetries(engine, () => engine.send('DeleteItem', deletion))).ok
}

/**
 * Removes the journal's attributes from an item.
 * @returns false when the item has changed since it was read
 */
async function detachOne(engine: StorageEngine, item: StoredItem): Promise<boolean> {
  const { rev, pos } = item
  const put = {
    TableName: tableNameOf(engine.tables, item),
    Item: stripJournalAttributes(item),
    ...buildConditionExpression({ rev, ...(pos === undefined ? {} : { pos }) }),
  }
  return (await writeWithRetries(engine, () => engine.send('PutItem', put))).ok
}

/**
 * Runs some work for each element, sixteen at a time.
 * @returns for how many items `work` returned true
 */
async function countSuccesses<T>(
  elements: readonly T[],
  work: (element: T) => Promise<boolean>,
): Promise<number> {
  let count = 0
  for (const some of splitIntoChunks(elements, WRITES_AT_ONCE)) {
    const results = await Promise.all(some.map(work))
    count += results.filter(Boolean).length
  }
  return count
}

/** Reads head, roots and items of further keys by one batch read. */
const journalView = ({ tables, get, seconds }: StorageEngine): JournalStatusView => ({
  readStatus: async (treeId, keys = []) => {
    const inCluster = (pk: string, sk: string) => ({ table: tables.cluster, pk, sk })
    const head = inCluster(journalHeadKey.pk, journalHeadKey.sk)
    const names = treeId === undefined ? [] : ['replicated', 'local', 'whole']
    const roots = names.map(sk => inCluster(`t#${treeId}#root`, sk))
    const found = await get([head, ...roots, ...tableKeysOf(tables, keys)])
    const [replicated, local, whole] = roots.map(at => pageFrom(found.get(tableKeyText(at))))
    const item = found.get(tableKeyText(head))
    return defined({
      items: pickReadItems(found, tables, keys, seconds()),
      head: item && parseJournalHead(item),
      roots: replicated && local ? defined({ replicated, local, whole }) : undefined,
    })
  },
})

const pageFrom = (item: PlainItem | undefined): StoredPageHash | undefined => item && parseStoredPage(item)
