import type { AwsJsonAnswer } from '../../../shared/adapters/aws/wire/json.ts'
import type { DynamoDbCall } from '../../../shared/adapters/aws/wire/tables.ts'
import { besideRequests } from './beside.ts'
import { type ClusterSet, clusterSet } from './set.ts'
import type { SetSnapshot } from './snapshot.ts'
import type { Process } from './traps.ts'

/** The recorded DynamoDB and AWS calls of a function. */
export interface FunctionCalls {
  invocations: number
  calls: number
  /** read units of DynamoDB on demand */
  reads: number
  writes: number
}

/** The costs of hash refreshes on all clusters. The costs of the functions include these costs. */
export interface HashCalls {
  refreshes: number
  pages: number
  /** bytes of all buckets on the refreshed pages, and their number */
  bytes: number
  buckets: number
  /** read units of all calls except the reads of buckets */
  reads: number
  writes: number
}

/** The recorded calls of two clusters in a minute. */
export interface RecordedPair {
  /** calls of the link: requests to the other cluster's gateway */
  link: Record<string, number>
  /** by cluster and function, for example `west on-pull` */
  functions: Record<string, FunctionCalls>
  hashes: HashCalls
}

type Attributes = Readonly<Record<string, object>>

/** Estimates the bytes of an item as DynamoDB counts them: names, and values without type marks. */
const bytesOf = (item: Attributes): number => JSON.stringify(item).length - 6 * Object.keys(item).length

const KB = 1024
const units = (bytes: number, each: number): number => Math.max(1, Math.ceil(bytes / each))
const readUnits = (bytes: number, isStrong: boolean): number => units(bytes, 4 * KB) * (isStrong ? 1 : 0.5)

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)
const keyText = ({ pk, sk }: Attributes): string => JSON.stringify([pk, sk])

/**
 * Returns the write units of an item. An item of the table `data` has secondary indexes, and a new item
 * writes to the indexes too.
 */
function writeUnits({ Item: item, ConditionExpression: condition = '' }: Write): number {
  if (!item) return 1
  const isNew = item['bucket'] !== undefined && condition.includes('attribute_not_exists')
  return units(bytesOf(item), KB) + (isNew ? 1 + (item['due'] === undefined ? 0 : 1) : 0)
}
interface Write {
  Item?: Attributes
  ConditionExpression?: string
}

export type CallUnits = Pick<FunctionCalls, 'reads' | 'writes'>

/** Returns the read and write units of a call, by the items in its request and in its answer. */
export function countUnits({ operation, input }: DynamoDbCall, { body }: AwsJsonAnswer): CallUnits {
  const requested = Object.entries((input['RequestItems'] ?? {}) as Record<string, unknown>)
  if (operation === 'BatchGetItem') {
    const { Responses: responses = {} } = body as {
      Responses?: Record<string, Attributes[]>
    }
    const reads = requested.flatMap(([table, asked]) => {
      const { Keys: keys, ConsistentRead: isStrong = false } = asked as {
        Keys: Attributes[]
        ConsistentRead?: boolean
      }
      const sizes = new Map((responses[table] ?? []).map(item => [keyText(item), bytesOf(item)]))
      return keys.map(key => readUnits(sizes.get(keyText(key)) ?? 0, isStrong))
    })
    return { reads: sum(reads), writes: 0 }
  }
  if (operation === 'Query' || operation === 'Scan') {
    const { Items: items = [] } = body as { Items?: Attributes[] }
    return {
      reads: readUnits(sum(items.map(bytesOf)), input['ConsistentRead'] === true),
      writes: 0,
    }
  }
  if (operation === 'TransactWriteItems') {
    const elements = input['TransactItems'] as Record<string, Write>[]
    return {
      reads: 0,
      writes: 2 * sum(elements.flatMap(one => Object.values(one)).map(writeUnits)),
    }
  }
  if (operation === 'BatchWriteItem') {
    const writes = requested.flatMap(([, list]) => list as { PutRequest?: Write }[])
    return {
      reads: 0,
      writes: sum(writes.map(({ PutRequest }) => writeUnits(PutRequest ?? {}))),
    }
  }
  return { reads: 0, writes: writeUnits(input as Write) }
}

