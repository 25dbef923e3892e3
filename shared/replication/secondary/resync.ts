import type { JournalHead } from '../../journal/head.ts'
import type { ItemPlace } from '../../journal/journal.ts'
import { termNeedsOfItems } from '../../journal/terms.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { putItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { pauseBeforeRetry } from '../apply/window.ts'
import {
  differenceReportName,
  listReportedPlaces,
  readReportedKeys,
  splitDifferenceReport,
  storeDifferenceReport,
} from '../sync/report.ts'
import {
  beginSync,
  continueSync,
  endSync,
  findRunningSync,
  type SyncContext,
  type SyncScope,
} from '../sync/sync.ts'
import { countRepairRound, shortKeyNames } from './diverging.ts'
import {
  type Follower,
  type FollowerProgress,
  fetchNeededTerms,
  type PrimaryState,
  sendHeartbeat,
  stopFollower,
} from './follower.ts'

/**
 * A sync: of all items, or of the items that an unfinished sync and this cluster's journal entries after the fork
 * point have touched.
 */
export interface SyncFollowUp {
  readonly do: 'sync'
  readonly what: 'all' | 'touched'
  /** `forkPoint` is the last position that both journals have in common; -1: no common position */
  readonly forkPoint: number
  /** whether this cluster's journal continues after the fork point */
  readonly diverged: boolean
}

/**
 * Continues the running sync, or begins a new sync.
 * @param wrong items that are known to differ from the primary's
 * @param compare whether the secondary compares itself with the primary after the sync; after a full sync the
 * secondary always does
 */
export async function continueOrBeginSync(
  follower: Follower,
  head: JournalHead,
  step: SyncFollowUp,
  wrong: readonly ItemPlace[] = [],
  compare = false,
): Promise<FollowerProgress> {
  const { own, cluster, link, linkName, treeId, hasTime, session } = follower
  const { source, reported } = session
  if (!link || !source) return 'stopped'
  reported.state = 'merkle-sync'
  delete session.comparison
  const place: SyncContext = {
    own,
    link,
    linkName,
    treeId,
    hasTime,
    prepare: items => fetchNeededTerms(follower, termNeedsOfItems(items)),
    seen: keys => {
      reported.synced += keys
    },
  }
  let running = await findRunningSync(place, head, source)
  if (!running) {
    reported.synced = 0
    const scope = await planSync({ own, cluster, source }, head, step, wrong)
    running = await beginSync(place, head, { ...scope, compare }, source)
    if (!running) return 'worked'
  }
  const syncing = await own.journal.head()
  if (syncing?.mode !== 'syncing' || syncing.incarnation !== running.incarnation) return 'worked'
  const keys = await readTouched(own.store, syncing)
  const carried = await continueSync(place, running, keys)
  if (carried === 'time') return 'waiting'
  if (carried === 'done') {
    const end = await sendHeartbeat(follower)
    if (syncing.lineage.length === 0) await noteFirstSync(own, treeId, await cluster())
    await endSync(place, running.incarnation, keys, end)
  } else await pauseBeforeRetry(own, 1)
  return 'worked'
}

/**
 * Counts a round for items that differ from the primary's, and begins a sync of the items that are not given up.
 * @param how `fault`: text for status if there are too many; `compare`: as for `continueOrBeginSync`
 * @returns undefined if all differing items are given up
 */
export async function syncDifferingItems(
  follower: Follower,
  head: JournalHead,
  wrong: readonly ItemPlace[],
  { fault, compare = false }: { fault: string; compare?: boolean },
): Promise<FollowerProgress | undefined> {
  const counted = await countRepairRound(follower, wrong)
  if (!counted.ok)
    return counted.fault === 'conflict'
      ? 'waiting'
      : stopFollower(follower.session.reported, `${fault}: ${shortKeyNames(wrong)}`)
  const left = counted.value
  if (left.length === 0) return undefined
  const step = { do: 'sync', what: 'touched', forkPoint: head.applied, diverged: false } as const
  return continueOrBeginSync(follower, head, step, left, compare)
}

/**
 * Stores for status that the first sync has built the tree. This note must be stored before the sync ends, because
 * after a crash in between no later run would store it.
 */
async function noteFirstSync(
  { clock, store }: Pick<Follower['own'], 'clock' | 'store'>,
  treeId: string,
  cluster: ClusterRead | undefined,
): Promise<void> {
  const now = clock.now()
  const reindex = {
    treeId,
    operation: treeId,
    startedAt: now,
    finishedAt: now,
    stage: 'done',
    done: 0,
    total: 0,
  } as const
  if (cluster) await store.commit([putItem(key('tree-reindex'), reindex)], cluster)
}

/** Reads the keys that an unfinished sync may have changed; returns no keys for a full sync. */
const readTouched = async (store: Ports['store'], { unfinishedSync }: JournalHead): Promise<ItemPlace[]> =>
  unfinishedSync === null || unfinishedSync === 'all' ? [] : readReportedKeys(store, unfinishedSync)

/**
 * Decides which items a sync fetches. Before the sync begins, the function stores a report with the journal entries
 * that the sync undoes and the keys that it may change.
 */
async function planSync(
  { own, cluster: read, source }: Pick<Follower, 'own' | 'cluster'> & { source: PrimaryState },
  head: JournalHead,
  step: SyncFollowUp,
  wrong: readonly ItemPlace[],
): Promise<SyncScope> {
  const forkPoint = lastSharedPosition(source, head, step)
  const lost =
    step.diverged && forkPoint < head.last
      ? await own.journal.entries(head.lineage, forkPoint, head.last)
      : []
  const entries = lost.filter(entry => entry !== undefined)
  // journal entries that DynamoDB has deleted cannot name the items that they changed
  const what = entries.length < lost.length ? 'all' : step.what
  if (what === 'all' && entries.length === 0) return { what }
  const cluster = await read()
  if (!cluster) throw new Error('this cluster follows no primary any more')
  const touched = what === 'all' ? [] : [...(await readTouched(own.store, head)), ...wrong]
  const facts = { at: own.clock.now(), epoch: source.epoch, forkPoint }
  const parts = splitDifferenceReport(facts, entries, touched)
  const report = differenceReportName(head.incarnation + 1, own.entropy.bytes(3))
  await storeDifferenceReport(own.store, cluster, report, parts)
  return what === 'all' ? { what } : { what, report, keys: listReportedPlaces(parts), start: forkPoint }
}

/**
 * Returns the last position of this cluster that the source may have. If the source was promoted during a sync, the
 * journals have no common position. Without a common position, the result is the position before the source's
 * lineage begins, because positions continue through all epochs of a set. A secondary cannot report positions below
 * `retainedFrom`.
 */
const lastSharedPosition = (
  { lineage }: Pick<PrimaryState, 'lineage'>,
  { retainedFrom }: JournalHead,
  { forkPoint }: SyncFollowUp,
): number => Math.max(retainedFrom, forkPoint >= 0 ? forkPoint : (lineage[0]?.[1] ?? 1) - 1)
