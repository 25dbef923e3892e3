import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb'
import {
  BatchGetCommand,
  type BatchGetCommandOutput,
  DeleteCommand,
  DynamoDBDocumentClient,
  PutCommand,
  QueryCommand,
  type QueryCommandInput,
  ScanCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { ApiError } from '../../api/errors.ts'
import type {
  Clock,
  ClusterRead,
  CommitOptions,
  Cursor,
  Due,
  Entropy,
  Items,
  Meter,
  OneOrMore,
  Page,
  Scanned,
  Segment,
  Store,
} from '../../ports.ts'
import { type Change, keyOf } from '../../storage/changes.ts'
import type { Item, Key, Kind, Partitions } from '../../storage/kinds.ts'
import {
  fromStored,
  isKey,
  isStorable,
  type StoredItem,
  type Tables,
  tableOf,
  toWrite,
  type WriteItem,
} from '../../storage/requests.ts'
import { ownService } from './client.ts'

interface Dependencies {
  tables: Tables
  clock: Clock
  entropy: Entropy
  meter: Meter
}

const TRIES = 5
/** A role change waits longer than this between closing the old state and opening the new one. */
const OLDEST_RECORD_MS = 20_000

/** The tables behind the SDK. */
export function dynamoStore({ tables, clock, entropy, meter }: Dependencies): Store {
  const client = DynamoDBDocumentClient.from(new DynamoDBClient(ownService()), {
    // a map may have a member named `constructor`, which makes it look like an instance of a class
    marshallOptions: { removeUndefinedValues: true, convertClassInstanceToMap: true },
  })
  const seconds = () => Math.floor(clock.now() / 1000)
  const pause = (tries: number) => clock.sleep((entropy.bytes(1)[0] ?? 0) % (20 * 2 ** tries))

  // one name may stand in both tables
  const placeOf = (key: Key): string => nameOf(tableOf(tables, key), key)

  /** What was found, by place. */
  async function batchGet(keys: readonly Key[]): Promise<(readonly [string, StoredItem])[]> {
    const unique = [...new Map(keys.map(key => [placeOf(key), key])).values()]
    let wanted: BatchGetCommandOutput['UnprocessedKeys'] = byTable(unique, tables)
    const found: (readonly [string, StoredItem])[] = []
    for (let tries = 0; Object.keys(wanted).length > 0; tries++) {
      if (tries === TRIES) throw busy()
      if (tries > 0) await pause(tries)
      meter.count('dynamodb')
      const answer: BatchGetCommandOutput = await sent(
        client.send(new BatchGetCommand({ RequestItems: wanted })),
      )
      for (const [table, items] of Object.entries(answer.Responses ?? {}))
        found.push(...(items as StoredItem[]).map(item => [nameOf(table, item), item] as const))
      wanted = answer.UnprocessedKeys ?? {}
    }
    return found
  }

  async function read<const K extends readonly Key[]>(keys: K): Promise<Items<K>> {
    const chunks = Array.from({ length: Math.ceil(keys.length / 100) }, (_, index) =>
      keys.slice(index * 100, index * 100 + 100),
    )
    const found = (await Promise.all(chunks.map(chunk => batchGet(chunk.filter(isKey))))).flat()
    const byPlace = new Map(found)
    return keys.map(key => fromStored(key.kind, byPlace.get(placeOf(key)), seconds())) as unknown as Items<K>
  }

  async function* pages(input: QueryCommandInput): AsyncGenerator<StoredItem[]> {
    let start: Record<string, unknown> | undefined
    do {
      meter.count('dynamodb')
      const page = await sent(
        client.send(new QueryCommand({ ...input, ...(start ? { ExclusiveStartKey: start } : {}) })),
      )
      yield (page.Items ?? []) as StoredItem[]
      start = page.LastEvaluatedKey
    } while (start)
  }

  async function partition<K extends Kind>(kind: K, pk: string, { after, limit }: Page): Promise<Item<K>[]> {
    const items: Item<K>[] = []
    const input: QueryCommandInput = {
      TableName: tableOf(tables, { kind }),
      ConsistentRead: true,
      KeyConditionExpression: after === undefined ? 'pk = :pk' : 'pk = :pk AND sk > :after',
      ExpressionAttributeValues: { ':pk': pk, ...(after === undefined ? {} : { ':after': after }) },
      ...(limit === undefined ? {} : { Limit: limit }),
    }
    for await (const page of pages(input)) {
      items.push(
        ...page.map(stored => fromStored(kind, stored, seconds())).filter(item => item !== undefined),
      )
      if (limit !== undefined && items.length >= limit) break
    }
    return items
  }

  async function list<K extends Kind>({ kind, pks }: Partitions<K>, page: Page = {}): Promise<Item<K>[]> {
    const items = (await Promise.all(pks.map(pk => partition(kind, pk, page)))).flat()
    if (pks.length > 1) items.sort((a, b) => (a.sk < b.sk ? -1 : 1))
    return page.limit === undefined ? items : items.slice(0, page.limit)
  }

  async function* due<K extends Kind>(
    { kind, pks }: Partitions<K>,
    before: number,
  ): AsyncGenerator<Due<K>[]> {
    for (const pk of pks) {
      const input: QueryCommandInput = {
        TableName: tableOf(tables, { kind }),
        IndexName: 'expiry',
        KeyConditionExpression: 'pk = :pk AND due < :before',
        ExpressionAttributeValues: { ':pk': pk, ':before': before },
      }
      for await (const page of pages(input)) {
        yield page.map(({ sk, rev, due: at = 0 }) => ({ kind, pk, sk, rev, due: at }))
      }
    }
  }

  async function* scan<K extends Kind>(
    wanted: OneOrMore<K>,
    { index, of, from }: Segment,
  ): AsyncGenerator<Scanned<K>> {
    const kinds = Array.isArray(wanted) ? wanted : [wanted]
    const values = Object.fromEntries(kinds.map((kind, place) => [`:kind${place}`, kind]))
    let start = from
    do {
      meter.count('dynamodb')
      const page = await sent(
        client.send(
          new ScanCommand({
            TableName: tableOf(tables, { kind: kinds[0] }),
            ConsistentRead: true,
            FilterExpression: `kind IN (${Object.keys(values)})`,
            ExpressionAttributeValues: values,
            Segment: index,
            TotalSegments: of,
            ...(start ? { ExclusiveStartKey: start } : {}),
          }),
        ),
      )
      const stored = (page.Items ?? []) as StoredItem[]
      const items = stored
        .map(item => fromStored(item.kind as K, item, seconds()))
        .filter(item => item !== undefined)
      start = page.LastEvaluatedKey as Cursor | undefined
      yield { items, ...(start ? { next: start } : {}) }
    } while (start)
  }

  async function commit(
    changes: readonly Change[],
    { readAt }: ClusterRead,
    { tries: most = TRIES }: CommitOptions = {},
  ): Promise<'done' | 'conflict'> {
    if (clock.now() - readAt > OLDEST_RECORD_MS) throw busy()
    const rev = entropy.bytes(12).toString('base64url')
    // where nothing can stand, there is nothing to delete
    const wanted = changes.filter(change => !('delete' in change) || isKey(change.delete))
    if (wanted.length === 0) return 'done'
    const writes = wanted.map(change => toWrite(change, rev, tables, seconds()))
    if (!writes.every(isStorable)) throw new ApiError('too_large', 'this is too large to be stored')
    const token = entropy.uuid()
    for (let tries = 0; tries < most; tries++) {
      if (tries > 0) await pause(tries)
      meter.count('dynamodb')
      const result = await write(wanted, writes, rev, token)
      if (result !== 'again') return result
    }
    throw busy()
  }

  /** A single write is a plain conditional one, except a conditional deletion, whose repetition could not be told. */
  async function write(
    changes: readonly Change[],
    writes: readonly WriteItem[],
    rev: string,
    token: string,
  ): Promise<'done' | 'conflict' | 'again'> {
    const [only] = writes
    try {
      if (writes.length === 1 && only && 'Put' in only) {
        await client.send(new PutCommand({ ...only.Put, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }))
      } else if (writes.length === 1 && only && 'Delete' in only && !only.Delete.ConditionExpression) {
        await client.send(new DeleteCommand(only.Delete))
      } else if (writes.length === 1 && only && 'Update' in only) {
        await client.send(new UpdateCommand(only.Update))
      } else {
        await client.send(new TransactWriteCommand({ TransactItems: [...writes], ClientRequestToken: token }))
      }
      return 'done'
    } catch (error) {
      const verdict = verdictOf(error, rev)
      return verdict === 'conflict' && writes.length === 1 && only && 'Update' in only
        ? counted(changes, rev)
        : verdict
    }
  }

  // The grant to count names the attributes that a request may speak of, so it cannot ask for the item in the way.
  async function counted(changes: readonly Change[], rev: string): Promise<'done' | 'conflict'> {
    const [[, item] = []] = await batchGet(changes.map(keyOf))
    return item?.rev === rev ? 'done' : 'conflict'
  }

  return { read, list, due, scan, commit }
}

const nameOf = (table: string, { pk, sk }: { pk: string; sk: string }): string => `${table}\n${pk}\n${sk}`

function byTable(
  keys: readonly Key[],
  tables: Tables,
): NonNullable<BatchGetCommandOutput['UnprocessedKeys']> {
  const requests: Record<string, { ConsistentRead: true; Keys: { pk: string; sk: string }[] }> = {}
  for (const key of keys) {
    const table = tableOf(tables, key)
    requests[table] ??= { ConsistentRead: true, Keys: [] }
    requests[table].Keys.push({ pk: key.pk, sk: key.sk })
  }
  return requests
}

const TRANSIENT = [
  'ProvisionedThroughputExceeded',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingError',
  'ThrottlingException',
  'TransactionConflict',
  'TransactionConflictException',
  'TransactionInProgressException',
  'InternalServerError',
]

/** What a failed write means: somebody was faster, try again, or a fault of ours. */
function verdictOf(error: unknown, rev: string): 'done' | 'conflict' | 'again' {
  if (error instanceof ConditionalCheckFailedException) {
    // the SDK repeats a request whose answer was lost: then the item in the way is the one it wrote
    return (error.Item?.['rev'] as { S?: string } | undefined)?.S === rev ? 'done' : 'conflict'
  }
  if (error instanceof TransactionCanceledException) {
    const codes = (error.CancellationReasons ?? []).map(reason => reason.Code ?? 'None')
    if (codes.includes('ConditionalCheckFailed')) return 'conflict'
    if (codes.every(code => code === 'None' || TRANSIENT.includes(code))) return 'again'
  }
  if (error instanceof Error && TRANSIENT.includes(error.name)) return 'again'
  throw unavailable(error)
}

const busy = (cause?: unknown): ApiError =>
  new ApiError('busy', 'the storage is busy', { retryAfter: 1, ...(cause === undefined ? {} : { cause }) })

const UNREACHABLE = ['TimeoutError', 'AbortError', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'NetworkingError']

function unavailable(error: unknown): unknown {
  const { name, code, $metadata } = error as {
    name?: string
    code?: string
    $metadata?: { httpStatusCode?: number }
  }
  const passing =
    UNREACHABLE.includes(name ?? '') ||
    UNREACHABLE.includes(code ?? '') ||
    ($metadata?.httpStatusCode ?? 0) >= 500
  return passing ? busy(error) : error
}

async function sent<T>(request: Promise<T>): Promise<T> {
  try {
    return await request
  } catch (error) {
    const throttled = error instanceof Error && TRANSIENT.includes(error.name)
    throw throttled ? busy(error) : unavailable(error)
  }
}
