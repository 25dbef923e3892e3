import { alarming } from '../../api/alarming.ts'
import { lastEnded } from '../../journal/generation.ts'
import type { Head } from '../../journal/head.ts'
import type { Place } from '../../journal/journal.ts'
import { allPages, type PagePlace } from '../../journal/page-places.ts'
import { rootsPk, SUBTREES } from '../../journal/refresh.ts'
import { pageNames, pagePk } from '../../journal/tree.ts'
import {
  type Beside,
  COMPARED_AT_ONCE,
  differingIn,
  findStillDiffering,
  lookAtSource,
  MOST_COMPARED,
} from '../sync/compare.ts'
import { noteCompared, readSegments } from '../sync/segments.ts'
import { countRound, tagsOf } from './diverging.ts'
import { type Comparison, type Follower, type Progress, stopWith } from './follower.ts'
import { resync } from './resync.ts'

/** Milliseconds between two looks whether the hashes of the own tree are computed. */
const LOOK_MS = 10_000

/**
 * A step of the comparison with the primary after a full sync, page by page, while everything else goes on. It begins once
 * the hashes of the own tree are computed. Items that differ are fetched, and compared again.
 * @returns `waiting`: there is nothing to compare, or not yet
 * @see docs/spec/following.md#syncs
 */
export async function compareOn(follower: Follower): Promise<Progress> {
  const { link, own, treeId, session } = follower
  if (!link || session.roleChangePending !== false) return 'waiting'
  session.comparison ??= await isDue(follower)
  const { comparison } = session
  if (comparison === 'none' || (comparison.notBefore ?? 0) > own.clock.now()) return 'waiting'
  const head = await own.journal.head()
  if (head?.mode !== 'applying' || head.unfinishedSync !== null) return 'waiting'
  comparison.pages ??= await differingPages({ own, treeId, link })
  if (!comparison.pages) {
    comparison.notBefore = own.clock.now() + LOOK_MS
    return 'waiting'
  }
  const beside = { journal: own.journal, treeId, now: Math.floor(own.clock.now() / 1000), link }
  return compareSome(follower, head, comparison, { beside, pages: comparison.pages })
}

/** Whether the last sync is to be compared, and has not been. */
async function isDue({ own, treeId }: Follower): Promise<Comparison | 'none'> {
  const segments = await readSegments(own)
  return segments.every(
    ({ data }) => data?.treeId === treeId && data.phase === 'closed' && data.compare === true,
  )
    ? { suspects: [], found: [] }
    : 'none'
}

/** Pages whose hashes are not the primary's; undefined while the own ones are those from before the sync. */
async function differingPages({
  own: { journal, clock },
  treeId,
  link,
}: Pick<Follower, 'own' | 'treeId'> & Pick<Beside, 'link'>): Promise<PagePlace[] | undefined> {
  const roots = await journal.pageHashes(rootsPk(treeId))
  const ended = lastEnded(Math.floor(clock.now() / 1000))
  if (!SUBTREES.every(of => roots.get(of)?.gen === ended)) return undefined
  const [own, { hashes }] = await Promise.all([
    Promise.all(SUBTREES.map(of => journal.pageHashes(pagePk(treeId, of, 'root')))),
    link.tree({ level: 'root' }),
  ])
  return allPages.filter(({ of, page }, index) => {
    const mine = own[SUBTREES.indexOf(of)]?.get(pageNames[page] ?? '')?.hash
    return mine !== hashes[index]
  })
}

/** Puts back pages whose questions failed. */
async function compareSome(
  follower: Follower,
  head: Head,
  comparison: Comparison,
  { beside, pages }: { beside: Beside; pages: PagePlace[] },
): Promise<Progress> {
  const { suspects, looked, found } = comparison
  const [page] = pages
  if (page) {
    // one page at a time, because new journal entries wait meanwhile
    const keys = await differingIn(beside, page)
    pages.shift()
    suspects.push(...keys.slice(0, MOST_COMPARED - suspects.length))
    return 'worked'
  }
  if (looked) {
    if (head.applied < looked.seq) return 'waiting'
    found.push(...(await findStillDiffering(beside, looked)))
    delete comparison.looked
    return 'worked'
  }
  if (suspects.length > 0) {
    comparison.looked = await lookAtSource(beside, suspects.slice(0, COMPARED_AT_ONCE))
    suspects.splice(0, COMPARED_AT_ONCE)
    return 'worked'
  }
  return conclude(follower, head, found)
}

/** Requests a sync of the keys that differ, except given-up ones. */
async function conclude(follower: Follower, head: Head, found: readonly Place[]): Promise<Progress> {
  const { own } = follower
  follower.session.comparison = 'none'
  if (found.length === 0) {
    await noteCompared(own)
    return 'waiting'
  }
  const items = found.slice(0, 10).map(({ kind, pk, sk }) => `${kind} ${pk}/${sk}`)
  own.log.error(`${alarming.items} after a sync`, { count: found.length, items })
  const left = await countRound(follower, found)
  if (left === 'again') return 'waiting'
  if (left === 'stop')
    return stopWith(follower, `more items than can be kept are not as the primary has them: ${tagsOf(found)}`)
  if (left.length === 0) {
    await noteCompared(own)
    return 'waiting'
  }
  return resync(
    follower,
    head,
    { do: 'sync', what: 'touched', forkPoint: head.applied, diverged: false },
    left,
    true,
  )
}
