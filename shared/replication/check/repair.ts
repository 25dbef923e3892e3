import { generationOf, ttlOf } from '../../journal/generation.ts'
import type { Element } from '../../journal/journal.ts'
import type { PagePlace } from '../../journal/page-places.ts'
import { leafOf, placeInTree } from '../../journal/tree.ts'
import type { ClusterRead } from '../../ports.ts'
import { specOf } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { ok, PENDING } from '../../values/result.ts'
import { retrying } from '../../values/retrying.ts'
import { type BucketFacts, type BucketVerdict, judgeBucket, leafByContent } from './bucket.ts'
import { readBucket } from './examine.ts'
import type { TreeView } from './view.ts'

const REPAIR_TRIES = 8
const REPAIR_PAUSE_MS = 50
/** Milliseconds after a position was taken: most of what a journal can take is left for others. */
const REPAIR_PACE_MS = 100
/** Items of one transaction, beside the bucket. */
const MOST = 90

/** An item with the place in the tree that belongs to its content. */
export function repairItemPlace(item: StoredItem, treeId: string, now: number): StoredItem {
  const dies = specOf(item.kind).expiry === 'dies'
  const known = leafByContent(item, treeId)
  const gen = known ? known.gen : dies ? generationOf(item.expires, now) : null
  const { ttl: _ttl, ...rest } = item
  const whole = gen === null ? rest : { ...rest, ttl: ttlOf(gen) }
  return placeInTree({ ...whole, leaf: leafOf(whole) }, treeId)
}

/**
 * Corrects the sums of a bucket by the content of its items, if neither has changed since both were read; other writers go
 * first. On a primary, items with a wrong leaf take a position of the journal, so that secondaries receive them; elsewhere
 * their leaves are corrected in place.
 * @param cluster the cluster record, fresh enough to commit with
 * @returns whether it fits by now
 */
export async function repairBucket(
  view: TreeView,
  place: PagePlace,
  subpage: number,
  cluster: () => Promise<ClusterRead>,
): Promise<boolean> {
  const { journal, clock } = view
  const fits = await retrying(
    { tries: REPAIR_TRIES, pause: tried => clock.sleep(REPAIR_PAUSE_MS * tried) },
    async () => {
      const read = await readBucket(view, place, subpage)
      if (!read) return PENDING
      const { difference, misplaced } = read.verdict
      if (difference === '') return ok()
      const isOwn = (await journal.head())?.mode === 'writing'
      if (isOwn && misplaced.length > 0) {
        for (const item of misplaced) {
          await journal.backfill([item], await cluster())
          await clock.sleep(REPAIR_PACE_MS)
        }
      } else await journal.transact(inPlace(read))
      return PENDING
    },
  )
  return fits.ok
}

/** The elements that correct a bucket, and the items in it with a wrong leaf or place. */
function inPlace({ facts, verdict }: { facts: BucketFacts; verdict: BucketVerdict }): Element[] {
  const { treeId, bucket, stored, items, now } = facts
  const some = verdict.misplaced.slice(0, MOST)
  const settled = new Map(some.map(item => [item, repairItemPlace(item, treeId, now)]))
  const { sums } = judgeBucket({ ...facts, items: items.map(item => settled.get(item) ?? item) })
  return [
    ...[...settled].map(([item, put]): Element => {
      const { kind, pk, sk, rev, leaf } = item
      return { kind: 'item', item: { kind, pk, sk }, put, if: leaf === undefined ? { rev } : { rev, leaf } }
    }),
    { kind: 'renewal', renew: bucket, sums, was: stored },
  ]
}
