import type { StoredItem } from '../storage/requests.ts'
import { generationOfTtl } from './generation.ts'
import { computeItemLeaf } from './tree.ts'

/** An item of a bucket as clusters exchange it, in JSON: its key, its leaf and its generation. */
export type BucketLine = [kind: string, pk: string, sk: string, leaf: string, gen: number | null]

/** Formats an item of a bucket as a line. */
export function formatBucketLine(item: StoredItem): string {
  const gen = item.ttl === undefined ? null : generationOfTtl(item.ttl)
  const line: BucketLine = [item.kind, item.pk, item.sk, computeItemLeaf(item), gen]
  return JSON.stringify(line)
}

/** Parses a line. @throws Error for malformed text */
export function parseBucketLine(text: string): BucketLine {
  const line: unknown = JSON.parse(text)
  if (Array.isArray(line) && line.length === 5 && line.slice(0, 4).every(one => typeof one === 'string'))
    return line as BucketLine
  throw new Error('malformed bucket line')
}
