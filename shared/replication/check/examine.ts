import { lastEndedGeneration } from '../../journal/generation.ts'
import type { StoredTreeBucket } from '../../journal/journal.ts'
import { computePageHashAt } from '../../journal/page-at.ts'
import { allTreePages, type TreePagePlace, treeBucketAt, treePagePk } from '../../journal/page-places.ts'
import { parsePosition } from '../../journal/position.ts'
import { TREE_SUBTREES, type TreeSubtree } from '../../journal/refresh.ts'
import { hashTreeRoot, hashWholeTreeRoot, treePageNames } from '../../journal/tree.ts'
import type { Clock } from '../../ports.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { mapInParallel } from '../../values/in-parallel.ts'
import { type BucketCheckResult, type BucketFacts, checkBucketSums } from './bucket.ts'
import type { TreeFault } from './findings.ts'
import { addToTally, findMisplacedItems, findSuspectBuckets } from './tally.ts'
import { type CheckedTreeView, refreshTreeView } from './view.ts'

const SEGMENTS = 4

/**
 * Reads all items of the tables, and adds each item to the tally.
 * @param progress is called with the number of items read; may throw to stop
 */
export async function tallyAllItems(
  { journal, tally }: CheckedTreeView,
  progress: (seen: number) => Promise<void>,
): Promise<void> {
  const segment = async (index: number): Promise<void> => {
    let from: { pk: string; sk: string } | undefined
    do {
      const page = await journal.scan({ index, of: SEGMENTS, from })
      for (const item of page.items) addToTally(tally, item)
      await progress(tally.seen)
      from = page.next
    } while (from)
  }
  await Promise.all(Array.from({ length: SEGMENTS }, (_, index) => segment(index)))
}

/**
 * Finds pages and roots that seem wrong after all items were counted. The suspects include changes that are still
 * being written.
 * @param progress is called with the number of pages read
 */
export async function findTreeSuspects(
  view: CheckedTreeView,
  progress: (pages: number) => Promise<void>,
): Promise<TreeFault[]> {
  await refreshTreeView(view)
  let done = 0
  const found = await mapInParallel(allTreePages, async place => {
    const buckets = await view.journal.page(treePagePk(view.treeId, place))
    const subpages = findSuspectBuckets(view.tally, place, buckets)
    const own = (await pageFault(view, place, buckets)) === '' ? [] : [{ level: 'page' as const, ...place }]
    done += 1
    await progress(done)
    return [...subpages.map(subpage => ({ level: 'bucket' as const, ...place, subpage })), ...own]
  })
  const roots = TREE_SUBTREES.map((of): TreeFault => ({ level: 'root', of }))
  const above = [...roots, { level: 'whole' as const }].filter(fault => rootFault(view, fault) !== '')
  return [...found.flat(), ...above]
}

/** Returns the faults that stay the same in a second examination. */
export const confirmTreeFaults = (
  view: CheckedTreeView,
  suspects: readonly TreeFault[],
): Promise<TreeFault[]> =>
  findLastingFaults(
    view.clock,
    suspects,
    async fault => {
      if (fault.level === 'bucket')
        return (await readTreeBucket(view, fault, fault.subpage))?.verdict.difference
      if (fault.level !== 'page') return rootFault(view, fault)
      return pageFault(view, fault, await view.journal.page(treePagePk(view.treeId, fault)))
    },
    () => refreshTreeView(view),
  )

/**
 * Finds the faults of a tree: compares the items' content with the stored sums and hashes of each level.
 * @param progress is called after each page; may throw to stop
 */
export async function findTreeFaults(
  view: CheckedTreeView,
  progress: () => Promise<void>,
): Promise<TreeFault[]> {
  await tallyAllItems(view, progress)
  return confirmTreeFaults(view, await findTreeSuspects(view, progress))
}

const LOOKS = 5

