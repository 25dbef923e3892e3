import { PutCommand, QueryCommand, type QueryCommandInput } from '@aws-sdk/lib-dynamodb'
import type { Journal } from '../../../replication/journal.ts'
import { defined } from '../../../values/defined.ts'
import { bucketFrom, type Raw } from './elements.ts'
import { type Engine, nameOf } from './engine.ts'
import { failureOf, sent } from './verdict.ts'

type Tree = Pick<Journal, 'buckets' | 'page' | 'pageHashes' | 'putPageHash'>

/** The sums and hashes of the tree behind the SDK. */
export function dynamoTree({ tables, meter, documents, exact, get }: Engine): Tree {
  async function all(client: typeof documents, pk: string): Promise<Raw[]> {
    const found: Raw[] = []
    const input: QueryCommandInput = {
      TableName: tables.cluster,
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': pk },
    }
    let start: Raw | undefined
    do {
      meter.count('dynamodb')
      const page = await sent(
        client.send(new QueryCommand({ ...input, ...defined({ ExclusiveStartKey: start }) })),
      )
      found.push(...(page.Items ?? []))
      start = page.LastEvaluatedKey
    } while (start)
    return found
  }

  return {
    buckets: async at => {
      const keys = at.map(({ pk, sk }) => ({ table: tables.cluster, pk, sk }))
      const found = await get(keys, 'exact')
      return keys.map(key => {
        const item = found.get(nameOf(key))
        return item && bucketFrom(item)
      })
    },
    page: async pk => new Map((await all(exact(), pk)).map(item => [String(item['sk']), bucketFrom(item)])),
    pageHashes: async root =>
      new Map(
        (await all(documents, root)).map(({ sk, hash, asOf }) => [
          String(sk),
          { hash: String(hash), asOf: String(asOf) },
        ]),
      ),
    putPageHash: async (root, page, { hash, asOf }) => {
      meter.count('dynamodb')
      const input = {
        TableName: tables.cluster,
        Item: { pk: root, sk: page, kind: 'page', hash, asOf },
        ConditionExpression: 'attribute_not_exists(pk) OR asOf < :asOf',
        ExpressionAttributeValues: { ':asOf': asOf },
      }
      try {
        await documents.send(new PutCommand(input))
      } catch (error) {
        // a later one stands there, or the engine is busy: the page is refreshed again with its next change
        failureOf(error)
      }
    },
  }
}
