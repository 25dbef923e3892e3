import type { JournalHead } from '../../journal/head.ts'
import type { ItemPlace } from '../../journal/journal.ts'
import { epochNumber, isSameLineage, type JournalLineage } from '../../journal/position.ts'
import { invalidateTreeHashes } from '../../journal/refresh.ts'
import { headMoves } from '../../journal/transitions.ts'
import type { HeartbeatAnswer } from '../../link/source.ts'
import type { SourceLink } from '../../link/source-link.ts'
import type { SyncSegment } from '../../model/secondary.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { bounds } from '../../values/bounds.ts'
import { defined } from '../../values/defined.ts'
import type { FollowingPorts } from '../apply/window.ts'
import { differenceReportName, splitDifferenceReport, storeDifferenceReport } from './report.ts'
import { fetchSyncSegment, type HeldSyncSegment, openSyncSegments, readSyncSegments } from './segments.ts'

/** The items that a sync fetches: all, or the keys in a stored report, replayed from position `start`. */
export type SyncScope = {
  /** compare all items afterwards; a full sync always does */ readonly compare?: boolean
} & (
  | { readonly what: 'all' }
  | {
      readonly what: 'touched'
      readonly report: string
      readonly keys: readonly ItemPlace[]
      readonly start: number
    }
)

export interface SyncContext {
  own: FollowingPorts
  link: SourceLink
  /** `linkName`: if the head names another link, this link was replaced */
  linkName: string
  /** id of this cluster's tree */
  treeId: string
  hasTime: () => boolean
  /** `prepare` is called before items are stored */
  prepare: (items: readonly StoredItem[]) => Promise<void>
  /** `seen` is called with the number of keys seen, for status */
  seen: (keys: number) => void
}

/** A running sync. */
interface Running {
  readonly incarnation: number
  /** `fresh`: whether all items in this cluster's tree come from this sync */
  readonly fresh: boolean
  readonly segments: readonly HeldSyncSegment[]
}

/** Returns the running sync if it began with the source's current lineage. */
export async function findRunningSync(
  { own, treeId }: SyncContext,
  head: JournalHead,
  source: { lineage: JournalLineage },
): Promise<Running | undefined> {
  if (head.mode !== 'syncing') return undefined
  const segments = await readSyncSegments(own)
  const goesOn = segments.every(
    ({ data }) =>
      data?.incarnation === head.incarnation &&
      data.treeId === treeId &&
      isSameLineage(data.lineage, source.lineage),
  )
  const fresh = segments.some(({ data }) => data?.fresh === true)
  return goesOn ? { incarnation: head.incarnation, fresh, segments } : undefined
}

/**
 * Begins a sync: the head's mode becomes `syncing`, and the head names the items that the sync may change.
 * @param source a fresh heartbeat answer
 * @returns undefined if another run has changed the head or works on the segments; the caller then decides again
 */
export async function beginSync(
  { own, link, linkName, treeId }: SyncContext,
  head: JournalHead,
  scope: SyncScope,
  source: HeartbeatAnswer,
): Promise<Running | undefined> {
  const start = scope.what === 'all' ? await findReplayStart(link, source) : scope.start
  // An empty cluster whose tree has never been filled: all items will come from this source. A former primary has a
  // lineage, and items that no sync has brought.
  const isEmpty = head.lineage.length === 0
  const fresh =
    scope.what === 'all' &&
    isEmpty &&
    (await readSyncSegments(own)).every(({ data }) => data?.treeId !== treeId)
  const touches = scope.what === 'all' ? 'all' : scope.report
  const moved = await own.journal.moveHead(headMoves.beginSync({ ...head, link: linkName }, touches))
  if (moved === 'refused') return undefined
  const segment: SyncSegment = defined({
    incarnation: moved.incarnation,
    treeId,
    scope: scope.what,
    start,
    lineage: source.lineage.map(([epoch, at]) => [epoch, at] as const),
    phase: 'source',
    seen: 0,
    fresh: fresh || undefined,
    compare: scope.what === 'all' || scope.compare || undefined,
  })
  const segments = await openSyncSegments(own, segment)
  return segments === 'lost' ? undefined : { incarnation: moved.incarnation, fresh, segments }
}

/**
 * Makes this cluster's items equal to the source's items. After the sync the journal is replayed from a position
 * before the first read to a position after the last read, which makes the items consistent.
 * @param keys the keys of a partial sync
 * @returns `time`: time ran out, so the caller continues later; `lost`: another run works on the segments
 */
