import type { Head } from '../../journal/head.ts'
import type { Place } from '../../journal/journal.ts'
import { needsOf } from '../../journal/terms.ts'
import { pauseBefore } from '../apply/window.ts'
import { keysIn, reportedKeys, reportName, reportParts, storeReport } from '../sync/report.ts'
import { begin, carryOn, endSync, type Scope, type SyncPlace, underWay } from '../sync/sync.ts'
import { ask, type Follower, holdFor, type Progress } from './follower.ts'

/** A sync: of all items, or of those that own cells beyond the cut and an unfinished sync have touched. */
export interface SyncStep {
  readonly do: 'sync'
  readonly what: 'all' | 'touched'
  /** the last position that both journals have in common, -1: none */
  readonly cut: number
  /** the own journal goes on beyond it */
  readonly diverged: boolean
}

/**
 * Goes on with the sync that is under way, or begins one.
 * @param wrong items that were found not to be as the primary has them
 * @param compare whether all is compared with the primary afterwards; after a sync of everything it is in any case
 */
export async function resync(
  follower: Follower,
  head: Head,
  step: SyncStep,
  wrong: readonly Place[] = [],
  compare = false,
): Promise<Progress> {
  const { own, link, life, hasTime, session } = follower
  const { source, reported } = session
  if (!link || !source) return 'stopped'
  reported.state = 'merkle-sync'
  delete session.comparison
  const place: SyncPlace = {
    own,
    link,
    linkName: follower.linkName,
    life,
    hasTime,
    prepare: items => holdFor(follower, needsOf(items)),
    seen: keys => {
      reported.synced += keys
    },
  }
  const running = await underWay(place, head, source)
  if (running) return toItsEnd(follower, place, running)
  reported.synced = 0
  const begun = await begin(place, head, { ...(await scopeOf(follower, head, step, wrong)), compare }, source)
  return begun === 'again' ? 'worked' : toItsEnd(follower, place, begun)
}

async function toItsEnd(
  follower: Follower,
  place: SyncPlace,
  running: Parameters<typeof carryOn>[1],
): Promise<Progress> {
  const { own } = follower
  const head = await own.journal.head()
  if (head?.mode !== 'syncing' || head.hold !== running.hold) return 'worked'
  const keys = await touchedBefore(follower, head)
  const carried = await carryOn(place, running, keys)
  if (carried === 'time') return 'waiting'
  if (carried === 'done') await endSync(place, running.hold, keys, await ask(follower))
  else await pauseBefore(own, 1)
  return 'worked'
}

/** What an unfinished sync may have touched, but for one of everything. */
const touchedBefore = async ({ own }: Follower, { dirty }: Head): Promise<Place[]> =>
  dirty === null || dirty === 'all' ? [] : reportedKeys(own.store, dirty)

/**
 * What a sync is about. A report of the cells that it takes away, and of the keys that it may touch, is stored before
 * it begins.
 */
async function scopeOf(
  follower: Follower,
  head: Head,
  step: SyncStep,
  wrong: readonly Place[],
): Promise<Scope> {
  const { own } = follower
  const cut = lastShared(follower, head, step)
  const lost = step.diverged && cut < head.seq ? await own.journal.cells(head.line, cut, head.seq) : []
  const cells = lost.filter(cell => cell !== undefined)
  // cells that the engine has deleted cannot say what they changed
  const what = cells.length < lost.length ? 'all' : step.what
  if (what === 'all' && cells.length === 0) return { what }
  const cluster = await follower.cluster()
  if (!cluster) throw new Error('this cluster follows nobody any more')
  const touched = what === 'all' ? [] : [...(await touchedBefore(follower, head)), ...wrong]
  const facts = { at: own.clock.now(), epoch: follower.session.source?.epoch ?? '', cut }
  const parts = reportParts(facts, cells, touched)
  const report = reportName(head.hold + 1, own.entropy.bytes(3))
  await storeReport(own.store, cluster, report, parts)
  return what === 'all' ? { what } : { what, report, keys: keysIn(parts), start: cut }
}

/**
 * The last own position that the source may have. Where no journal leads from here to there, because the source was
 * promoted amid a sync, it is the one before its lineage begins: positions count on through all epochs of a set. What is
 * not kept of the own journal cannot be told any more.
 */
const lastShared = ({ session: { source } }: Follower, { from }: Head, { cut }: SyncStep): number =>
  Math.max(from, cut >= 0 ? cut : (source?.line[0]?.[1] ?? 1) - 1)
