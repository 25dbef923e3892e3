import { alarmingTexts } from '../../api/alarming.ts'
import { lastEndedGeneration } from '../../journal/generation.ts'
import type { JournalHead } from '../../journal/head.ts'
import { allTreePages } from '../../journal/page-places.ts'
import { TREE_SUBTREES, treeRootsPk } from '../../journal/refresh.ts'
import { treePageNames, treePagePkByName } from '../../journal/tree.ts'
import type { FollowingPorts } from '../apply/window.ts'
import {
  type ComparisonPorts,
  findDifferenceSuspects,
  findStillDiffering,
  ITEMS_PER_COMPARISON,
  MAX_COMPARED_ITEMS,
  readItemsAtSource,
} from '../sync/compare.ts'
import { noteSegmentsCompared, readSyncSegments } from '../sync/segments.ts'
import { formatItemNames } from './diverging.ts'
import type { ComparisonState, Follower, FollowerProgress } from './follower.ts'
import { syncDifferingItems } from './resync.ts'

/** Milliseconds between two checks whether the hashes of this cluster's tree are computed. */
const TREE_LOOK_PAUSE_MS = 10_000

/**
 * Takes one step of the comparison with the primary after a full sync, page by page, while streaming continues. The
 * comparison begins after the hashes of this cluster's tree are computed. A sync fetches the items that differ, and
 * the next comparison compares these items again.
 * @returns `waiting`: there is nothing to compare, or the comparison cannot begin yet
 * @see docs/spec/following.md#syncs
 */
export async function takeComparisonStep(follower: Follower): Promise<FollowerProgress> {
  const { link, own, treeId, session } = follower
  if (!link || session.roleChangePending !== false) return 'waiting'
  session.comparison ??= await findComparison(own, treeId)
  const { kind } = session.comparison
  if (kind === 'none' || (kind === 'due' && session.comparison.notBefore > own.clock.now())) return 'waiting'
  const head = await own.journal.head()
  if (head?.mode !== 'applying' || head.unfinishedSync !== null) return 'waiting'
  if (session.comparison.kind === 'due') session.comparison = await beginComparison(own, treeId, link)
  const { comparison } = session
  if (comparison.kind !== 'comparing') return 'waiting'
  const ports = { journal: own.journal, treeId, now: Math.floor(own.clock.now() / 1000), link }
  const compared = await compareNextPart(ports, head, comparison)
  if (compared !== 'done') return compared
  session.comparison = { kind: 'none' }
  const { found } = comparison
  if (found.length > 0) {
    own.log.error(`${alarmingTexts.items} after a sync`, {
      count: found.length,
      items: formatItemNames(found),
    })
    const begun = await syncDifferingItems(follower, head, found, {
      fault: 'more items differ from the primary’s than this cluster can track',
      compare: true,
    })
    if (begun) return begun
  }
  await noteSegmentsCompared(own)
  return 'waiting'
}

/** Reads from the segments of the last sync whether a comparison of the sync's items is still due. */
async function findComparison(own: FollowingPorts, treeId: string): Promise<ComparisonState> {
  const segments = await readSyncSegments(own)
  return segments.every(
    ({ data }) => data?.treeId === treeId && data.phase === 'closed' && data.compare === true,
  )
    ? { kind: 'due', notBefore: 0 }
    : { kind: 'none' }
}

/**
 * Finds the pages whose hashes differ from the primary's. The function waits until this cluster's hashes are
 * computed after the sync.
 */
async function beginComparison(
  { journal, clock }: FollowingPorts,
  treeId: string,
  link: ComparisonPorts['link'],
): Promise<ComparisonState> {
  const roots = await journal.pageHashes(treeRootsPk(treeId))
  const ended = lastEndedGeneration(Math.floor(clock.now() / 1000))
  if (!TREE_SUBTREES.every(of => roots.get(of)?.gen === ended))
    return { kind: 'due', notBefore: clock.now() + TREE_LOOK_PAUSE_MS }
  const [own, { hashes }] = await Promise.all([
    Promise.all(TREE_SUBTREES.map(of => journal.pageHashes(treePagePkByName(treeId, of, 'root')))),
    link.tree({ level: 'root' }),
  ])
  const pages = allTreePages.filter(({ of, page }, index) => {
    const mine = own[TREE_SUBTREES.indexOf(of)]?.get(treePageNames[page] ?? '')?.hash
    return mine !== hashes[index]
  })
  return { kind: 'comparing', pages, suspects: [], found: [] }
}

/**
 * Compares the next page, or checks some suspects.
 * @returns `done`: the comparison is complete; `waiting`: this cluster has not applied all entries that the primary
 * had written by the last look
 */
async function compareNextPart(
  ports: ComparisonPorts,
  { applied }: JournalHead,
  comparison: ComparisonState & { kind: 'comparing' },
): Promise<'worked' | 'waiting' | 'done'> {
  const { pages, suspects, sample, found } = comparison
  const [page] = pages
  if (page) {
    // one page at a time, because new journal entries wait meanwhile; a page whose calls fail stays in the list
    const keys = await findDifferenceSuspects(ports, page)
    pages.shift()
    suspects.push(...keys.slice(0, MAX_COMPARED_ITEMS - suspects.length))
    return 'worked'
  }
  if (sample) {
    if (applied < sample.seq) return 'waiting'
    found.push(...(await findStillDiffering(ports, sample)))
    delete comparison.sample
    return 'worked'
  }
  if (suspects.length === 0) return 'done'
  comparison.sample = await readItemsAtSource(ports, suspects.slice(0, ITEMS_PER_COMPARISON))
  suspects.splice(0, ITEMS_PER_COMPARISON)
  return 'worked'
}
