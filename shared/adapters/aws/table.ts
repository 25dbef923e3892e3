import type { Journal, JournalView } from '../../journal/journal.ts'
import type { Store } from '../../ports.ts'
import { loadedLater, once } from './loaded-later.ts'
import { batchCalls } from './storage/batching/batch-calls.ts'
import { batchReads } from './storage/batching/reads.ts'
import { commits } from './storage/commit.ts'
import { type Dependencies, storageEngine } from './storage/engine.ts'
import type { OpenJournal } from './storage/journal.ts'
import { plainWriter } from './storage/plain-commit.ts'
import { reads } from './storage/reads.ts'
import { type Send, tableSend } from './wire/tables.ts'
import { tablesOverHttp } from './wire/tables-over-http.ts'

/**
 * The tables. Most clusters keep no journal: the code for it is loaded when it is first needed.
 * @param send sends calls to the engine
 * @param shares whether reads that wait at the same time go out together, and positions are taken together: for all that one
 * environment does
 */
export function dynamoTables(
  dependencies: Dependencies,
  send: Send = tableSend(tablesOverHttp()),
  shares = false,
): {
  store: Store
  journal: Journal
  journalView: JournalView
} {
  const engine = storageEngine(send, dependencies)
  const ask = shares ? batchCalls : undefined
  const journaled = once(async () => {
    const { openJournal } = await import('./storage/journal.ts')
    return openJournal(engine, ask)
  })
  const part = <K extends keyof OpenJournal>(name: K): OpenJournal[K] =>
    loadedLater(methods[name], async () => (await journaled())[name])
  const { commit: withJournal } = part('writer')
  const commit = commits(engine, { plain: plainWriter(engine), journaled: withJournal })
  const find = ask && batchReads(engine)
  return { store: { ...reads(engine, find), commit }, journal: part('journal'), journalView: part('view') }
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
    raw: true,
    scan: true,
    wipe: true,
    backfill: true,
    detach: true,
    dropPartition: true,
    buckets: true,
    itemsOf: true,
    page: true,
    pageHashes: true,
    putPageHash: true,
  },
  view: { look: true },
  writer: { commit: true },
}
