import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Store } from '../../ports.ts'
import type { Journal, JournalView } from '../../replication/journal.ts'
import { ownService } from './client.ts'
import { commits } from './storage/commit.ts'
import { type Dependencies, storageEngine } from './storage/engine.ts'
import type { Journaling } from './storage/journaling.ts'
import { plainWriter } from './storage/plain.ts'
import { reads } from './storage/reads.ts'

/** The tables behind the SDK. Most clusters keep no journal: the code for it is loaded when it is first needed. */
export function dynamoTables(dependencies: Dependencies): {
  store: Store
  journal: Journal
  journalView: JournalView
} {
  const engine = storageEngine(() => new DynamoDBClient(ownService()), dependencies)
  let loaded: Promise<Journaling> | undefined
  const part = <K extends keyof Journaling>(name: K): Journaling[K] =>
    loadedLater(async () => {
      loaded ??= import('./storage/journaling.ts').then(({ journaling }) => journaling(engine))
      return (await loaded)[name]
    })
  const commit = commits(engine, {
    plain: plainWriter(engine),
    journaled: (...given) => part('writer').commit(...given),
  })
  return { store: { ...reads(engine), commit }, journal: part('journal'), journalView: part('view') }
}

/** An object that has only asynchronous methods, before it is there. */
const loadedLater = <T extends object>(load: () => Promise<T>): T =>
  new Proxy({} as T, {
    get:
      (_, name) =>
      async (...given: unknown[]) =>
        ((await load()) as Record<PropertyKey, (...given: unknown[]) => unknown>)[name]?.(...given),
  })
