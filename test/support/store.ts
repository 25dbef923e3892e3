import { randomBytes, randomUUID } from 'node:crypto'
import { DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb'
import { callMeter } from '../../shared/adapters/aws/system.ts'
import { dynamoStore } from '../../shared/adapters/aws/table.ts'
import type { ClusterRead } from '../../shared/ports.ts'
import type { Change } from '../../shared/storage/changes.ts'
import type { Key } from '../../shared/storage/kinds.ts'
import { type Tables, tableOf } from '../../shared/storage/requests.ts'

/** Where the tables of a host are. */
export interface Where {
  tap_url?: string
  tables: Tables
}

/** The adapter itself, on the tables of a host; its clock can be turned. One host per test file. */
export function tableStore({ tap_url: url = '', tables }: Where) {
  Object.assign(process.env, {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: url,
  })
  const clock = { ms: Date.now() }
  const store = dynamoStore({
    tables,
    clock: { now: () => clock.ms, sleep: async () => undefined },
    entropy: { bytes: randomBytes, uuid: randomUUID },
    meter: callMeter(),
  })
  const as = (): ClusterRead => ({ record: {} as ClusterRead['record'], readAt: clock.ms })
  return { store, clock, commit: (...changes: Change[]) => store.commit(changes, as()) }
}

const AT_ONCE = 100

/** Writes many items, a hundred at a time. */
export async function seed(
  { commit }: Pick<ReturnType<typeof tableStore>, 'commit'>,
  changes: readonly Change[],
): Promise<void> {
  for (let at = 0; at < changes.length; at += AT_ONCE) await commit(...changes.slice(at, at + AT_ONCE))
}

const engineAt = (endpoint: string): DynamoDBClient =>
  new DynamoDBClient({
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  })

interface Seen {
  kind: string
  rev: string
}

/** Kind and revision of everything in the tables, by place. */
export async function snapshot({ tap_url: url = '', tables }: Where): Promise<Map<string, Seen>> {
  const client = engineAt(url)
  const found = new Map<string, Seen>()
  for (const TableName of Object.values(tables)) {
    const pages = paginateScan({ client }, { TableName, ProjectionExpression: 'pk, sk, kind, rev' })
    for await (const { Items = [] } of pages) {
      for (const { pk, sk, kind, rev } of Items)
        found.set(`${TableName} ${pk?.S} ${sk?.S}`, { kind: kind?.S ?? '', rev: rev?.S ?? '' })
    }
  }
  client.destroy()
  return found
}

/** What has come, changed and gone between two snapshots: `token created` and the like, sorted. */
export function changesBetween(
  before: ReadonlyMap<string, Seen>,
  after: ReadonlyMap<string, Seen>,
): string[] {
  const lines = [...new Set([...before.keys(), ...after.keys()])].flatMap(place => {
    const [old, now] = [before.get(place), after.get(place)]
    if (!old) return now ? [`${now.kind} created`] : []
    if (!now) return [`${old.kind} deleted`]
    return old.rev === now.rev ? [] : [`${now.kind} changed`]
  })
  return lines.sort()
}

/** An item as it stands in the table, with the attributes that readers never see; undefined when there is none. */
export async function raw(
  { tap_url: url = '', tables }: Where,
  at: Key,
): Promise<Record<string, unknown> | undefined> {
  const client = engineAt(url)
  const { Item } = await DynamoDBDocumentClient.from(client).send(
    new GetCommand({ TableName: tableOf(tables, at), Key: { pk: at.pk, sk: at.sk }, ConsistentRead: true }),
  )
  client.destroy()
  return Item
}
