import { generationOfExpiry, ttlOfGeneration } from '../../journal/generation.ts'
import type { TransactionElement } from '../../journal/journal.ts'
import type { TreePagePlace } from '../../journal/page-places.ts'
import { addTreeBucket, computeItemLeaf } from '../../journal/tree.ts'
import type { ClusterRead } from '../../ports.ts'
import { itemKindSpec } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { ok, PENDING_RESULT } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import { type BucketCheckResult, type BucketFacts, checkBucketSums, computeLeaf } from './bucket.ts'
import { readTreeBucket } from './examine.ts'
import type { CheckedTreeView } from './view.ts'

const REPAIR_TRIES = 8
const REPAIR_PAUSE_MS = 50
/** Milliseconds between two positions, so that most of the journal's capacity stays free for clients. */
const REPAIR_PACE_MS = 100
/** Maximum number of items in one transaction, in addition to the bucket. */
const MOST = 90

/** Returns an item with the leaf and the bucket that its content requires. */
export function repairItemPlace(item: StoredItem, treeId: string, now: number): StoredItem {
  const dies = itemKindSpec(item.kind).expiry === 'dies'
  const known = computeLeaf(item, treeId)
  const gen = known ? known.gen : dies ? generationOfExpiry(item.expires, now) : null
  const { ttl: _ttl, ...rest } = item
  const whole = gen === null ? rest : { ...rest, ttl: ttlOfGeneration(gen) }
  return addTreeBucket({ ...whole, leaf: computeItemLeaf(whole) }, treeId)
}

/**
 * Corrects the sums of a bucket from its items' content, if neither the bucket nor the items have changed since the
 * read. If another writer conflicts with the repair, the other writer wins. On a primary, the repair writes items
 * with a wrong leaf at a journal position, so that secondaries get them. On other clusters the repair corrects only
 * the leaf of such items.
 * @param cluster returns the cluster record, fresh enough to commit with
 * @returns whether the bucket's sums are right after the repair
 */
export async function repairTreeBucket(
  view: CheckedTreeView,
  place: TreePagePlace,
  subpage: number,
  cluster: () => Promise<ClusterRead>,
): Promise<boolean> {
  const { journal, clock } = view
  const fits = await retryOnConflict(
    { tries: REPAIR_TRIES, pause: tried => clock.sleep(REPAIR_PAUSE_MS * tried) },
    async () => {
      const read = await readTreeBucket(view, place, subpage)
      if (!read) return PENDING_RESULT
      const { difference, misplaced } = read.verdict
      if (difference === '') return ok()
      const isOwn = (await journal.head())?.mode === 'writing'
      if (isOwn && misplaced.length > 0) {
        for (const item of misplaced) {
          await journal.backfill([item], await cluster())
          await clock.sleep(REPAIR_PACE_MS)
        }
      } else await journal.transact(inPlace(read))
      return PENDING_RESULT
    },
  )
  return fits.ok
}

/** Returns the transaction elements that correct a bucket and its misplaced items. */
function inPlace({
  facts,
  verdict,
}: {
  facts: BucketFacts
  verdict: BucketCheckResult
}): TransactionElement[] {
  const { treeId, bucket, stored, items, now } = facts
  const some = verdict.misplaced.slice(0, MOST)
  const settled = new Map(some.map(item => [item, repairItemPlace(item, treeId, now)]))
  const { sums } = checkBucketSums({ ...facts, items: items.map(item => settled.get(item) ?? item) })
  return [
    ...[...settled].map(([item, put]): TransactionElement => {
      const { kind, pk, sk, rev, leaf } = item
      return { kind: 'item', item: { kind, pk, sk }, put, if: leaf === undefined ? { rev } : { rev, leaf } }
    }),
    { kind: 'renewal', renew: bucket, sums, was: stored },
  ]
}
