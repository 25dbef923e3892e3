import type { Journal } from '../../../journal/journal.ts'
import type { Engine } from './engine.ts'
import { readEntries, transactParts, writeEntry } from './journal-entries.ts'
import { dynamoHead } from './journal-head.ts'
import { dynamoItems } from './journal-items.ts'
import { writeEntries } from './staged-entries.ts'
import { dynamoTree } from './tree.ts'

/** The journal in its table, but for what writes by the cluster record (`journaled.ts`). */
export const dynamoJournal = (engine: Engine): Omit<Journal, 'backfill'> => ({
  ...dynamoHead(engine),
  entries: (lineage, after, to) => readEntries(engine, lineage, after, to),
  putEntry: entry => writeEntry(engine, entry),
  putEntries: entries => writeEntries(engine, entries),
  transact: elements => transactParts(engine, elements),
  ...dynamoItems(engine),
  ...dynamoTree(engine),
})
