import type { ItemPlace, Journal } from '../../../shared/journal/journal.ts'
import { computeBucketDeltas, readStoredLeafInTree } from '../../../shared/journal/tree.ts'
import type { StoredItem } from '../../../shared/storage/requests.ts'

/**
 * Returns the items as readers see them, and the sums of all buckets: the stored sums, and the sums computed
 * from the items.
 * @param treeId name of the tree
 */
export async function everythingIn(
  journal: Journal,
  treeId: string,
  nowMs: number,
): Promise<{ items: string[]; kept: string[]; right: string[] }> {
  const items: StoredItem[] = []
  for (let from: ItemPlace | undefined | { pk: string; sk: string }; ; ) {
    const page = await journal.scan({ index: 0, of: 1, from })
    items.push(...page.items)
    if (!page.next) break
    from = page.next
  }
  const now = Math.floor(nowMs / 1000)
  const deltas = computeBucketDeltas(
    treeId,
    items.map(item => ({ ...item, prev: null, next: readStoredLeafInTree(item, treeId) })),
    now,
  )
  const right = deltas.map(({ bucket, sums }) => textOf(bucket, sums)).sort()
  const stored = await journal.buckets(deltas.map(({ bucket }) => bucket))
  const kept = deltas.map(({ bucket }, index) => textOf(bucket, stored[index]?.sums ?? new Map())).sort()
  return { items: items.map(({ pk, sk, rev, pos }) => `${pk} ${sk} ${rev} ${pos}`).sort(), kept, right }
}

const textOf = (
  { pk, sk }: { pk: string; sk: string },
  sums: ReadonlyMap<string, readonly bigint[]>,
): string =>
  `${pk.replace(/^t#[^#]*/, '')} ${sk} ${[...sums]
    .filter(([, limbs]) => limbs.some(limb => limb !== 0n))
    .map(([slot, limbs]) => `${slot}:${limbs.join(' ')}`)
    .sort()
    .join()}`
