import type { Journal, JournalView } from '../../journal/journal.ts'
import type { Store } from '../../ports.ts'
import { loadedLater, once } from './loaded-later.ts'
import { commits } from './storage/commit.ts'
import { type Dependencies, storageEngine } from './storage/engine.ts'
import type { Journaling } from './storage/journaling.ts'
import { plainWriter } from './storage/plain.ts'
import { reads } from './storage/reads.ts'
import { sharedReads } from './storage/shared-reads.ts'
import { together } from './storage/together.ts'
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
  const ask = shares ? together : undefined
  const journaled = once(async () => {
    const { journaling } = await import('./storage/journaling.ts')
    return journaling(engine, ask)
  })
  const part = <K extends keyof Journaling>(name: K): Journaling[K] =>
    loadedLater(methods[name], async () => (await journaled())[name])
  const { commit: withJournal } = part('writer')
  const commit = commits(engine, { plain: plainWriter(engine), journaled: withJournal })
  const find = ask && sharedReads(engine)
  return { store: { ...reads(engine, find), commit }, journal: part('journal'), journalView: part('view') }
}

const methods: { readonly [K in keyof Journaling]: Record<keyof Journaling[K], true> } = {
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
