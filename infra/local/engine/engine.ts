import { randomBytes } from 'node:crypto'
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
import { documentSend } from '../../../shared/adapters/aws/sdk-tables.ts'
import { textOf, writeWhole } from '../os/cluster-file.ts'
import type { AccessKeyPair } from '../provider/wire/signed-server.ts'
import type { TableModel } from '../template/assembly.ts'
import { allowNewTables, forgetTables, hideNames, inFile, mendTables, tablesIn } from './database.ts'
import { launchEngine } from './launch.ts'
import { stopStaleEngine } from './process.ts'

/** A DynamoDB-compatible engine that runs. */
export interface LocalEngine {
  url: string
  /** makes tables, and looks at them */
  client: DynamoDBClient
  /** sends the host's calls about items */
  send: ReturnType<typeof documentSend>
  /** process of an engine of ours */
  pid?: number
  close(): Promise<void>
}

export interface EngineOptions {
  /** directory of the database */
  directory: string
  tables: readonly TableModel[]
  /** whoever does not know a table's name finds none, and makes none; absent: whoever reaches the engine's port may use it */
  secretNames?: boolean
  region: string
  /** of those who will use the tables: an engine may keep what it has by the access key that made it */
  credentials: AccessKeyPair
  /** keep nothing */
  memory?: boolean
  /** what a terminal sends to its programs (Ctrl-C) does not reach the engine: whoever started it ends it */
  apart?: boolean
}

/** A client of the engine itself. */
export const clientOf = (url: string, region: string, credentials: AccessKeyPair) =>
  new DynamoDBClient({ endpoint: url, region, credentials, maxAttempts: 1 })

const reached = (...place: Parameters<typeof clientOf>) => ({
  client: clientOf(...place),
  send: documentSend(() => clientOf(...place)),
})

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
  const { client, send } = reached(url, region, credentials)
  await createTables(client, tables)
  const close = async () => {
    if (memory) for (const { name } of tables) await client.send(new DeleteTableCommand({ TableName: name }))
    client.destroy()
  }
  return { url, client, send, close }
}

/** Ends what a host that was killed has left behind in a directory, whose lock the caller has. */
export const endStaleEngine = (directory: string): Promise<void> =>
  stopStaleEngine(directory, fileIn(directory))

const fileIn = (directory: string): string => `${directory}/dynamodb.sqlite`

async function startOwn(options: EngineOptions): Promise<LocalEngine> {
  const { directory, tables, secretNames = false, region, credentials, apart = false } = options
  const file = fileIn(directory)
  const launch = () => launchEngine(directory, file, { apart })
  if (secretNames) await closeToOthers(file, launch)
  const there = existsSync(file) ? await inFile(file, tablesIn) : undefined
  if (!there || tables.some(({ name }) => !there.has(name))) {
    // database and tables have to be there before they can be mended
    const first = await launch()
    await createTables(clientOf(first.url, region, credentials), tables)
    await first.stop()
  }
  await inFile(file, mendTables)
  if (secretNames) await inFile(file, database => allowNewTables(database, false))
  const child = await launch()
  const { client, send } = reached(child.url, region, credentials)
  await createTables(client, tables)
  return { url: child.url, client, send, pid: child.pid, close: child.stop }
}

/** Hides the names of tables before the first of them is made. */
async function closeToOthers(
  file: string,
  launch: () => Promise<{ stop: () => Promise<void> }>,
): Promise<void> {
  const isNew = !existsSync(file) || !(await inFile(file, tablesIn))
  // it has to make its own tables before they can be mended
  if (isNew) await (await launch()).stop()
  await inFile(file, database => {
    allowNewTables(database, true)
    if (isNew) forgetTables(database)
    hideNames(database)
  })
}

/** What the names of a cluster's tables begin with, in an engine of its own: a secret, which its directory keeps. */
export function keptPrefix(directory: string): string {
  const file = `${directory}/tables.json`
  const kept = textOf(file)
  if (kept !== undefined) return (JSON.parse(kept) as { prefix: string }).prefix
  const prefix = `${randomBytes(16).toString('hex')}-`
  writeWhole(file, JSON.stringify({ prefix }))
  return prefix
}

const ACTIVE_TRIES = 500
const ACTIVE_PAUSE_MS = 10

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
  for (let tries = 0; tries < ACTIVE_TRIES; tries++) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName: name }))
    if (Table?.TableStatus === 'ACTIVE') return
    await setTimeout(ACTIVE_PAUSE_MS)
  }
  throw new Error(`the table ${name} does not become active`)
}
