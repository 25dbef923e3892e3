import { createFirstHead } from '../../../shared/journal/head.ts'
import type { Journal, StoredPageHash, StoredTreeBucket } from '../../../shared/journal/journal.ts'
import { refreshTreeHashes } from '../../../shared/journal/refresh.ts'
import {
  type BucketSums,
  computeBucketDeltas,
  type LeafLimbs,
  readStoredLeaf,
  type TreeBucket,
  treeBucketText,
} from '../../../shared/journal/tree.ts'
import type { StoredItem } from '../../../shared/storage/requests.ts'
import { grownItem } from './grown.ts'

/** Maximum number of items that one call of a scan returns. */
const SCANNED = 500

/** Sums of buckets, by page. */
function newBuckets() {
  const pages = new Map<string, Map<string, StoredTreeBucket & { sums: Map<string, LeafLimbs> }>>()
  const add = ({ pk, sk }: TreeBucket, sums: BucketSums): void => {
    const page = pages.get(pk) ?? new Map()
    const bucket = page.get(sk) ?? { sums: new Map<string, LeafLimbs>() }
    pages.set(pk, page.set(sk, bucket))
    for (const [slot, [a, b, c]] of sums) {
      const [x, y, z] = bucket.sums.get(slot) ?? [0n, 0n, 0n]
      bucket.sums.set(slot, [a + x, b + y, c + z])
    }
  }
  return { pages, add }
}

/**
 * Imitates the tables of a primary with `count` items, which are made when they are read. Memory holds only
 * sums, hashes and the bucket number of each item. All requests of a check are answered at once.
 */
export async function grownJournal(treeId: string, count: number, now: number) {
  const head = createFirstHead('000001.000000000000', 1)
  const changed = new Map<number, StoredItem>()
  const itemAt = (index: number): StoredItem => changed.get(index) ?? grownItem(index, treeId, now)
  const { pages, add } = newBuckets()
  const hashes = new Map<string, Map<string, StoredPageHash>>()
  const numbers = new Map<string, number>()
  const inBucket = new Int32Array(count)
  for (let index = 0; index < count; index++) {
    const item = itemAt(index)
    for (const { bucket, sums } of computeBucketDeltas(
      treeId,
      [{ ...item, prev: null, next: readStoredLeaf(item) }],
      now,
    )) {
      add(bucket, sums)
      const name = treeBucketText(bucket)
      const number = numbers.get(name) ?? numbers.size
      numbers.set(name, number)
      inBucket[index] = number
    }
  }
  const journal: Pick<
    Journal,
    'head' | 'scan' | 'buckets' | 'readBucketItems' | 'page' | 'pageHashes' | 'putPageHash' | 'entries'
  > = {
    head: async () => head,
    entries: async () => [],
    scan: async ({ index, of, from }) => {
      const items: StoredItem[] = []
      let at = from ? Number(from.sk) : index
      for (; at < count && items.length < SCANNED; at += of) items.push(itemAt(at))
      return at < count ? { items, next: { pk: '', sk: String(at) } } : { items }
    },
    buckets: async places => places.map(({ pk, sk }) => pages.get(pk)?.get(sk)),
    readBucketItems: async bucket => {
      const number = numbers.get(treeBucketText(bucket))
      const found: StoredItem[] = []
      for (let index = 0; index < count; index++) if (inBucket[index] === number) found.push(itemAt(index))
      return found
    },
    page: async pk => new Map(pages.get(pk)),
    pageHashes: async root => new Map(hashes.get(root)),
    putPageHash: async (root, page, stored) => {
      hashes.set(root, (hashes.get(root) ?? new Map<string, StoredPageHash>()).set(page, stored))
    },
  }
  const whole = journal as Journal
  await refreshTreeHashes({ journal: whole, treeId, head, now })
  return {
    journal: whole,
    /** changes an item without a journal entry */
    overwrite: (index: number, change: (item: StoredItem) => StoredItem): void => {
      changed.set(index, change(itemAt(index)))
    },
    /** adds one to the sums of a bucket */
    raise: (bucket: TreeBucket): void => add(bucket, new Map([['p', [1n, 0n, 0n]]])),
  }
}
