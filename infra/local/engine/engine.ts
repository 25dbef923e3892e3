import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb'
import type { TableModel } from '../template/assembly.ts'
import { launchEngine } from './launch.ts'
import { stopStaleEngine } from './process.ts'

/** A DynamoDB-compatible engine that runs. */
export interface LocalEngine {
  url: string
  client: DynamoDBClient
  /** process of an engine of ours */
  pid?: number
  close(): Promise<void>
}

export interface EngineOptions {
  /** directory of the database */
  directory: string
  tables: readonly TableModel[]
  region: string
  /** of those who will use the tables: an engine may keep what it has by the access key that made it */
  credentials: EngineCredentials
  /** keep nothing */
  memory?: boolean
  /** what a terminal sends to its programs (Ctrl-C) does not reach the engine: whoever started it ends it */
  apart?: boolean
}

export interface EngineCredentials {
  accessKeyId: string
  secretAccessKey: string
}

/** A client of the engine itself. */
export const clientOf = (url: string, region: string, credentials: EngineCredentials) =>
  new DynamoDBClient({ endpoint: url, region, credentials, maxAttempts: 1 })

/** The engine that the environment names; empty: the one from npm. */
export const externalEngine = (): string => process.env['DYNAMODB_ENDPOINT'] ?? ''

/**
 * Starts the engine, with the tables of the template. A compatible engine that the environment names is used as it is;
 * otherwise the one from npm, with its database in a directory.
 */
export async function startEngine(options: EngineOptions): Promise<LocalEngine> {
  const given = externalEngine()
  return given === '' ? startOwn(options) : useExternal(given, options)
}

async function useExternal(
  url: string,
  { tables, region, credentials, memory }: EngineOptions,
): Promise<LocalEngine> {
  const client = clientOf(url, region, credentials)
  await createTables(client, tables)
  const close = async () => {
    if (memory) for (const { name } of tables) await client.send(new DeleteTableCommand({ TableName: name }))
    client.destroy()
  }
  return { url, client, close }
}

/** Ends what a host that was killed has left behind in a directory, whose lock the caller has. */
export const endStaleEngine = (directory: string): Promise<void> =>
  stopStaleEngine(directory, fileIn(directory))

const fileIn = (directory: string): string => `${directory}/dynamodb.sqlite`

async function startOwn({
  directory,
  tables,
  region,
  credentials,
  apart = false,
}: EngineOptions): Promise<LocalEngine> {
  const file = fileIn(directory)
  const there = existsSync(file) ? await inFile(file, tablesIn) : undefined
  if (!there || tables.some(({ name }) => !there.has(name))) {
    // database and tables have to be there before they can be mended
    const first = await launchEngine(directory, file, { apart })
    await createTables(clientOf(first.url, region, credentials), tables)
    await first.stop()
  }
  await prepareFile(file)
  const child = await launchEngine(directory, file, { apart })
  const client = clientOf(child.url, region, credentials)
  await createTables(client, tables)
  return { url: child.url, client, pid: child.pid, close: child.stop }
}

/**
 * Mends three things in the engine's database while nobody uses it. Without indexes the next sequence number of a
 * stream is found by reading the whole stream, and each page of a scan by reading the whole table. And streams are
 * never trimmed: the newest record stays, since numbers go on from it.
 */
const prepareFile = (file: string): Promise<void> =>
  inFile(file, database => {
    const names = tablesIn(database)
    if (!names) return // killed before its first start was complete
    database.exec(
      'CREATE INDEX IF NOT EXISTS stream_order ON _stream_records(table_name, CAST(sequence_number AS INTEGER))',
    )
    for (const name of names)
      database.exec(`CREATE INDEX IF NOT EXISTS "${name}::scan_order" ON "${name}"(hash_prefix, pk, sk)`)
    database.exec(`DELETE FROM _stream_records WHERE CAST(sequence_number AS INTEGER) <
      (SELECT MAX(CAST(n.sequence_number AS INTEGER)) FROM _stream_records n WHERE n.table_name = _stream_records.table_name)`)
  })

/** Names of its tables; undefined where the engine was killed before it had made its own. */
function tablesIn(database: DatabaseSync): ReadonlySet<string> | undefined {
  const own = ['_tables', '_stream_records']
  const made = database.prepare('SELECT name FROM sqlite_master').all()
  if (!own.every(name => made.some(one => one['name'] === name))) return undefined
  const tables = database.prepare('SELECT table_name AS name FROM _tables').all()
  return new Set(tables.map(({ name }) => String(name)))
}

/** Opens the engine's database for some work. */
async function inFile<T>(file: string, work: (database: DatabaseSync) => T): Promise<T> {
  const sqlite = await import('node:sqlite')
  // a process that was killed a moment ago may hold it for another one
  const database = new sqlite.DatabaseSync(file, { timeout: DATABASE_OPEN_TRIES * PAUSE_MS })
  try {
    return work(database)
  } finally {
    database.close()
  }
}

const DATABASE_OPEN_TRIES = 500
const PAUSE_MS = 10

/** Makes the tables that are not there yet. */
export async function createTables(client: DynamoDBClient, tables: readonly TableModel[]): Promise<void> {
  for (const table of tables) {
    const found = await client
      .send(new DescribeTableCommand({ TableName: table.name }))
      .catch(() => undefined)
    if (!found) await createTable(client, table)
    const present =
      found?.Table?.GlobalSecondaryIndexes?.map(index => index.IndexName) ??
      table.indexes.map(index => index.IndexName)
    for (const index of table.indexes.filter(one => !present.includes(one.IndexName)))
      await addIndex(client, table, index)
    await isActive(client, table.name)
  }
}

type Attributes = CreateTableCommand['input']['AttributeDefinitions']

async function createTable(client: DynamoDBClient, table: TableModel): Promise<void> {
  const indexes = table.indexes as CreateTableCommand['input']['GlobalSecondaryIndexes']
  await client.send(
    new CreateTableCommand({
      TableName: table.name,
      KeySchema: table.keySchema as CreateTableCommand['input']['KeySchema'],
      AttributeDefinitions: table.attributes as Attributes,
      BillingMode: 'PAY_PER_REQUEST',
      ...(table.indexes.length > 0 ? { GlobalSecondaryIndexes: indexes } : {}),
      ...(table.stream ? { StreamSpecification: { StreamEnabled: true, StreamViewType: table.stream } } : {}),
    }),
  )
  await isActive(client, table.name)
  if (!table.ttl) return
  await client.send(
    new UpdateTimeToLiveCommand({
      TableName: table.name,
      TimeToLiveSpecification: { AttributeName: table.ttl, Enabled: true },
    }),
  )
}

async function addIndex(
  client: DynamoDBClient,
  table: TableModel,
  index: TableModel['indexes'][number],
): Promise<void> {
  type Update = NonNullable<UpdateTableCommand['input']['GlobalSecondaryIndexUpdates']>[number]['Create']
  await client.send(
    new UpdateTableCommand({
      TableName: table.name,
      AttributeDefinitions: table.attributes as Attributes,
      GlobalSecondaryIndexUpdates: [{ Create: index as unknown as NonNullable<Update> }],
    }),
  )
}

async function isActive(client: DynamoDBClient, name: string): Promise<void> {
  for (let tries = 0; tries < DATABASE_OPEN_TRIES; tries++) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName: name }))
    if (Table?.TableStatus === 'ACTIVE') return
    await setTimeout(PAUSE_MS)
  }
  throw new Error(`the table ${name} does not become active`)
}
