import type { Journal, JournalStatusView } from '../../journal/journal.ts'
import type { ItemStore } from '../../ports.ts'
import { runOnce } from '../../values/run-once.ts'
import type { TablesClientKind } from './environment.ts'
import { createLazyLoaded } from './loaded-later.ts'
import { createCallBatcher } from './storage/batching/batch-calls.ts'
import { createReadBatcher } from './storage/batching/reads.ts'
import { createCommit } from './storage/commit.ts'
import { createStorageEngine, type StorageDependencies } from './storage/engine.ts'
import type { OpenJournal } from './storage/journal.ts'
import { createUnjournaledWriter } from './storage/plain-commit.ts'
import { createStoreReads } from './storage/reads.ts'
import { createTableSend, createTablesOverHttp, type TableSend } from './wire/tables.ts'

/** The functions that send calls to the tables. */
interface Sends {
  all: TableSend
  commits: TableSend
}

/** Returns the functions that send calls with a client. The function loads the SDK with the first call. */
export function createTableSends(client: TablesClientKind): Sends {
  const wire = createTableSend(createTablesOverHttp())
  if (client === 'wire') return { all: wire, commits: wire }
  const loaded = runOnce(async () => (await import('./sdk-tables.ts')).createSdkSend(wire))
  const sdk: TableSend = async (operation, input, options) => (await loaded())(operation, input, options)
  return { all: sdk, commits: client === 'sdk' ? sdk : wire }
}

/**
 * Opens the tables of a function. Most clusters keep no journal, so the journal's code is loaded when it is first
 * needed.
 * @param send sends calls to DynamoDB
 * @param shares whether waiting reads are sent together, and waiting positions are allocated together
 * @param commitBy sends the calls that commit changes
 */
export function createDynamoTables(
  dependencies: StorageDependencies,
  send: TableSend,
  shares = false,
  commitBy = send,
): {
  store: ItemStore
  journal: Journal
  journalView: JournalStatusView
} {
  const engine = createStorageEngine(send, dependencies)
  const writing = commitBy === send ? engine : createStorageEngine(commitBy, dependencies)
  const ask = shares ? createCallBatcher : undefined
  const journaled = runOnce(async () => {
    const { openJournal } = await import('./storage/journal.ts')
    return openJournal(engine, writing, ask)
  })
  const part = <K extends keyof OpenJournal>(name: K): OpenJournal[K] =>
    createLazyLoaded(methods[name], async () => (await journaled())[name])
  const { commit: withJournal } = part('writer')
  const commit = createCommit(writing, { plain: createUnjournaledWriter(writing), journaled: withJournal })
  const find = ask && createReadBatcher(engine)
  return {
    store: { ...createStoreReads(engine, find), commit },
    journal: part('journal'),
    journalView: part('view'),
  }
}

const methods: { readonly [K in keyof OpenJournal]: Record<keyof OpenJournal[K], true> } = {
  journal: {
    head: true,
    moveHead: true,
    allocate: true,
    entries: true,
    putEntry: true,
    putEntries: true,
    transact: true,
    readRaw: true,
    scan: true,
    wipe: true,
    backfill: true,
    detach: true,
    dropPartition: true,
    buckets: true,
    readBucketItems: true,
    page: true,
    pageHashes: true,
    putPageHash: true,
  },
  view: { readStatus: true },
  writer: { commit: true },
}
