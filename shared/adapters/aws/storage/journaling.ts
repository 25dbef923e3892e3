import type { Journal, JournalView } from '../../../journal/journal.ts'
import type { Commit } from './commit.ts'
import type { Engine } from './engine.ts'
import { readEntries, transactParts, writeEntry } from './journal-entries.ts'
import { dynamoHead } from './journal-head.ts'
import { dynamoItems } from './journal-items.ts'
import { journalView } from './journal-view.ts'
import { journaledWriter } from './journaled.ts'
import { sharedPositions } from './shared-positions.ts'
import { writeEntries } from './staged-entries.ts'
import type { Together } from './together.ts'
import { dynamoTree } from './tree.ts'

/** All that only a cluster with a journal needs. */
export interface Journaling {
  journal: Journal
  view: JournalView
  writer: { commit: Commit }
}

/** @param together given where commits that wait at the same time take their positions together */
export function journaling(engine: Engine, together: Together | undefined): Journaling {
  const journal = dynamoJournal(engine, together)
  const { commit, backfill } = journaledWriter(engine, journal)
  return { journal: { ...journal, backfill }, view: journalView(engine), writer: { commit } }
}

/** The journal in its table, without what needs the cluster record to write (`journaled.ts`). */
const dynamoJournal = (engine: Engine, together: Together | undefined): Omit<Journal, 'backfill'> => ({
  ...dynamoHead(engine, together && sharedPositions(engine, together)),
  entries: (lineage, after, to) => readEntries(engine, lineage, after, to),
  putEntry: entry => writeEntry(engine, entry),
  putEntries: entries => writeEntries(engine, entries),
  transact: elements => transactParts(engine, elements),
  ...dynamoItems(engine),
  ...dynamoTree(engine),
})
