import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { BatchGetCommand, type BatchGetCommandOutput, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Clock, Entropy, Meter } from '../../../ports.ts'
import { batchRead, type TableKey } from '../../../storage/queries.ts'
import type { Tables } from '../../../storage/requests.ts'
import { retrying } from '../../../values/retrying.ts'
import { busy, sent } from './verdict.ts'

/** What the adapter of the tables works with. */
export interface Dependencies {
  tables: Tables
  clock: Clock
  entropy: Entropy
  meter: Meter
}

/** Attempts of ours while the engine cannot take something; each is several of the SDK's. */
export const TRIES = 5
const LARGEST_BATCH = 100
/** Batches of one read that are asked for at once: each may be megabytes, and has to come within an attempt's time. */
const BATCHES_AT_ONCE = 10

export const nameOf = ({ table, pk, sk }: TableKey): string => `${table}\n${pk}\n${sk}`

export type Engine = ReturnType<typeof storageEngine>

/** What the SDK prepares for a logger, although there is none, takes a tenth of its time. */
function quiet(client: DynamoDBClient): DynamoDBClient {
  client.middlewareStack.remove('loggerMiddleware')
  return client
}

/** The tables' engine behind the SDK, with what reading and writing have in common. */
export function storageEngine(connect: () => DynamoDBClient, dependencies: Dependencies) {
  const { clock, entropy, meter } = dependencies
  // a map may have a member named `constructor`, which makes it look like an instance of a class
  const marshallOptions = { removeUndefinedValues: true, convertClassInstanceToMap: true }
  const documents = DynamoDBDocumentClient.from(quiet(connect()), { marshallOptions })
  // how numbers are read is fixed for each client: sums have more digits than a double keeps, and need a client of
  // their own
  let reader: DynamoDBDocumentClient | undefined
  const exact = () => {
    reader ??= DynamoDBDocumentClient.from(quiet(connect()), {
      marshallOptions,
      unmarshallOptions: { wrapNumbers: text => BigInt(text) },
    })
    return reader
  }
  const pause = (tries: number) => clock.sleep((entropy.bytes(1)[0] ?? 0) % (20 * 2 ** tries))
  const seconds = () => Math.floor(clock.now() / 1000)

  async function batchGet(
    keys: readonly TableKey[],
    numbers: 'rounded' | 'exact',
  ): Promise<[string, Record<string, unknown>][]> {
    let wanted: BatchGetCommandOutput['UnprocessedKeys'] = batchRead(keys)
    const found: [string, Record<string, unknown>][] = []
    const read = await retrying({ tries: TRIES, pause }, async () => {
      if (Object.keys(wanted ?? {}).length === 0) return 'done'
      meter.count('dynamodb')
      const answer: BatchGetCommandOutput = await sent(
        (numbers === 'exact' ? exact() : documents).send(new BatchGetCommand({ RequestItems: wanted })),
      )
      for (const [table, items] of Object.entries(answer.Responses ?? {}))
        for (const item of items)
          found.push([nameOf({ table, ...(item as { pk: string; sk: string }) }), item])
      wanted = answer.UnprocessedKeys ?? {}
      return Object.keys(wanted).length > 0 ? 'again' : 'done'
    })
    if (read === 'again') throw busy()
    return found
  }

  /** Items of any keys by `nameOf`, read consistently, a hundred at a time. */
  async function get(
    keys: readonly TableKey[],
    numbers: 'rounded' | 'exact' = 'rounded',
  ): Promise<Map<string, Record<string, unknown>>> {
    const unique = [...new Map(keys.map(key => [nameOf(key), key])).values()]
    const batches = Array.from({ length: Math.ceil(unique.length / LARGEST_BATCH) }, (_, index) =>
      unique.slice(index * LARGEST_BATCH, (index + 1) * LARGEST_BATCH),
    )
    const found: [string, Record<string, unknown>][] = []
    for (let at = 0; at < batches.length; at += BATCHES_AT_ONCE) {
      const some = batches.slice(at, at + BATCHES_AT_ONCE)
      found.push(...(await Promise.all(some.map(batch => batchGet(batch, numbers)))).flat())
    }
    return new Map(found)
  }

  return { ...dependencies, documents, exact, pause, seconds, get }
}
