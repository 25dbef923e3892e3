import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb'
import { createDocumentSend } from '../../../shared/adapters/aws/sdk-tables.ts'
import { readTextFile, writeFileAtomically } from '../os/cluster-file.ts'
import type { AccessKeyPair } from '../provider/wire/signed-server.ts'
import type { TableModel } from '../template/assembly.ts'
import {
  allowNewTables,
  forgetEngineTables,
  hideTableNames,
  listEngineTables,
  mendTableRecords,
  withEngineDatabase,
} from './database.ts'
import { launchEngineProcess } from './launch.ts'
import { stopStaleEngine } from './process.ts'

/** A running DynamoDB-compatible engine. */
export interface LocalEngine {
  url: string
  /** creates and describes tables */
  client: DynamoDBClient
  /** sends the host's item calls */
  send: ReturnType<typeof createDocumentSend>
  close(): Promise<void>
}

export interface EngineOptions {
  /** directory of the database */
  directory: string
  tables: readonly TableModel[]
  /** hides table names and forbids new tables; absent: anybody who reaches the port may use the engine */
  secretNames?: boolean
  region: string
  /** credentials of all callers, because an engine may separate data by access key */
  credentials: AccessKeyPair
  /** true: the engine keeps nothing */
  memory?: boolean
  /** true: Ctrl-C in a terminal does not reach the engine; its starter ends it */
  apart?: boolean
}

/** Creates a DynamoDB client of the engine. */
export const createEngineClient = (url: string, region: string, credentials: AccessKeyPair) =>
  new DynamoDBClient({ endpoint: url, region, credentials, maxAttempts: 1 })

const reached = (...place: Parameters<typeof createEngineClient>) => ({
  client: createEngineClient(...place),
  send: createDocumentSend(() => createEngineClient(...place)),
})

/** Returns the address of the engine that the environment names. Empty: the engine from npm. */
export const externalEngineUrl = (): string => process.env['DYNAMODB_ENDPOINT'] ?? ''

/**
 * Starts the engine and creates the template's tables. Uses the engine that the environment names, else the
 * engine from npm with its database in a directory.
 */
export async function startEngine(options: EngineOptions): Promise<LocalEngine> {
  const given = externalEngineUrl()
  return given === '' ? startOwn(options) : useExternal(given, options)
}

async function useExternal(
  url: string,
  { tables, region, credentials, memory }: EngineOptions,
): Promise<LocalEngine> {
  const { client, send } = reached(url, region, credentials)
  await createEngineTables(client, tables)
  const close = async () => {
    if (memory) for (const { name } of tables) await client.send(new DeleteTableCommand({ TableName: name }))
    client.destroy()
  }
  return { url, client, send, close }
}

/** Ends an engine that a killed host left behind in a directory. The caller must hold the directory's lock. */
export const endStaleEngine = (directory: string): Promise<void> =>
  stopStaleEngine(directory, fileIn(directory))

const fileIn = (directory: string): string => `${directory}/dynamodb.sqlite`

async function startOwn(options: EngineOptions): Promise<LocalEngine> {
  const { directory, tables, secretNames = false, region, credentials, apart = false } = options
  const file = fileIn(directory)
  const launch = () => launchEngineProcess(directory, file, { apart })
  if (secretNames) await closeToOthers(file, launch)
  const there = existsSync(file) ? await withEngineDatabase(file, listEngineTables) : undefined
  if (!there || tables.some(({ name }) => !there.has(name))) {
    // the database and its tables must exist before the host can change them
    const first = await launch()
    await createEngineTables(createEngineClient(first.url, region, credentials), tables)
    await first.stop()
  }
  await withEngineDatabase(file, mendTableRecords)
  if (secretNames) await withEngineDatabase(file, database => allowNewTables(database, false))
  const child = await launch()
  const { client, send } = reached(child.url, region, credentials)
  await createEngineTables(client, tables)
  return { url: child.url, client, send, close: child.stop }
}

/** Hides table names before the first table exists. */
async function closeToOthers(
  file: string,
  launch: () => Promise<{ stop: () => Promise<void> }>,
): Promise<void> {
  const isNew = !existsSync(file) || !(await withEngineDatabase(file, listEngineTables))
  // the engine must create its own tables before the host can change them
  if (isNew) await (await launch()).stop()
  await withEngineDatabase(file, database => {
    allowNewTables(database, true)
    if (isNew) forgetEngineTables(database)
    hideTableNames(database)
  })
}

/**
 * Returns the prefix of a cluster's table names. In the cluster's own engine the prefix is secret, and the cluster's
 * directory stores the prefix. In another engine the prefix separates clusters, and earlier runs of a cluster without
 * stored state.
 */
export function chooseTablePrefix(
  { cluster, memory }: { cluster: string; memory: boolean },
  directory: string,
): string {
  if (externalEngineUrl() !== '') return memory ? `${cluster}-${randomUUID()}-` : `${cluster}-`
  const file = `${directory}/tables.json`
  const kept = readTextFile(file)
  if (kept !== undefined) return (JSON.parse(kept) as { prefix: string }).prefix
  const prefix = `${randomBytes(16).toString('hex')}-`
  writeFileAtomically(file, JSON.stringify({ prefix }))
  return prefix
}

const ACTIVE_TRIES = 500
const ACTIVE_PAUSE_MS = 10

/** Creates the template's tables that do not exist yet. */
export async function createEngineTables(
  client: DynamoDBClient,
  tables: readonly TableModel[],
): Promise<void> {
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
  for (let tries = 0; tries < ACTIVE_TRIES; tries++) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName: name }))
    if (Table?.TableStatus === 'ACTIVE') return
    await setTimeout(ACTIVE_PAUSE_MS)
  }
  throw new Error(`the table ${name} does not become active`)
}