export async function continueSync(
  place: SyncContext,
  running: Running,
  keys: readonly ItemPlace[],
): Promise<'done' | 'time' | 'lost'> {
  const work = { ...place, keys, fresh: running.fresh }
  const ends = await Promise.all(running.segments.map(one => fetchSyncSegment(work, one)))
  if (ends.includes('lost')) return 'lost'
  return ends.includes('time') ? 'time' : 'done'
}

/**
 * Ends a sync whose segments are all closed, unless another run has changed the head or the source has another lineage.
 * @param source a heartbeat answer from after the last read
 */
export async function endSync(
  { own, linkName }: SyncContext,
  incarnation: number,
  keys: readonly ItemPlace[],
  source: HeartbeatAnswer,
): Promise<void> {
  const [[first], head] = await Promise.all([readSyncSegments(own), own.journal.head()])
  const segment = first?.data
  if (!head || segment?.incarnation !== incarnation || !isSameLineage(segment.lineage, source.lineage)) return
  // fetched items have changed the sums without any journal entry
  await invalidateTreeHashes(own.journal, segment.treeId)
  const { scope, start, lineage } = segment
  const end = { what: scope, start, lineage, hasFetched: keys.length > 0, end: source }
  const seen = { ...head, mode: 'syncing', incarnation, link: linkName } as const
  await own.journal.moveHead(headMoves.endSync(seen, end))
}

/**
 * Finds the position at which the replay after a full sync begins. All journal entries of the last minute come
 * after this position.
 * @param frontier of the source: no journal entry below it is missing
 * @param time of the source, epoch milliseconds
 */
export async function findReplayStart(
  link: Pick<SourceLink, 'entries'>,
  { lineage, frontier, time }: { lineage: JournalLineage; frontier: number; time: number },
): Promise<number> {
  let low = 0
  let high = frontier
  // Binary search for the lowest position with a younger journal entry. Positions below the source's retained
  // positions count as older.
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const answer = await link.entries({ lineage, after: middle, maxBytes: 1 })
    if (answer.kind === 'trimmed') low = Math.max(middle + 1, answer.retainedFrom)
    else if (answer.kind === 'diverged')
      throw new Error('the source changed its lineage while this cluster read the lineage')
    else if ((answer.entries[0]?.at ?? time) >= time - bounds.REPLAY_MARGIN_MS) high = middle
    else low = middle + 1
  }
  return Math.min(low, frontier)
}

/**
 * Stops a sync that cannot continue. After the stop every late write of the sync is rejected. The head still names
 * the items that the stopped sync may have changed.
 * @returns the head, still `syncing`, with a new incarnation; undefined if another run has changed the head
 */
export async function stopSync(
  own: FollowingPorts,
  treeId: string,
  head: JournalHead,
): Promise<JournalHead | undefined> {
  // fetched items may belong to epochs of which this cluster has no journal entry
  const lines = (await readSyncSegments(own)).flatMap(({ data }) => data?.lineage ?? [])
  const n = Math.max(head.maxEpoch, ...lines.map(([epoch]) => epochNumber(epoch)))
  const moved = await own.journal.moveHead(headMoves.stopSync(head, n))
  if (moved === 'refused') return undefined
  // the head has no lineage, so that no run continues the sync
  const segments = await openSyncSegments(own, {
    incarnation: moved.incarnation,
    treeId,
    scope: 'touched',
    start: head.last,
    lineage: [],
    phase: 'closed',
    seen: 0,
  })
  return segments === 'lost' ? undefined : moved
}

/**
 * Stores keys whose items differ from the primary's. The next sync fetches these keys before the applier writes
 * anything else.
 * @returns `busy` while a sync is running
 */
export async function requestSync(
  { journal, store, clock, entropy }: Pick<Ports, 'journal' | 'store' | 'clock' | 'entropy'>,
  cluster: ClusterRead,
  places: readonly ItemPlace[],
): Promise<'done' | 'busy'> {
  const head = await journal.head()
  if (head?.mode !== 'applying' || head.replayUntil > 0 || head.unfinishedSync !== null) return 'busy'
  const facts = { at: clock.now(), epoch: head.epoch, forkPoint: head.applied }
  const report = differenceReportName(head.incarnation + 1, entropy.bytes(3))
  await storeDifferenceReport(store, cluster, report, splitDifferenceReport(facts, [], places))
  const moved = await journal.moveHead(headMoves.requestSync(head, report))
  return moved === 'refused' ? 'busy' : 'done'
}
