import type { EntryChange, JournalEntry } from '../../shared/journal/journal-entry.ts'
import { encodeEntryBody } from '../../shared/journal/journal-entry.ts'
import { treeBucketOf, treeBucketText } from '../../shared/journal/tree.ts'

/** The write units of a journaled commit on AWS, by the sizes of its items. */
export interface WriteUnits {
  primary: number
  secondary: number
}

/** Estimates the bytes of a value as DynamoDB counts them. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value === 'number') return Math.ceil(String(Math.abs(value)).length / 2) + 1
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + 1 + bytesOf(one), 3)
  if (typeof value !== 'object' || value === null) return 1
  return Object.entries(value).reduce((sum, [name, one]) => sum + 1 + name.length + bytesOf(one), 3)
}

const kilobytes = (bytes: number): number => Math.max(1, Math.ceil(bytes / 1024))

/** Bytes of a bucket's text, and of `id`, `at`, `ttl` and the attribute names of a journal entry. */
const BUCKET = 45
const CELL = 120

/**
 * Counts the units of an item: two for a kilobyte in a transaction, one for an index. `expiry` is
 * written twice when its sort key changes.
 */
function unitsOfItem({ item, prev }: EntryChange): number {
  if (!item) return 2
  const tree = prev ? 0 : 1
  const expiry = item.due === undefined ? 0 : prev ? 2 : 1
  return 2 * kilobytes(bytesOf(item) + BUCKET) + tree + expiry
}

export function writeUnits({ body }: JournalEntry): WriteUnits {
  const buckets = new Set(body.map(({ kind, pk, sk }) => treeBucketText(treeBucketOf('life', kind, pk, sk))))
  const written = body.reduce((sum, change) => sum + unitsOfItem(change), 0) + 2 * buckets.size
  const entry = kilobytes(encodeEntryBody(body).length + CELL)
  return { primary: 1 + 2 * entry + written, secondary: entry + written }
}
