import { alarmingTexts } from '../../api/alarming.ts'
import { lastEndedGeneration } from '../../journal/generation.ts'
import type { JournalHead } from '../../journal/head.ts'
import { allTreePages } from '../../journal/page-places.ts'
import { TREE_SUBTREES, treeRootsPk } from '../../journal/refresh.ts'
import { treePageNames, treePagePkByName } from '../../journal/tree.ts'
import type { OwnPorts } from '../apply/window.ts'
import {
  COMPARED_AT_ONCE,
  type ComparisonPorts,
  findStillDiffering,
  findSuspects,
  MOST_COMPARED,
  readAtSource,
} from '../sync/compare.ts'
import { noteCompared, readSegments } from '../sync/segments.ts'
import { nameItems } from './diverging.ts'
import type { Comparison, Follower, Progress } from './follower.ts'
import { syncDiffering } from './resync.ts'

/** Milliseconds between two checks whether the hashes of this cluster's tree are computed. */
const TREE_LOOK_PAUSE_MS = 10_000

/**
 * Takes one step of the comparison with the primary after a full sync, page by page, while streaming continues. It begins
 * after the hashes of this cluster's tree are computed. A sync fetches the items that differ, and they are compared again.
 * @returns `waiting`: there is nothing to compare, or not yet
 * @see docs/spec/following.md#syncs
 */
export async function takeComparisonStep(follower: Follower): Promise<Progress> {
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
    own.log.error(`${alarmingTexts.items} after a sync`, { count: found.length, items: nameItems(found) })
    const begun = await syncDiffering(follower, head, found, {
      fault: 'more items differ from the primary’s than this cluster remembers',
      compare: true,
    })
    if (begun) return begun
  }
  await noteCompared(own)
  return 'waiting'
}

/** Reads from the segments of the last sync whether its items must still be compared. */
async function findComparison(own: OwnPorts, treeId: string): Promise<Comparison> {
  const segments = await readSegments(own)
  return segments.every(
    ({ data }) => data?.treeId === treeId && data.phase === 'closed' && data.compare === true,
  )
    ? { kind: 'due', notBefore: 0 }
    : { kind: 'none' }
}

/** Finds the pages whose hashes differ from the primary's. Waits until this cluster's hashes are computed after the sync. */
async function beginComparison(
  { journal, clock }: OwnPorts,
  treeId: string,
  link: ComparisonPorts['link'],
): Promise<Comparison> {
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
 * @returns `done`: nothing is left; `waiting`: entries that the primary had written by the last look are not applied here
 * yet
 */
async function compareNextPart(
  ports: ComparisonPorts,
  { applied }: JournalHead,
  comparison: Comparison & { kind: 'comparing' },
): Promise<'worked' | 'waiting' | 'done'> {
  const { pages, suspects, sample, found } = comparison
  const [page] = pages
  if (page) {
    // one page at a time, because new journal entries wait meanwhile; a page whose calls fail stays in the list
    const keys = await findSuspects(ports, page)
    pages.shift()
    suspects.push(...keys.slice(0, MOST_COMPARED - suspects.length))
    return 'worked'
  }
  if (sample) {
    if (applied < sample.seq) return 'waiting'
    found.push(...(await findStillDiffering(ports, sample)))
    delete comparison.sample
    return 'worked'
  }
  if (suspects.length === 0) return 'done'
  comparison.sample = await readAtSource(ports, suspects.slice(0, COMPARED_AT_ONCE))
  suspects.splice(0, COMPARED_AT_ONCE)
  return 'worked'
}
