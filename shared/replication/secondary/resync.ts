import type { Head } from '../../journal/head.ts'
import type { Place } from '../../journal/journal.ts'
import { needsOf } from '../../journal/terms.ts'
import { put } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { pauseBefore } from '../apply/window.ts'
import { keysIn, readReportedKeys, reportName, reportParts, storeReport } from '../sync/report.ts'
import { begin, carryOn, endSync, findRunningSync, type Scope, type SyncPlace } from '../sync/sync.ts'
import { ask, type Follower, holdFor, type Progress } from './follower.ts'

/** A sync: of all items, or of those that own journal entries behind the fork point and an unfinished sync have touched. */
export interface SyncStep {
  readonly do: 'sync'
  readonly what: 'all' | 'touched'
  /** the last position that both journals have in common, -1: none */
  readonly forkPoint: number
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
  const { own, link, treeId, hasTime, session } = follower
  const { source, reported } = session
  if (!link || !source) return 'stopped'
  reported.state = 'merkle-sync'
  delete session.comparison
  const place: SyncPlace = {
    own,
    link,
    linkName: follower.linkName,
    treeId,
    hasTime,
    prepare: items => holdFor(follower, needsOf(items)),
    seen: keys => {
      reported.synced += keys
    },
  }
  const running = await findRunningSync(place, head, source)
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
  if (head?.mode !== 'syncing' || head.incarnation !== running.incarnation) return 'worked'
  const keys = await touchedBefore(follower, head)
  const carried = await carryOn(place, running, keys)
  if (carried === 'time') return 'waiting'
  if (carried === 'done') {
    const source = await ask(follower)
    if (head.lineage.length === 0) await noteFirstSync(follower)
    await endSync(place, running.incarnation, keys, source)
  } else await pauseBefore(own, 1)
  return 'worked'
}

/**
 * Notes that the tree was made by the first sync, as status shows it. It is noted before the sync ends, because nobody
 * would note it after a crash in between; a sync that does not end is noted again.
 */
async function noteFirstSync({ own, treeId, cluster }: Follower): Promise<void> {
  const as = await cluster()
  const now = own.clock.now()
  const made = {
    treeId,
    operation: treeId,
    startedAt: now,
    finishedAt: now,
    stage: 'done',
    done: 0,
    total: 0,
  } as const
  if (as) await own.store.commit([put(key('tree-reindex'), made)], as)
}

/** What an unfinished sync may have touched, but for one of everything. */
const touchedBefore = async ({ own }: Follower, { unfinishedSync }: Head): Promise<Place[]> =>
  unfinishedSync === null || unfinishedSync === 'all' ? [] : readReportedKeys(own.store, unfinishedSync)

/**
 * What a sync is about. A report of the journal entries that it takes away, and of the keys that it may touch, is stored before
 * it begins.
 */
async function scopeOf(
  follower: Follower,
  head: Head,
  step: SyncStep,
  wrong: readonly Place[],
): Promise<Scope> {
  const { own } = follower
  const forkPoint = lastShared(follower, head, step)
  const lost =
    step.diverged && forkPoint < head.last
      ? await own.journal.entries(head.lineage, forkPoint, head.last)
      : []
  const entries = lost.filter(entry => entry !== undefined)
  // journal entries that the engine has deleted cannot say what they changed
  const what = entries.length < lost.length ? 'all' : step.what
  if (what === 'all' && entries.length === 0) return { what }
  const cluster = await follower.cluster()
  if (!cluster) throw new Error('this cluster follows nobody any more')
  const touched = what === 'all' ? [] : [...(await touchedBefore(follower, head)), ...wrong]
  const facts = { at: own.clock.now(), epoch: follower.session.source?.epoch ?? '', forkPoint }
  const parts = reportParts(facts, entries, touched)
  const report = reportName(head.incarnation + 1, own.entropy.bytes(3))
  await storeReport(own.store, cluster, report, parts)
  return what === 'all' ? { what } : { what, report, keys: keysIn(parts), start: forkPoint }
}

/**
 * The last own position that the source may have. Where no journal leads from here to there, because the source was
 * promoted amid a sync, it is the one before its lineage begins: positions count on through all epochs of a set. What is
 * not kept of the own journal cannot be told any more.
 */
const lastShared = (
  { session: { source } }: Follower,
  { retainedFrom }: Head,
  { forkPoint }: SyncStep,
): number => Math.max(retainedFrom, forkPoint >= 0 ? forkPoint : (source?.lineage[0]?.[1] ?? 1) - 1)
