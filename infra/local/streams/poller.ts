import { setTimeout } from 'node:timers/promises'
import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type _Record as StreamRecord,
} from '@aws-sdk/client-dynamodb-streams'
import type { LocalLambdas } from '../lambda/lambdas.ts'
import type { AccessKeyPair } from '../provider/wire/signed-server.ts'
import type { StreamModel } from '../template/assembly.ts'
import { deliverStreamRecords } from './deliver.ts'
import { matchesEventPattern } from './pattern.ts'

interface PollerOptions {
  /** URL of the engine */
  url: string
  region: string
  credentials: AccessKeyPair
  streams: readonly StreamModel[]
  /** a DynamoDB client of the engine */
  tables: DynamoDBClient
  lambdas: Pick<LocalLambdas, 'invoke' | 'logError' | 'activity'>
}

/**
 * Milliseconds between two reads of a stream: without records, while no function runs, and after an error.
 */
const STREAM_IDLE_PAUSE_MS = 200
const STREAM_REST_PAUSE_MS = 2000
const STREAM_FAULT_PAUSE_MS = 1000

/**
 * Invokes functions for new stream records. The functions themselves look for earlier changes when they
 * start. A stream of the engine has one shard that never ends.
 */
export function startStreamPollers(options: PollerOptions): { close(): Promise<void> } {
  const { url, region, credentials } = options
  const client = new DynamoDBStreamsClient({ endpoint: url, region, credentials, maxAttempts: 1 })
  const end = new AbortController()
  const polling = options.streams.map(stream => follow(client, stream, options, end.signal))
  return {
    close: async () => {
      end.abort()
      await Promise.all(polling)
      client.destroy()
    },
  }
}

async function follow(
  client: DynamoDBStreamsClient,
  stream: StreamModel,
  { lambdas, tables }: PollerOptions,
  signal: AbortSignal,
): Promise<void> {
  const pause = (ms: number) => setTimeout(ms, undefined, { signal, ref: false }).catch(() => undefined)
  const complain = (error: unknown) =>
    lambdas.logError(stream.functionName, `stream of ${stream.table}: ${String(error)}`)
  let seen: string | undefined
  let iterator: string | undefined
  while (!signal.aborted) {
    try {
      iterator ??= await iteratorOf(client, await streamOf(tables, stream.table), seen)
      const before = lambdas.activity.mark()
      const command = new GetRecordsCommand({ ShardIterator: iterator, Limit: stream.batchSize })
      const { Records = [], NextShardIterator } = await client.send(command, { abortSignal: signal })
      iterator = NextShardIterator
      await deliverStreamRecords(wanted(stream, Records), {
        ...stream,
        tell: async records => {
          if (records.length > 0) await lambdas.invoke(stream.functionName, { Records: records })
        },
        refused: (_, error) => complain(error),
      })
      seen = Records.at(-1)?.dynamodb?.SequenceNumber ?? seen
      if (Records.length > 0) continue
      await pause(STREAM_IDLE_PAUSE_MS)
      await lambdas.activity.rest(before, STREAM_REST_PAUSE_MS, signal)
    } catch (error) {
      if (signal.aborted) return
      complain(error)
      iterator = undefined
      await pause(STREAM_FAULT_PAUSE_MS)
    }
  }
}

/**
 * Returns the ARN of a table's stream. The engine does not list streams, because a list would reveal table
 * names.
 */
async function streamOf(tables: DynamoDBClient, TableName: string): Promise<string | undefined> {
  const { Table } = await tables.send(new DescribeTableCommand({ TableName }))
  return Table?.LatestStreamArn
}

async function iteratorOf(
  client: DynamoDBStreamsClient,
  StreamArn: string | undefined,
  seen: string | undefined,
): Promise<string | undefined> {
  const { StreamDescription } = await client.send(new DescribeStreamCommand({ StreamArn }))
  const ShardId = StreamDescription?.Shards?.at(-1)?.ShardId
  const { ShardIterator } = await client.send(
    new GetShardIteratorCommand({
      StreamArn,
      ShardId,
      ...(seen === undefined
        ? { ShardIteratorType: 'LATEST' }
        : { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: seen }),
    }),
  )
  return ShardIterator
}

/** Returns the records that match a filter, in the form of a function's event. */
const wanted = ({ filters }: StreamModel, records: readonly StreamRecord[]): unknown[] =>
  records
    .map(record => plain({ ...record, eventSource: 'aws:dynamodb' }))
    .filter(record => filters.length === 0 || filters.some(filter => matchesEventPattern(filter, record)))

/** Converts a value to JSON as in a stream event: bytes to base64, times to seconds. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof Date) return value.getTime() / 1000
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]))
}
