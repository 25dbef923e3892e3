import { isDeepStrictEqual } from 'node:util'
import type { JournalHead } from '../../../shared/journal/head.ts'
import type { Journal } from '../../../shared/journal/journal.ts'
import { formatEpoch } from '../../../shared/journal/position.ts'
import { headMoves } from '../../../shared/journal/transitions.ts'
import {
  addLiveSums,
  computeBucketDeltas,
  computeItemLeaf,
  readStoredLeaf,
  readStoredLeafInTree,
  treeBucketText,
} from '../../../shared/journal/tree.ts'
import type { StoredItem } from '../../../shared/storage/requests.ts'
import { fresh } from './cluster.ts'

/** Begins a journal in the tables of a host, and returns the journal's part of the cluster record. */
export async function begun(journal: Journal): Promise<{ mode: 'primary'; epoch: string; treeId: string }> {
  const epoch = formatEpoch(1, fresh('0000'))
  const old = await journal.head()
  if (old?.mode === 'writing') await journal.moveHead(headMoves.close(old, '', 0))
  await journal.moveHead(headMoves.begin(await journal.head(), epoch))
  return { mode: 'primary', epoch, treeId: fresh() }
}

/** Returns all items of the table `data`. */
export async function standing(journal: Journal): Promise<StoredItem[]> {
  const found: StoredItem[] = []
  let from: { pk: string; sk: string } | undefined
  do {
    const page = await journal.scan({ index: 0, of: 1, from })
    found.push(...page.items)
    from = page.next
  } while (from)
  return found
}

const nameOf = ({ pk, sk }: { pk: string; sk: string }): string => `${pk} ${sk}`

/** Reads the journal of this cluster from its beginning, position by position. */
export async function replayed(journal: Journal) {
  const head = (await journal.head()) as JournalHead
  const entries = await journal.entries(head.lineage, 0, head.last)
  const holes = entries.flatMap((entry, index) => (entry ? [] : [index + 1]))
  const table = new Map<string, StoredItem>()
  /** positions whose journal entry names a previous leaf that the earlier entries do not have */
  const torn: string[] = []
  for (const entry of entries)
    for (const change of entry?.body ?? []) {
      const before = table.get(nameOf(change))
      if ((before?.leaf ?? null) !== (change.prev?.leaf ?? null)) torn.push(`${entry?.seq} ${nameOf(change)}`)
      if (change.item) table.set(nameOf(change), change.item)
      else table.delete(nameOf(change))
    }
  return { head, entries, holes, table, torn }
}

/**
 * Compares the journal with the stored items.
 * @returns names of items that differ, sorted
 */
export async function differences(journal: Journal, own: (item: { pk: string }) => boolean = () => true) {
  const { table } = await replayed(journal)
  const there = new Map((await standing(journal)).filter(own).map(item => [nameOf(item), item]))
  const said = new Map([...table].filter(([, item]) => own(item)))
  const content = (item: StoredItem | undefined) => item && { ...item, bucket: undefined }
  return [...new Set([...there.keys(), ...said.keys()])]
    .filter(name => !isDeepStrictEqual(content(there.get(name)), content(said.get(name))))
    .sort()
}

/** The sum of a bucket without counted items. */
const NOTHING = '0,0,0'

/**
 * Returns the buckets of a hash tree whose sums differ from their items, and the items whose leaf differs
 * from their content.
 */
export async function wrongSums(
  journal: Journal,
  treeId: string,
  now = Math.floor(Date.now() / 1000),
): Promise<string[]> {
  const items = (await standing(journal)).filter(item => readStoredLeafInTree(item, treeId))
  const leaves = items
    .filter(item => computeItemLeaf(item) !== item.leaf)
    .map(item => `leaf of ${nameOf(item)}`)
  const changes = items.map(item => ({ ...item, prev: null, next: readStoredLeaf(item) }))
  const wanted = new Map(
    computeBucketDeltas(treeId, changes, now)
      .map(({ bucket, sums }) => [treeBucketText(bucket), addLiveSums(sums, now).join()] as const)
      .filter(([, sum]) => sum !== NOTHING),
  )
  const found = new Map<string, string>()
  const touched = (await replayed(journal)).entries.flatMap(entry =>
    computeBucketDeltas(treeId, entry?.body ?? [], now),
  )
  for (const pk of new Set(
    [...touched, ...computeBucketDeltas(treeId, changes, now)].map(({ bucket }) => bucket.pk),
  ))
    for (const [sk, { sums }] of await journal.page(pk)) {
      const sum = addLiveSums(sums, now).join()
      if (sum !== NOTHING) found.set(`${pk}/${sk}`, sum)
    }
  const buckets = [...new Set([...wanted.keys(), ...found.keys()])].filter(
    name => wanted.get(name) !== found.get(name),
  )
  return [...leaves, ...buckets]
}
