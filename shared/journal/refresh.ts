import { findDenseFrontier } from './density.ts'
import { lastEndedGeneration } from './generation.ts'
import type { JournalHead } from './head.ts'
import type { Journal, StoredPageHash } from './journal.ts'
import { computePageHashAt } from './page-at.ts'
import { epochAt, type JournalPosition, parsePosition, positionText } from './position.ts'
import { treeAheadError } from './refusals.ts'
import { type JournalTail, openJournalTail } from './tail.ts'
import {
  computeBucketDeltas,
  hashTreeRoot,
  hashWholeTreeRoot,
  treePageNames,
  treePagePkByName,
} from './tree.ts'

/** Returns the partition of the root hashes: one for each subtree, and `whole` for the whole tree. */
export const treeRootsPk = (treeId: string): string => `t#${treeId}#root`

export const TREE_SUBTREES = ['replicated', 'local'] as const
export type TreeSubtree = (typeof TREE_SUBTREES)[number]

/** Returns all partitions of a tree: its buckets, and the hashes of pages and roots. */
export const listTreePartitions = (treeId: string): string[] => [
  ...TREE_SUBTREES.flatMap(of => [...treePageNames, 'root'].map(page => treePagePkByName(treeId, of, page))),
  treeRootsPk(treeId),
]

/** Number of journal entries that one read returns. */
const WINDOW = 500
/**
 * If more positions than this are new, all pages are recomputed, because reading the entries would cost more than
 * it saves.
 */
const MANY = 4000
const AT_ONCE = 16
const LOOKS = 5

/** A tree, and the state of its journal. */
interface TreeContext {
  journal: Journal
  treeId: string
  head: JournalHead
  /** epoch seconds */
  now: number
}

/** Partition keys of the pages to compute, or all pages. */
export type ChosenTreePages = ReadonlySet<string> | 'all'

const has = (pages: ChosenTreePages, pk: string): boolean => pages === 'all' || pages.has(pk)

/**
 * Milliseconds between two paced refreshes: `aPage` for each page that the earlier refresh computed, at most
 * `most`. Because of this pause, a month of paced refreshes computes no more pages than `aPage` allows, and a root
 * is never older than `most`.
 */
const REFRESH_PACE_MS = { aPage: 1200, most: 600_000 } as const

/** Reports whether a paced refresh may compute hashes now. The refresh of a tree without a root is always due. */
const isDue = ({ at = 0, pages = 0 }: Pick<StoredPageHash, 'at' | 'pages'>, now: number): boolean =>
  now * 1000 >= at + Math.min(REFRESH_PACE_MS.most, REFRESH_PACE_MS.aPage * pages)

/** Options of a refresh of the tree's hashes. */
interface RefreshOptions {
  /** `recompute`: pages to compute even if unchanged; with `recompute`, both roots are computed too */
  recompute?: ChosenTreePages
  /** `paced` skips the refresh if the previous refresh was costly and recent */
  paced?: boolean
}

/**
 * Computes the hashes of changed pages and of both roots, as of the frontier. A hash describes exactly one
 * position, so the refresh subtracts later commits that the buckets already contain. When a generation ends, the
 * refresh computes all pages again.
 * @returns the number of computed pages
 */
export async function refreshTreeHashes(
  standing: TreeContext,
  { recompute, paced }: RefreshOptions = {},
): Promise<number> {
  const { journal, treeId, head, now } = standing
  if (head.mode === 'syncing' || head.replayUntil > 0) return 0
  const own = head.mode === 'writing' || head.mode === 'closed'
  const seq = own ? await findDenseFrontier(journal, head) : head.applied
  const at = { epoch: epochAt(head.lineage, seq) || head.epoch, seq }
  const [asOf, gen] = [positionText(at), lastEndedGeneration(now)]
  const roots = await journal.pageHashes(treeRootsPk(treeId))
  const isFresh = TREE_SUBTREES.every(of => roots.get(of)?.asOf === asOf && roots.get(of)?.gen === gen)
  if (isFresh && !recompute) return 0
  const known = Math.min(...TREE_SUBTREES.map(of => refreshedTreePosition(roots.get(of), head, gen)))
  if (paced && known >= 0 && !isDue(roots.get('whole') ?? {}, now)) return 0
  const changed = await changedPages(standing, known, seq)
  const making: RefreshContext = {
    journal,
    treeId,
    head,
    now,
    at,
    asOf,
    gen,
    tail: openJournalTail(journal, { treeId, lineage: head.lineage, after: seq, now }),
    due: pk => has(changed, pk) || (recompute !== undefined && has(recompute, pk)),
  }
  const made = new Map<string, string>()
  let count = 0
  for (const of of TREE_SUBTREES) {
    const { hash, pages } = await refreshSubtree(making, of, recompute ? undefined : roots.get(of))
    // If a sync has begun meanwhile, these hashes are wrong: the sync's changes have no journal entries.
    if ((await journal.head())?.incarnation !== head.incarnation) return 0
    await journal.putPageHash(treeRootsPk(treeId), of, { hash, asOf, gen }, roots.get(of)?.hash)
    made.set(of, hash)
    count += pages
  }
  const whole = hashWholeTreeRoot(made.get('replicated') ?? '', made.get('local') ?? '')
  const stored = { hash: whole, asOf, gen, at: now * 1000, pages: count }
  await journal.putPageHash(treeRootsPk(treeId), 'whole', stored, roots.get('whole')?.hash)
  return count
}

