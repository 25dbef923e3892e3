import { randomBytes, randomUUID } from 'node:crypto'
import { DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb'
import type { AccessKeyPair } from '../../../infra/local/provider/wire/signed-server.ts'
import { readWireSettings } from '../../../shared/adapters/aws/environment.ts'
import { createCallMeter } from '../../../shared/adapters/aws/system.ts'
import { createDynamoTables } from '../../../shared/adapters/aws/table.ts'
import {
  createTableSend,
  createTablesOverHttp,
  type TableSend,
} from '../../../shared/adapters/aws/wire/tables.ts'
import type { ClusterRead } from '../../../shared/ports.ts'
import type { Change } from '../../../shared/storage/changes.ts'
import type { Key } from '../../../shared/storage/kinds.ts'
import { type TableNames, tableNameOf } from '../../../shared/storage/requests.ts'
import { noBrokenHead } from './heads.ts'

/** The address and names of a host's tables. */
export interface Where {
  engine_url: string
  tables: TableNames
  credentials: AccessKeyPair
  /** sends calls to the tables; absent: over HTTP */
  send?: TableSend | undefined
}

/**
 * Returns the store adapter on the tables of a host, with a clock that tests can change. A test file uses one
 * host.
 */
export function tableStore(
  where: Where,
  {
    sleep = () => undefined,
    log = noBrokenHead,
  }: { sleep?: (ms: number) => void; log?: (message: string, fields: object) => void } = {},
) {
  const clock = { ms: Date.now() }
  const { store, journal } = createDynamoTables(
    {
      tables: where.tables,
      clock: { now: () => clock.ms, sleep: async ms => sleep(ms) },
      entropy: { bytes: randomBytes, uuid: randomUUID },
      meter: createCallMeter(),
      log: { error: log },
    },
    sendAt(where),
  )
  const as = (): ClusterRead => ({ record: {} as ClusterRead['record'], readAt: clock.ms })
  return { store, journal, clock, commit: (...changes: Change[]) => store.commit(changes, as()) }
}

const AT_ONCE = 100

/** Writes many items, a hundred in each call. */
export async function seed(
  { commit }: Pick<ReturnType<typeof tableStore>, 'commit'>,
  changes: readonly Change[],
): Promise<void> {
  for (let at = 0; at < changes.length; at += AT_ONCE) await commit(...changes.slice(at, at + AT_ONCE))
}

/** Returns a client of the engine itself. The caller must destroy the client. */
const engineAt = ({ engine_url: url, credentials }: Where): DynamoDBClient =>
  new DynamoDBClient({ endpoint: url, region: 'us-east-1', credentials })

interface Seen {
  kind: string
  rev: string
}

/** Returns kind and revision of all items, by place. */
export async function snapshot(where: Where): Promise<Map<string, Seen>> {
  const client = engineAt(where)
  const found = new Map<string, Seen>()
  for (const TableName of Object.values(where.tables)) {
    const pages = paginateScan({ client }, { TableName, ProjectionExpression: 'pk, sk, kind, rev' })
    for await (const { Items = [] } of pages) {
      for (const { pk, sk, kind, rev } of Items)
        found.set(`${TableName} ${pk?.S} ${sk?.S}`, { kind: kind?.S ?? '', rev: rev?.S ?? '' })
    }
  }
  client.destroy()
  return found
}

/** Returns all items of the tables, each item as a text. */
export async function everything(where: Where): Promise<string[]> {
  const client = engineAt(where)
  const found: string[] = []
  for (const TableName of Object.values(where.tables))
    for await (const { Items = [] } of paginateScan({ client }, { TableName }))
      found.push(...Items.map(item => JSON.stringify(item)))
  client.destroy()
  return found
}

/**
 * Calls an engine as the adapters do, over their connections. The address is a parameter, because late work
 * of an earlier test file would read the environment later and call another engine.
 */
export function sendTo(url: string, credentials: AccessKeyPair): TableSend {
  const settings = readWireSettings({ AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL: url })
  return createTableSend(createTablesOverHttp({ settings, credentials: () => credentials }))
}

const known = new WeakMap<Where, TableSend>()

/** Returns the function that sends calls to the tables of a host. Each address has one such function. */
export function sendAt(where: Where): TableSend {
  const found = where.send ?? known.get(where) ?? sendTo(where.engine_url, where.credentials)
  known.set(where, found)
  return found
}

/**
 * Returns an item as stored, with the attributes that readers never see, or undefined if the item does not
 * exist.
 */
export async function raw(where: Where, at: Key): Promise<Record<string, unknown> | undefined> {
  const table = tableNameOf(where.tables, at)
  const RequestItems = { [table]: { Keys: [{ pk: at.pk, sk: at.sk }], ConsistentRead: true } }
  const { Responses } = await sendAt(where)('BatchGetItem', { RequestItems })
  return Responses[table]?.[0]
}
