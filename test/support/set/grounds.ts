import { randomUUID } from 'node:crypto'
import { inject } from 'vitest'
import { createEngineClient, createEngineTables } from '../../../infra/local/engine/engine.ts'
import type { SendDynamoDbCall } from '../../../shared/adapters/aws/wire/tables.ts'
import type { TableNames } from '../../../shared/storage/requests.ts'
import { memoryEngine } from '../tables/memory-engine.ts'
import type { WireItem } from '../tables/wire-values.ts'
import { dropTables, fillTable, itemsOf } from './snapshot.ts'
import { engineOf, realEngine } from './transport.ts'

type TableName = keyof TableNames
const tableNames = ['data', 'cluster', 'ceremony'] as const

/** Creates and reads the tables of clusters. */
export interface Ground {
  engine: SendDynamoDbCall
  /** creates the tables of a cluster with their first items; expired items are not deleted automatically */
  newTables(items?: Partial<Record<TableName, readonly WireItem[]>>): Promise<Required<TableNames>>
  /** returns all items in the tables of a cluster */
  items(tables: Required<TableNames>): Promise<Record<TableName, readonly WireItem[]>>
  drop(tables: readonly Required<TableNames>[]): Promise<void>
}

const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }

/** Creates tables in the DynamoDB engine that all tests of a run share. */
export function engineGround(): Ground {
  const { engine: url, model } = inject('ground')
  const client = createEngineClient(url, 'us-east-1', credentials)
  const { engine, close } = realEngine(url)
  return {
    engine,
    newTables: async (items = {}) => {
      const suffix = randomUUID()
      const tables = model.tables.map(({ ttl: _, ...one }) => ({ ...one, name: `${one.name}-${suffix}` }))
      await createEngineTables(client, tables)
      const nameOf = (word: string) =>
        tables.find(({ name }) => name.toLowerCase().includes(word))?.name ?? ''
      const own = { data: nameOf('data'), cluster: nameOf('cluster'), ceremony: nameOf('ceremony') }
      await Promise.all(tableNames.map(table => fillTable(client, own[table], items[table] ?? [])))
      return own
    },
    items: async tables => {
      const [data = [], cluster = [], ceremony = []] = await Promise.all(
        tableNames.map(table => itemsOf(client, tables[table])),
      )
      return { data, cluster, ceremony }
    },
    drop: async all => {
      await Promise.all(all.map(tables => dropTables(client, tables)))
      close()
    },
  }
}

/**
 * Creates tables in memory, which are several times as fast as the engine's and equal in the tested behaviour
 * (`memoryEngine`).
 */
export function memoryGround(): Ground {
  const memory = memoryEngine()
  return {
    engine: engineOf(memory),
    newTables: async (items = {}) => {
      const id = randomUUID()
      const own = { data: `data-${id}`, cluster: `cluster-${id}`, ceremony: `ceremony-${id}` }
      for (const table of tableNames) memory.fill(own[table], items[table] ?? [])
      return own
    },
    items: async ({ data, cluster, ceremony }) => ({
      data: memory.items(data),
      cluster: memory.items(cluster),
      ceremony: memory.items(ceremony),
    }),
    drop: async () => undefined,
  }
}
