import { BatchWriteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { inject } from 'vitest'
import { createEngineClient } from '../../../infra/local/engine/engine.ts'
import { generationOfExpiry, ttlOfGeneration } from '../../../shared/journal/generation.ts'
import { bucketMarkText, positionText } from '../../../shared/journal/position.ts'
import { refreshTreeHashes } from '../../../shared/journal/refresh.ts'
import {
  addTreeBucket,
  bucketSumAttributes,
  computeBucketDeltas,
  computeItemLeaf,
  readStoredLeaf,
  type TreeBucket,
  treeBucketText,
} from '../../../shared/journal/tree.ts'
import type { StoredItem } from '../../../shared/storage/requests.ts'
import { asPrimary, type Member } from './pair.ts'

const DAY = 24 * 3600
const TOGETHER = 25
const WRITERS = 16

/** Returns the item with a number. Half of the items expire, in one of eight generations. */
export function grownItem(index: number, treeId: string, now: number): StoredItem {
  const dies = index % 2 === 0
  const expires = dies ? now + (1 + (index % 8) * 4) * DAY : undefined
  const gen = generationOfExpiry(expires, now)
  const name = String(index).padStart(8, '0')
  const item: StoredItem = {
    ...(dies
      ? ({ kind: 'token', pk: `token#${name}`, sk: 'token' } as const)
      : ({ kind: 'policy', pk: 'policy', sk: name } as const)),
    rev: `r${name}`,
    pos: positionText({ epoch: '000001.000000000000', seq: 1 }),
    data: { policies: ['default', 'web'], path: 'auth/cloud/login', n: index, text: 'x'.repeat(200) },
    ...(expires === undefined ? {} : { expires }),
    ...(gen === null ? {} : { ttl: ttlOfGeneration(gen) }),
  }
  return addTreeBucket({ ...item, leaf: computeItemLeaf(item) }, treeId)
}

/**
 * Makes a primary with `count` items, as a journal would have left them, without writing each journal entry.
 */
export async function grown(at: Member, count: number): Promise<void> {
  const client = DynamoDBDocumentClient.from(
    createEngineClient(inject('ground').engine, 'us-east-1', {
      accessKeyId: 'test',
      secretAccessKey: 'test',
    }),
  )
  const now = Math.floor(at.turn.ms / 1000)
  const write = async (table: string, items: readonly object[]): Promise<void> => {
    const waiting = Array.from({ length: Math.ceil(items.length / TOGETHER) }, (_, index) => index).values()
    const writer = async () => {
      for (const index of waiting) {
        const some = items.slice(index * TOGETHER, (index + 1) * TOGETHER)
        const requests = some.map(Item => ({ PutRequest: { Item } }))
        await client.send(new BatchWriteCommand({ RequestItems: { [table]: requests } }))
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, writer))
  }
  const buckets = new Map<string, { at: TreeBucket; parts: Map<string, bigint> }>()
  const AT_ONCE = 10_000
  for (let from = 0; from < count; from += AT_ONCE) {
    const items = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, index) =>
      grownItem(from + index, at.treeId, now),
    )
    await write(at.tables.data, items)
    const changes = items.map(item => ({ ...item, prev: null, next: readStoredLeaf(item) }))
    for (const { bucket, sums } of computeBucketDeltas(at.treeId, changes, now)) {
      const name = treeBucketText(bucket)
      const { parts } = buckets.get(name) ?? { parts: new Map<string, bigint>() }
      for (const [attribute, part] of bucketSumAttributes(sums))
        parts.set(attribute, (parts.get(attribute) ?? 0n) + part)
      buckets.set(name, { at: bucket, parts })
    }
  }
  const mark = bucketMarkText(1, positionText({ epoch: '000000.000000000000', seq: 0 }))
  await write(
    at.tables.cluster,
    [...buckets.values()].map(({ at: place, parts }) => ({ ...place, mark, ...Object.fromEntries(parts) })),
  )
  client.destroy()
  await asPrimary(at)
  const head = await at.journal.head()
  if (head) await refreshTreeHashes({ journal: at.journal, treeId: at.treeId, head, now })
}
