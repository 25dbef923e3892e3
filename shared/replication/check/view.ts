import { findDenseFrontier } from '../../journal/density.ts'
import { lastEndedGeneration } from '../../journal/generation.ts'
import type { JournalHead } from '../../journal/head.ts'
import type { Journal, StoredPageHash } from '../../journal/journal.ts'
import {
  refreshedTreePosition,
  refreshTreeHashes,
  TREE_SUBTREES,
  type TreeSubtree,
  treeRootsPk,
} from '../../journal/refresh.ts'
import { roleChangedError, treeIncompleteError } from '../../journal/refusals.ts'
import { type JournalTail, openJournalTail } from '../../journal/tail.ts'
import { treePagePkByName } from '../../journal/tree.ts'
import type { Ports } from '../../ports.ts'
import { ok, PENDING_RESULT } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import { createTreeTally, type TreeTally } from './tally.ts'

/** A tree during a check. */
export interface CheckedTreeView {
  readonly journal: Journal
  readonly clock: Ports['clock']
  readonly treeId: string
  /** `head` is the journal head at the beginning of the check */
  readonly head: JournalHead
  /** epoch seconds: generations that ended before `now` do not count */
  readonly now: number
  readonly tally: TreeTally
  /** journal entries from shortly before the beginning */
  readonly tail: JournalTail
  /** `hashes` are the tree's hashes as of the last look */
  hashes: StoredHashes
}

/** The stored hashes of a tree. */
export interface StoredHashes {
  readonly roots: ReadonlyMap<string, StoredPageHash>
  readonly pages: Readonly<Record<TreeSubtree, ReadonlyMap<string, StoredPageHash>>>
  /** `isSettled`: whether all hashes are of one position, so that no refresh is running */
  readonly isSettled: boolean
}

/**
 * Number of positions before the beginning whose keys the check reads from the journal, because the index may lag
 * behind. If the hashes are older than these positions, the check refreshes the hashes first.
 */
const BEFORE = 1000
/**
 * Begins a check of a tree.
 * @throws ApiError `busy` while a sync fills the tree, or while its first hashes are computed
 */
export async function beginTreeView(
  { journal, clock }: Pick<CheckedTreeView, 'journal' | 'clock'>,
  treeId: string,
): Promise<CheckedTreeView> {
  const head = await journal.head()
  const now = Math.floor(clock.now() / 1000)
  if (!head || head.mode === 'syncing' || head.replayUntil > 0) throw treeIncompleteError()
  const dense = head.mode === 'writing' ? await findDenseFrontier(journal, head) : head.applied
  const known = async (): Promise<number> => {
    const roots = await journal.pageHashes(treeRootsPk(treeId))
    return Math.min(
      ...TREE_SUBTREES.map(of => refreshedTreePosition(roots.get(of), head, lastEndedGeneration(now))),
    )
  }
  const oldest = Math.max(head.retainedFrom, dense - BEFORE)
  if ((await known()) < oldest) await refreshTreeHashes({ journal, treeId, head, now })
  const first = await known()
  if (first < head.retainedFrom) throw treeIncompleteError()
  const after = Math.max(head.retainedFrom, Math.min(first, dense - BEFORE))
  return {
    journal,
    clock,
    treeId,
    head,
    now,
    tally: createTreeTally(treeId, now),
    tail: openJournalTail(journal, { treeId, lineage: head.lineage, after, now }),
    hashes: await readHashes({ journal, treeId }),
  }
}

/** Reads all stored hashes of a tree while its roots stay the same. */
async function readHashes({
  journal,
  treeId,
}: Pick<CheckedTreeView, 'journal' | 'treeId'>): Promise<StoredHashes> {
  const before = await journal.pageHashes(treeRootsPk(treeId))
  const [replicated, local] = await Promise.all(
    TREE_SUBTREES.map(of => journal.pageHashes(treePagePkByName(treeId, of, 'root'))),
  )
  const roots = await journal.pageHashes(treeRootsPk(treeId))
  const pages = { replicated: replicated ?? new Map(), local: local ?? new Map() }
  const asOf = roots.get('replicated')?.asOf ?? ''
  const isSettled =
    [...roots].every(([name, root]) => root.asOf === asOf && before.get(name)?.asOf === asOf) &&
    TREE_SUBTREES.every(of => [...pages[of].values()].every(page => page.asOf <= asOf))
  return { roots, pages, isSettled }
}

/** Reads the newer journal entries and the hashes again. The check calls this function before each look. */
export async function refreshTreeView(view: CheckedTreeView): Promise<void> {
  const head = await view.journal.head()
  if (head?.incarnation !== view.head.incarnation || head.epoch !== view.head.epoch) throw roleChangedError()
  await view.tail.readUpTo(head.last)
  view.hashes = await settledHashes(view)
}

const SETTLING = 20
const VIEW_SETTLING_PAUSE_MS = 100

async function settledHashes(view: CheckedTreeView): Promise<StoredHashes> {
  let hashes = await readHashes(view)
  await retryOnConflict({ tries: SETTLING }, async () => {
    if (hashes.isSettled) return ok()
    await view.clock.sleep(VIEW_SETTLING_PAUSE_MS)
    hashes = await readHashes(view)
    return PENDING_RESULT
  })
  return hashes
}