/** Reads a bucket with its items while the bucket does not change; undefined if the bucket keeps changing. */
export async function readTreeBucket(
  { journal, treeId, now, tally, tail }: CheckedTreeView,
  place: TreePagePlace,
  subpage: number,
): Promise<{ facts: BucketFacts; verdict: BucketCheckResult } | undefined> {
  const bucket = treeBucketAt(treeId, place, subpage)
  const also = [...findMisplacedItems(tally, place, subpage), ...tail.changedKeys(bucket)]
  let [before] = await journal.buckets([bucket])
  for (let looks = 0; looks < LOOKS; looks++) {
    const items: StoredItem[] = await journal.readBucketItems(bucket, also)
    const [stored] = await journal.buckets([bucket])
    if (isSame(before, stored)) {
      const facts = { treeId, bucket, stored, items, now }
      return { facts, verdict: checkBucketSums(facts) }
    }
    before = stored
  }
  return undefined
}

const isSame = (a: StoredTreeBucket | undefined, b: StoredTreeBucket | undefined): boolean =>
  a?.mark === b?.mark && textOf(a) === textOf(b)

/** Returns the sums in a fixed order, because DynamoDB returns attributes in any order. */
const textOf = (bucket: StoredTreeBucket | undefined): string =>
  [...(bucket?.sums ?? [])]
    .map(([slot, limbs]) => `${slot} ${limbs.join(' ')}`)
    .sort()
    .join()

/**
 * Returns the fault of a page's hash, judged by the page's buckets; empty if the hash is right, undefined if the
 * buckets are changing.
 */
async function pageFault(
  { hashes, treeId, now, tail }: CheckedTreeView,
  place: TreePagePlace,
  buckets: ReadonlyMap<string, StoredTreeBucket>,
): Promise<string | undefined> {
  const root = hashes.roots.get(place.of)
  const stored = hashes.pages[place.of].get(treePageNames[place.page] ?? '')
  if (!root || !stored) return 'none'
  if (stored.gen !== lastEndedGeneration(now)) return undefined
  const at = parsePosition(stored.asOf > root.asOf ? stored.asOf : root.asOf)
  const hash = await computePageHashAt(treePagePk(treeId, place), buckets, { tail, at, now })
  if (hash === undefined) return undefined
  return hash === stored.hash ? '' : `${stored.hash} ${stored.asOf}`
}

/**
 * Returns the fault of a root, judged by the hashes below the root; empty if the root is right, undefined if hashes
 * are changing.
 */
function rootFault({ hashes }: CheckedTreeView, fault: TreeFault): string | undefined {
  const { roots, pages, isSettled } = hashes
  if (!isSettled) return undefined
  const hashOf = (of: TreeSubtree): string => roots.get(of)?.hash ?? ''
  if (fault.level === 'whole')
    return describeHash(roots.get('whole')?.hash, hashWholeTreeRoot(hashOf('replicated'), hashOf('local')))
  if (fault.level !== 'root') return ''
  const names = treePageNames.map(page => pages[fault.of].get(page)?.hash ?? '')
  return describeHash(hashOf(fault.of), hashTreeRoot(names))
}

const describeHash = (stored: string | undefined, right: string): string =>
  stored === right ? '' : `${stored}`

/**
 * Milliseconds before each look at a suspected fault. DynamoDB may show half of a transaction for some seconds, and
 * its index lags behind. A real fault of the tree stays longer than these seconds.
 */
const PAUSES = [0, 3000, 6000]

/**
 * Returns the suspects that have the same fault at several looks in a row.
 * @param judge returns the fault as text, equal for equal faults; empty: no fault; undefined: undecided, because the
 * suspect is changing
 * @param begin callback before each look
 */
export async function findLastingFaults<T>(
  clock: Clock,
  suspects: readonly T[],
  judge: (suspect: T) => Promise<string | undefined>,
  begin: () => Promise<void> = async () => undefined,
): Promise<T[]> {
  let left = suspects.map(one => ({ one, verdict: undefined as string | undefined, lasts: false }))
  for (const pause of PAUSES) {
    if (left.length === 0) return []
    if (pause > 0) await clock.sleep(pause)
    await begin()
    const judged = await mapInParallel(left, async ({ one, verdict: before }) => {
      const verdict = await judge(one)
      return { one, verdict, lasts: verdict !== undefined && verdict === before }
    })
    left = judged.filter(({ verdict }) => verdict !== '')
  }
  return left.filter(({ lasts }) => lasts).map(({ one }) => one)
}
