import { listGenerationsToDrop } from '../../../journal/generation.ts'
import type {
  Journal,
  StoredPageHash,
  StoredTreeBucket,
  TransactionElement,
} from '../../../journal/journal.ts'
import {
  bucketSumAttributes,
  parseBucketSums,
  selectLiveSums,
  treeBucketText,
} from '../../../journal/tree.ts'
import type { DynamoDbQuery } from '../../../storage/queries.ts'
import type { StoredItem } from '../../../storage/requests.ts'
import { defined } from '../../../values/defined.ts'
import type { NumberReading, PlainItem } from '../wire/values.ts'
import { createExpressionNames } from './conditional-writes.ts'
import { queryPages, type StorageEngine, tableKeyText } from './engine.ts'
import { toWriteFault, translateDynamoErrors } from './faults.ts'

/**
 * Returns the update that adds to the sums of a bucket.
 * @param now epoch seconds: an update that adds to a generation also drops sums of forgotten generations
 */
export function buildBucketUpdate(
  { bucket, sums, mark }: Extract<TransactionElement, { kind: 'bucket' }>,
  now: number,
) {
  const all = createExpressionNames()
  const { name, value } = all
  const adds = bucketSumAttributes(sums).map(([attribute, by]) => `${name(attribute)} ${value(by)}`)
  const grows = [...sums.keys()].some(slot => slot !== 'p')
  const drops = (grows ? listGenerationsToDrop(now, turnOf(mark)) : [])
    .map(generation => `g${generation}`)
    // a generation may have been forgotten since the sums were computed
    .filter(slot => !sums.has(slot))
    .flatMap(slot => bucketSumAttributes(new Map([[slot, [0n, 0n, 0n]]])).map(([attribute]) => attribute))
  const set = mark === undefined ? '' : `SET ${name('mark')} = ${value(mark)} `
  const add = adds.length === 0 ? '' : `ADD ${adds.join()} `
  const below =
    mark === undefined
      ? {}
      : { ConditionExpression: `attribute_not_exists(${name('mark')}) OR ${name('mark')} < ${value(mark)}` }
  const remove = drops.length === 0 ? '' : `REMOVE ${drops.join()}`
  return { Key: bucket, UpdateExpression: `${set}${add}${remove}`.trim(), ...below, ...all.parts() }
}

/** Returns a number that differs from update to update: marks end in the number of their position. */
const turnOf = (mark = '0'): number => Number(mark.slice(-3))

/**
 * Returns the update that replaces the sums of a bucket, except those of ended generations, if the sums are
 * unchanged since they were read.
 */
export function buildBucketRenewal(
  { renew, sums, was }: Extract<TransactionElement, { kind: 'renewal' }>,
  now: number,
) {
  const all = createExpressionNames()
  const { name, value } = all
  const before = new Map(bucketSumAttributes(selectLiveSums(was?.sums ?? new Map(), now)))
  const after = new Map(bucketSumAttributes(selectLiveSums(sums, now)))
  const test = (attribute: string, found: unknown): string => {
    const absent = `attribute_not_exists(${name(attribute)})`
    if (found === undefined) return absent
    const equal = `${name(attribute)} = ${value(found)}`
    return found === 0n ? `(${absent} OR ${equal})` : equal
  }
  const tests = [
    test('mark', was?.mark),
    ...[...new Set([...before.keys(), ...after.keys()])].map(one => test(one, before.get(one))),
  ]
  const set = [...after].map(([attribute, part]) => `${name(attribute)} = ${value(part)}`)
  const remove = [...before.keys()].filter(one => !after.has(one)).map(name)
  const UpdateExpression = [
    set.length > 0 ? `SET ${set.join()}` : '',
    remove.length > 0 ? `REMOVE ${remove.join()}` : '',
  ]
    .join(' ')
    .trim()
  return { Key: renew, ConditionExpression: tests.join(' AND '), UpdateExpression, ...all.parts() }
}

/** Parses the stored hash of a page. */
export const parseStoredPage = ({ hash, asOf, gen, at, pages }: PlainItem): StoredPageHash =>
  defined({
    hash: String(hash),
    asOf: String(asOf),
    gen: gen as number | undefined,
    at: at as number | undefined,
    pages: pages as number | undefined,
  })

/** Parses the stored sums of a bucket. Numbers in the sums are `bigint`. */
function parseBucket(item: PlainItem): StoredTreeBucket {
  const mark = item['mark'] as string | undefined
  return defined({ mark, sums: parseBucketSums(item as Record<string, bigint>) })
}

type Tree = Pick<
  Journal,
  'buckets' | 'readBucketItems' | 'page' | 'pageHashes' | 'putPageHash' | 'dropPartition'
>

/** Reads and writes the sums and hashes of the tree. */
export function createDynamoTree(engine: StorageEngine): Tree {
  const { tables, meter, send, get } = engine

  async function queried(query: DynamoDbQuery, numbers?: NumberReading): Promise<PlainItem[]> {
    const found: PlainItem[] = []
    for await (const page of queryPages(engine, query, numbers)) found.push(...page)
    return found
  }
  const partition = (pk: string, numbers?: NumberReading) =>
    queried(
      {
        TableName: tables.cluster,
        ConsistentRead: true,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': pk },
      },
      numbers,
    )

  return {
    buckets: async at => {
      const keys = at.map(({ pk, sk }) => ({ table: tables.cluster, pk, sk }))
      const found = await get(keys, 'exact')
      return keys.map(key => {
        const item = found.get(tableKeyText(key))
        return item && parseBucket(item)
      })
    },
    readBucketItems: async (bucket, also) => {
      const listed = await queried({
        TableName: tables.data,
        IndexName: 'tree',
        KeyConditionExpression: '#bucket = :bucket',
        ExpressionAttributeNames: { '#bucket': 'bucket' },
        ExpressionAttributeValues: { ':bucket': treeBucketText(bucket) },
      })
      const keys = [...(listed as { pk: string; sk: string }[]), ...also]
      const found = await get(keys.map(({ pk, sk }) => ({ table: tables.data, pk, sk })))
      return [...found.values()] as unknown as StoredItem[]
    },
    page: async pk =>
      new Map((await partition(pk, 'exact')).map(item => [String(item['sk']), parseBucket(item)])),
    pageHashes: async root =>
      new Map((await partition(root)).map(item => [String(item['sk']), parseStoredPage(item)])),
    dropPartition: async pk => {
      const found = await partition(pk)
      for (const { sk } of found) {
        meter.count('dynamodb')
        await translateDynamoErrors(send('DeleteItem', { TableName: tables.cluster, Key: { pk, sk } }))
      }
      return found.length
    },
    putPageHash: async (root, page, stored, was) => {
      meter.count('dynamodb')
      const { asOf, gen = -1 } = stored
      const newer = 'attribute_not_exists(gen) OR gen < :gen'
      const same = was === undefined ? newer : `${newer} OR #hash = :was`
      const input = {
        TableName: tables.cluster,
        Item: { pk: root, sk: page, kind: 'page', ...stored },
        ConditionExpression: `attribute_not_exists(pk) OR asOf < :asOf OR (asOf = :asOf AND (${same}))`,
        ExpressionAttributeValues: defined({ ':asOf': asOf, ':gen': gen, ':was': was }),
        ...(was === undefined ? {} : { ExpressionAttributeNames: { '#hash': 'hash' } }),
      }
      try {
        await send('PutItem', input)
      } catch (error) {
        // A later hash is stored, or DynamoDB is busy. The page's hash is refreshed again with its next change.
        toWriteFault(error)
      }
    },
  }
}
