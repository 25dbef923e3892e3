import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Store } from '../../ports.ts'
import type { Journal } from '../../replication/journal.ts'
import { ownService } from './client.ts'
import { type Dependencies, storageEngine } from './storage/engine.ts'
import { dynamoJournal } from './storage/journal.ts'
import { plainWriter } from './storage/plain.ts'
import { reads } from './storage/reads.ts'

/** The tables behind the SDK. */
export function dynamoTables(dependencies: Dependencies): { store: Store; journal: Journal } {
  const engine = storageEngine(() => new DynamoDBClient(ownService()), dependencies)
  return { store: { ...reads(engine), commit: plainWriter(engine) }, journal: dynamoJournal(engine) }
}
