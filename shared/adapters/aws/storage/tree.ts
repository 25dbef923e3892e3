import type { Journal } from '../../../journal/journal.ts'
import { bucketText } from '../../../journal/tree.ts'
import type { Query } from '../../../storage/queries.ts'
import type { StoredItem } from '../../../storage/requests.ts'
import { defined } from '../../../values/defined.ts'
import type { Numbers } from '../wire/values.ts'
import { bucketFrom, storedPageFrom } from './buckets.ts'
import { type Engine, nameOf } from './engine.ts'
import type { Raw } from './expressions.ts'
import { pagesOf } from './pages.ts'
import { failureOf, sent } from './verdict.ts'

type Tree = Pick<Journal, 'buckets' | 'itemsOf' | 'page' | 'pageHashes' | 'putPageHash' | 'dropPartition'>

/** The sums and hashes of the tree in their table. */
export function dynamoTree(engine: Engine): Tree {
  const { tables, meter, send, get } = engine

  async function queried(query: Query, numbers?: Numbers): Promise<Raw[]> {
    const found: Raw[] = []
    for await (const page of pagesOf(engine, query, numbers)) found.push(...page)
    return found
  }
  const partition = (pk: string, numbers?: Numbers) =>
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
        const item = found.get(nameOf(key))
        return item && bucketFrom(item)
      })
    },
    itemsOf: async (bucket, also) => {
      const listed = await queried({
        TableName: tables.data,
        IndexName: 'tree',
        KeyConditionExpression: '#bucket = :bucket',
        ExpressionAttributeNames: { '#bucket': 'bucket' },
        ExpressionAttributeValues: { ':bucket': bucketText(bucket) },
      })
      const keys = [...(listed as { pk: string; sk: string }[]), ...also]
      const found = await get(keys.map(({ pk, sk }) => ({ table: tables.data, pk, sk })))
      return [...found.values()] as unknown as StoredItem[]
    },
    page: async pk =>
      new Map((await partition(pk, 'exact')).map(item => [String(item['sk']), bucketFrom(item)])),
    pageHashes: async root =>
      new Map((await partition(root)).map(item => [String(item['sk']), storedPageFrom(item)])),
    dropPartition: async pk => {
      const found = await partition(pk)
      for (const { sk } of found) {
        meter.count('dynamodb')
        await sent(send('DeleteItem', { TableName: tables.cluster, Key: { pk, sk } }))
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
        // a later one stands there, or the engine is busy: the page is refreshed again with its next change
        failureOf(error)
      }
    },
  }
}
