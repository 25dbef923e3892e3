import type { StoredItem } from '../storage/requests.ts'
import { generationOfTtl } from './generation.ts'
import { leafOf } from './tree.ts'

/** An item of a bucket as one text, the form in which clusters exchange it: its place, and the leaf of its content. */
export type BucketLine = [kind: string, pk: string, sk: string, leaf: string, gen: number | null]

export function formatBucketLine(item: StoredItem): string {
  const gen = item.ttl === undefined ? null : generationOfTtl(item.ttl)
  const line: BucketLine = [item.kind, item.pk, item.sk, leafOf(item), gen]
  return JSON.stringify(line)
}

/** @throws Error when the text is not such a line */
export function parseBucketLine(text: string): BucketLine {
  const line: unknown = JSON.parse(text)
  if (Array.isArray(line) && line.length === 5 && line.slice(0, 4).every(one => typeof one === 'string'))
    return line as BucketLine
  throw new Error('this is no item of a bucket')
}
