import type { Journal, JournalView } from '../../../journal/journal.ts'
import type { Commit } from './commit.ts'
import type { Engine } from './engine.ts'
import { dynamoJournal } from './journal.ts'
import { journalView } from './journal-view.ts'
import { journaledWriter } from './journaled.ts'

/** All that only a cluster with a journal needs. */
export interface Journaling {
  journal: Journal
  view: JournalView
  writer: { commit: Commit }
}

export function journaling(engine: Engine): Journaling {
  const journal = dynamoJournal(engine)
  const { commit, backfill } = journaledWriter(engine, journal)
  return { journal: { ...journal, backfill }, view: journalView(engine), writer: { commit } }
}
