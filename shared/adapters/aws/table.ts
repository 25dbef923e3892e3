import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Store } from '../../ports.ts'
import type { Journal, JournalView } from '../../replication/journal.ts'
import { ownService } from './client.ts'
import { commits } from './storage/commit.ts'
import { type Dependencies, storageEngine } from './storage/engine.ts'
import { dynamoJournal } from './storage/journal.ts'
import { journalView } from './storage/journal-view.ts'
import { journaledWriter } from './storage/journaled.ts'
import { plainWriter } from './storage/plain.ts'
import { reads } from './storage/reads.ts'

/** The tables behind the SDK. */
export function dynamoTables(dependencies: Dependencies): {
  store: Store
  journal: Journal
  journalView: JournalView
} {
  const engine = storageEngine(() => new DynamoDBClient(ownService()), dependencies)
  const { transactParts, ...own } = dynamoJournal(engine)
  const writer = journaledWriter(engine, { ...own, transactParts })
  const commit = commits(engine, { plain: plainWriter(engine), journaled: writer.commit })
  return {
    store: { ...reads(engine), commit },
    journal: { ...own, stamp: writer.stamp },
    journalView: journalView(engine),
  }
}