/** Returns the partition key of a query, or of an item that is put. */
function partitionOf({ operation, input }: DynamoDbCall): string {
  const values = (input['ExpressionAttributeValues'] ?? {}) as Attributes
  const place = operation === 'Query' ? values[':pk'] : ((input['Item'] ?? {}) as Attributes)['pk']
  return (place as { S?: string } | undefined)?.S ?? ''
}

const ROOTS = /^t#[^#]*#root$/
const HASHES = /^t#[^#]*#[rl]#root$/
const PAGE = /^t#[^#]*#[rl]#[0-9a-f]{2}$/

/**
 * Records the calls of hash refreshes. Each refresh begins with a query of the roots, and ends with the root
 * of the whole tree.
 */
function hashRecorder() {
  const hashes: HashCalls = {
    refreshes: 0,
    pages: 0,
    bytes: 0,
    buckets: 0,
    reads: 0,
    writes: 0,
  }
  const refreshing = new Set<number>()
  return {
    hashes,
    record: (call: DynamoDbCall, answer: AwsJsonAnswer, id: number, used: CallUnits): void => {
      const partition = partitionOf(call)
      if (call.operation === 'Query' && ROOTS.test(partition)) refreshing.add(id)
      if (!refreshing.has(id)) return
      if (call.operation === 'Query' && PAGE.test(partition)) {
        const { Items: items = [] } = answer.body as { Items?: Attributes[] }
        hashes.pages++
        hashes.buckets += items.length
        hashes.bytes += sum(items.map(bytesOf))
      } else {
        hashes.reads += used.reads
        if (HASHES.test(partition) || ROOTS.test(partition)) hashes.writes += used.writes
      }
      const { sk } = (call.input['Item'] ?? {}) as { sk?: { S?: string } }
      if (call.operation !== 'PutItem' || sk?.S !== 'whole') return
      hashes.refreshes++
      refreshing.delete(id)
    },
  }
}

interface Recording {
  /** the clusters of the snapshot; default: east and west */
  names?: readonly string[]
  /** minutes of the clusters' clock */
  minutes: number
  /** the load of clients during the recording */
  beside?: (set: ClusterSet) => Promise<void>
}

const SETTLES_MS = 90_000

/** Records the calls of the clusters during some minutes of their clock, with schedules and streams. */
export async function recordPair(
  from: SetSnapshot,
  { names = ['east', 'west'], minutes, beside }: Recording,
): Promise<RecordedPair> {
  const functions = new Map<string, FunctionCalls>()
  const seen = new Set<number>()
  let { hashes, record } = hashRecorder()
  const onCall = (call: DynamoDbCall, { id, cluster, name }: Process, answer: AwsJsonAnswer): void => {
    const key = `${cluster} ${name.startsWith('link/') ? 'link' : name}`
    const known = functions.get(key) ?? {
      invocations: 0,
      calls: 0,
      reads: 0,
      writes: 0,
    }
    const used = countUnits(call, answer)
    functions.set(key, {
      invocations: known.invocations + (seen.has(id) ? 0 : 1),
      calls: known.calls + 1,
      reads: known.reads + used.reads,
      writes: known.writes + used.writes,
    })
    seen.add(id)
    record(call, answer, id, used)
  }
  const set: ClusterSet = await clusterSet(names, {
    from,
    memory: true,
    aws: true,
    onCall,
  })
  const end = besideRequests(set, { hashes: true })
  await set.clock.sleep(SETTLES_MS)
  functions.clear()
  ;({ hashes, record } = hashRecorder())
  const before = set.net.calls.length
  await Promise.all([set.clock.sleep(minutes * 60_000), beside?.(set)])
  const link: Record<string, number> = {}
  for (const { method } of set.net.calls.slice(before)) link[method] = (link[method] ?? 0) + 1 / minutes
  const perMinute = <T extends Record<string, number>>(counts: T): T =>
    Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count / minutes])) as T
  const recorded = {
    link,
    functions: Object.fromEntries([...functions].map(([name, counts]) => [name, perMinute({ ...counts })])),
    hashes: perMinute({ ...hashes }),
  }
  await end()
  return recorded
}
