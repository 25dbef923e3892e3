import type { Journal, JournalStatusView } from '../../journal/journal.ts'
import type { Store } from '../../ports.ts'
import type { TablesClient } from './environment.ts'
import { createLazy, once } from './loaded-later.ts'
import { batchCalls } from './storage/batching/batch-calls.ts'
import { batchReads } from './storage/batching/reads.ts'
import { createCommit } from './storage/commit.ts'
import { type Dependencies, storageEngine } from './storage/engine.ts'
import type { OpenJournal } from './storage/journal.ts'
import { createPlainWriter } from './storage/plain-commit.ts'
import { createReads } from './storage/reads.ts'
import { type Send, tableSend, tablesOverHttp } from './wire/tables.ts'

/** The functions that send calls to the tables. */
interface Sends {
  all: Send
  commits: Send
}

/** Returns the functions that send calls with a client. The SDK is loaded with the first call. */
export function createSends(client: TablesClient): Sends {
  const wire = tableSend(tablesOverHttp())
  if (client === 'wire') return { all: wire, commits: wire }
  const loaded = once(async () => (await import('./sdk-tables.ts')).sdkSend(wire))
  const sdk: Send = async (operation, input, options) => (await loaded())(operation, input, options)
  return { all: sdk, commits: client === 'sdk' ? sdk : wire }
}

/**
 * Opens the tables. Most clusters keep no journal, so its code is loaded when it is first needed.
 * @param send sends calls to DynamoDB
 * @param shares whether reads that wait at the same time are sent together, and positions are allocated together
 * @param commitBy sends the calls of commits
 */
export function dynamoTables(
  dependencies: Dependencies,
  send: Send,
  shares = false,
  commitBy = send,
): {
  store: Store
  journal: Journal
  journalView: JournalStatusView
} {
  const engine = storageEngine(send, dependencies)
  const writing = commitBy === send ? engine : storageEngine(commitBy, dependencies)
  const ask = shares ? batchCalls : undefined
  const journaled = once(async () => {
    const { openJournal } = await import('./storage/journal.ts')
    return openJournal(engine, writing, ask)
  })
  const part = <K extends keyof OpenJournal>(name: K): OpenJournal[K] =>
    createLazy(methods[name], async () => (await journaled())[name])
  const { commit: withJournal } = part('writer')
  const commit = createCommit(writing, { plain: createPlainWriter(writing), journaled: withJournal })
  const find = ask && batchReads(engine)
  return {
    store: { ...createReads(engine, find), commit },
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