/** Makes the next refresh compute all hashes. Needed after changes that have no journal entry. */
export async function invalidateTreeHashes(
  journal: Pick<Journal, 'pageHashes' | 'putPageHash'>,
  treeId: string,
): Promise<void> {
  const roots = await journal.pageHashes(treeRootsPk(treeId))
  for (const of of TREE_SUBTREES) {
    const root = roots.get(of)
    if (root) await journal.putPageHash(treeRootsPk(treeId), of, { ...root, gen: 0 }, root.hash)
  }
}

interface RefreshContext extends TreeContext {
  at: JournalPosition
  asOf: string
  gen: number
  tail: JournalTail
  due(pk: string): boolean
}

/**
 * Refreshes the hashes of one subtree.
 * @param known the stored root; if none of its pages has changed, the refresh keeps the root and does not read the
 * page hashes
 */
async function refreshSubtree(
  making: RefreshContext,
  of: TreeSubtree,
  known: StoredPageHash | undefined,
): Promise<{ hash: string; pages: number }> {
  const { journal, treeId, asOf, gen, due } = making
  const wanted = treePageNames.filter(page => due(treePagePkByName(treeId, of, page)))
  if (known && wanted.length === 0) return { hash: known.hash, pages: 0 }
  const pk = treePagePkByName(treeId, of, 'root')
  const hashes = await journal.pageHashes(pk)
  for (let index = 0; index < wanted.length; index += AT_ONCE)
    await Promise.all(
      wanted.slice(index, index + AT_ONCE).map(async page => {
        const next = { hash: await computePageHash(making, treePagePkByName(treeId, of, page)), asOf, gen }
        await journal.putPageHash(pk, page, next, hashes.get(page)?.hash)
        hashes.set(page, next)
      }),
    )
  return { hash: hashTreeRoot(treePageNames.map(page => hashes.get(page)?.hash ?? '')), pages: wanted.length }
}

/**
 * Returns the position that the stored root describes; -1 if that position is not in this journal's lineage, or if
 * a generation has ended since.
 */
export function refreshedTreePosition(
  root: StoredPageHash | undefined,
  { lineage }: Pick<JournalHead, 'lineage'>,
  gen: number,
): number {
  if (!root || root.gen !== gen) return -1
  const { epoch, seq } = parsePosition(root.asOf)
  return epochAt(lineage, seq) === epoch || seq === 0 ? seq : -1
}

/** Returns the partitions of the pages that the commits after `after`, up to and including `to`, have changed. */
async function changedPages(
  { journal, treeId, head, now }: TreeContext,
  after: number,
  to: number,
): Promise<ChosenTreePages> {
  if (after < head.retainedFrom || to - after > MANY) return 'all'
  const changed = new Set<string>()
  for (let at = after; at < to; at += WINDOW)
    for (const entry of await journal.entries(head.lineage, at, Math.min(at + WINDOW, to)))
      for (const { bucket } of computeBucketDeltas(treeId, entry?.body ?? [], now)) changed.add(bucket.pk)
  return changed
}

/**
 * Computes the hash of a page at the position of this refresh.
 * @throws ApiError `busy` when buckets contain changes whose journal entries cannot be read yet
 */
async function computePageHash({ journal, tail, at, now }: RefreshContext, pk: string): Promise<string> {
  for (let looks = 0; looks < LOOKS; looks++) {
    const hash = await computePageHashAt(pk, await journal.page(pk), { tail, at, now })
    if (hash !== undefined) return hash
  }
  throw treeAheadError()
}
