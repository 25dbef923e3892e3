import { lastEndedGeneration } from '../../journal/generation.ts'
import type { StoredBucket } from '../../journal/journal.ts'
import { computePageHashAt } from '../../journal/page-at.ts'
import { allPages, bucketAt, type PagePlace, pkOfPage } from '../../journal/page-places.ts'
import { parsePosition } from '../../journal/position.ts'
import { SUBTREES, type Subtree } from '../../journal/refresh.ts'
import { pageNames, rootHash, wholeRoot } from '../../journal/tree.ts'
import type { Clock } from '../../ports.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { inParallel } from '../../values/in-parallel.ts'
import { type BucketFacts, type BucketVerdict, judgeBucket } from './bucket.ts'
import type { TreeFault } from './findings.ts'
import { addToTally, findMisplaced, findSuspectBuckets } from './tally.ts'
import { refreshView, type TreeView } from './view.ts'

const SEGMENTS = 4

/**
 * Goes through all items and counts them in.
 * @param progress told how many have been gone through; may throw to end it
 */
export async function countAll(
  { journal, tally }: TreeView,
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
 * What seems wrong with pages and roots, after everything was counted. Some of it may be under way only.
 * @param progress told how many pages have been gone through
 */
export async function findTreeSuspects(
  view: TreeView,
  progress: (pages: number) => Promise<void>,
): Promise<TreeFault[]> {
  await refreshView(view)
  let done = 0
  const found = await inParallel(allPages, async place => {
    const buckets = await view.journal.page(pkOfPage(view.treeId, place))
    const subpages = findSuspectBuckets(view.tally, place, buckets)
    const own = (await pageFault(view, place, buckets)) === '' ? [] : [{ level: 'page' as const, ...place }]
    done += 1
    await progress(done)
    return [...subpages.map(subpage => ({ level: 'bucket' as const, ...place, subpage })), ...own]
  })
  const roots = SUBTREES.map((of): TreeFault => ({ level: 'root', of }))
  const above = [...roots, { level: 'whole' as const }].filter(fault => rootFault(view, fault) !== '')
  return [...found.flat(), ...above]
}

/** Those faults that stay. */
export const confirmFaults = (view: TreeView, suspects: readonly TreeFault[]): Promise<TreeFault[]> =>
  findLasting(
    view.clock,
    suspects,
    async fault => {
      if (fault.level === 'bucket') return (await readBucket(view, fault, fault.subpage))?.verdict.difference
      if (fault.level !== 'page') return rootFault(view, fault)
      return pageFault(view, fault, await view.journal.page(pkOfPage(view.treeId, fault)))
    },
    () => refreshView(view),
  )

/**
 * What is wrong with a tree, by content of all items and by what is stored on each level.
 * @param progress after every page; may throw to end it
 */
export async function findTreeFaults(view: TreeView, progress: () => Promise<void>): Promise<TreeFault[]> {
  await countAll(view, progress)
  return confirmFaults(view, await findTreeSuspects(view, progress))
}

const LOOKS = 5

/** A bucket with its items, read while it did not change; undefined if it changes all the time. */
export async function readBucket(
  { journal, treeId, now, tally, tail }: TreeView,
  place: PagePlace,
  subpage: number,
): Promise<{ facts: BucketFacts; verdict: BucketVerdict } | undefined> {
  const bucket = bucketAt(treeId, place, subpage)
  const also = [...findMisplaced(tally, place, subpage), ...tail.changedKeys(bucket)]
  let [before] = await journal.buckets([bucket])
  for (let looks = 0; looks < LOOKS; looks++) {
    const items: StoredItem[] = await journal.readBucketItems(bucket, also)
    const [stored] = await journal.buckets([bucket])
    if (isSame(before, stored)) {
      const facts = { treeId, bucket, stored, items, now }
      return { facts, verdict: judgeBucket(facts) }
    }
    before = stored
  }
  return undefined
}

const isSame = (a: StoredBucket | undefined, b: StoredBucket | undefined): boolean =>
  a?.mark === b?.mark && textOf(a) === textOf(b)

/** Sums in one order: an engine gives the attributes of an item in any. */
const textOf = (bucket: StoredBucket | undefined): string =>
  [...(bucket?.sums ?? [])]
    .map(([slot, limbs]) => `${slot} ${limbs.join(' ')}`)
    .sort()
    .join()

/** The fault of a page's hash, judged by its buckets. */
async function pageFault(
  { hashes, treeId, now, tail }: TreeView,
  place: PagePlace,
  buckets: ReadonlyMap<string, StoredBucket>,
): Promise<string | undefined> {
  const root = hashes.roots.get(place.of)
  const stored = hashes.pages[place.of].get(pageNames[place.page] ?? '')
  if (!root || !stored) return 'none'
  if (stored.gen !== lastEndedGeneration(now)) return undefined
  const at = parsePosition(stored.asOf > root.asOf ? stored.asOf : root.asOf)
  const hash = await computePageHashAt(pkOfPage(treeId, place), buckets, { tail, at, now })
  if (hash === undefined) return undefined
  return hash === stored.hash ? '' : `${stored.hash} ${stored.asOf}`
}

/** The fault of a root, judged by the hashes below it. */
function rootFault({ hashes }: TreeView, fault: TreeFault): string | undefined {
  const { roots, pages, isSettled } = hashes
  if (!isSettled) return undefined
  const hashOf = (of: Subtree): string => roots.get(of)?.hash ?? ''
  if (fault.level === 'whole')
    return describeHash(roots.get('whole')?.hash, wholeRoot(hashOf('replicated'), hashOf('local')))
  if (fault.level !== 'root') return ''
  const names = pageNames.map(page => pages[fault.of].get(page)?.hash ?? '')
  return describeHash(hashOf(fault.of), rootHash(names))
}

const describeHash = (stored: string | undefined, right: string): string =>
  stored === right ? '' : `${stored}`

/**
 * Milliseconds before each look at a suspected fault. A transaction of the engine may be seen half for some seconds, and its
 * index lags behind: a real fault stays.
 */
const PAUSES = [0, 3000, 6000]

/**
 * Those that are judged wrong, and in the same way, again and again.
 * @param judge what is wrong with one, as a text that is the same for the same fault; empty: nothing; undefined: it
 * cannot be told now, because it changes
 * @param begin before each look
 */
export async function findLasting<T>(
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
    const judged = await inParallel(left, async ({ one, verdict: before }) => {
      const verdict = await judge(one)
      return { one, verdict, lasts: verdict !== undefined && verdict === before }
    })
    left = judged.filter(({ verdict }) => verdict !== '')
  }
  return left.filter(({ lasts }) => lasts).map(({ one }) => one)
}
