import type { Journal } from './journal.ts'
import { type JournalLineage, positionText } from './position.ts'
import { addLiveSums, computeBucketDeltas, type LeafLimbs, type TreeBucket, treeBucketText } from './tree.ts'

/** The effect of one entry of the tail on a bucket. */
interface TailChange {
  readonly pos: string
  readonly sk: string
  readonly limbs: LeafLimbs
}

/** The key of an item in the table `data`. */
export interface DataTableKey {
  readonly pk: string
  readonly sk: string
}

/** The journal entries after a position. Each entry of the tail is read once, and only as far as callers need. */
export interface JournalTail {
  /**
   * Reads the tail up to a position.
   * @returns the positions up to this position that have no entry yet
   */
  readUpTo(seq: number): Promise<ReadonlySet<number>>
  /** Returns the changes that the entries read so far make to the buckets of a page, in order. */
  changesOfPage(pk: string): readonly TailChange[]
  /** Returns the keys that the entries of the tail change in a bucket. */
  changedKeys(bucket: TreeBucket): readonly DataTableKey[]
}

function push<T>(lists: Map<string, T[]>, name: string, one: T): void {
  const list = lists.get(name)
  if (list) list.push(one)
  else lists.set(name, [one])
}

/** Number of journal entries that one read returns. */
const WINDOW = 500

/**
 * Opens the tail of the journal after `after`.
 * @param after the position after which the tail begins
 * @param now epoch seconds: generations that had ended at `now` do not count
 */
export function openJournalTail(
  journal: Pick<Journal, 'entries'>,
  { treeId, lineage, after, now }: { treeId: string; lineage: JournalLineage; after: number; now: number },
): JournalTail {
  const lates = new Map<string, TailChange[]>()
  const keys = new Map<string, DataTableKey[]>()
  const missing = new Set<number>()
  let end = after

  function take(entry: Awaited<ReturnType<Journal['entries']>>[number]): void {
    if (!entry) return
    missing.delete(entry.seq)
    for (const { bucket, sums } of computeBucketDeltas(treeId, entry.body, now)) {
      const late = { pos: positionText(entry), sk: bucket.sk, limbs: addLiveSums(sums, now) }
      push(lates, bucket.pk, late)
    }
    for (const change of entry.body) {
      const [delta] = computeBucketDeltas(treeId, [change], now)
      const name = delta ? treeBucketText(delta.bucket) : ''
      push(keys, name, { pk: change.pk, sk: change.sk })
    }
  }

  async function read(seq: number): Promise<ReadonlySet<number>> {
    for (const hole of [...missing].filter(one => one <= seq))
      for (const entry of await journal.entries(lineage, hole - 1, hole)) take(entry)
    while (end < seq) {
      const to = Math.min(end + WINDOW, seq)
      const entries = await journal.entries(lineage, end, to)
      for (const [index, entry] of entries.entries()) if (!entry) missing.add(end + 1 + index)
      entries.forEach(take)
      end = to
    }
    return new Set([...missing].filter(hole => hole <= seq))
  }

  // Reads of the tail run one after the other, so that no entry is counted twice.
  let turn: Promise<unknown> = Promise.resolve()
  return {
    readUpTo: seq => {
      const mine = turn.then(() => read(seq))
      turn = mine.catch(() => undefined)
      return mine
    },
    changesOfPage: pk => lates.get(pk) ?? [],
    changedKeys: bucket => keys.get(treeBucketText(bucket)) ?? [],
  }
}
