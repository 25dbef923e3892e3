import { endOwnEpoch } from '../../journal/density.ts'
import type { JournalHead } from '../../journal/head.ts'
import type { ItemPlace, Journal } from '../../journal/journal.ts'
import type { JournalEntry } from '../../journal/journal-entry.ts'
import { compareLineages, epochAt, type JournalLineage } from '../../journal/position.ts'
import { hasNeededTerms, type TermNeeds, termNeedsOfEntries } from '../../journal/terms.ts'
import { headMoves } from '../../journal/transitions.ts'
import type { EntriesAnswer } from '../../link/source.ts'
import type { SourceLink } from '../../link/source-link.ts'
import { pauseBeforeRetry } from '../apply/window.ts'
import { takeComparisonStep } from './comparison.ts'
import { formatItemNames } from './diverging.ts'
import {
  type Follower,
  type FollowerProgress,
  type FollowerSession,
  fetchNeededTerms,
  isHeartbeatOutdated,
  isLinkReplaced,
  type PrefetchedEntries,
  type PrimaryState,
  type StreamState,
  sendHeartbeat,
  stopFollower,
} from './follower.ts'
import { continueOrBeginSync, type SyncFollowUp, syncDifferingItems } from './resync.ts'
import { applyStagedEntries, type StagedEntriesOutcome, stopStagingEntries } from './staged.ts'

/** Maximum size of the journal entries in one answer, bytes. */
const BYTES = 3 * 2 ** 20
/** If an answer has at least this many journal entries, the primary probably has more. */
const BEHIND = 200

/** Takes one step of following the primary. Steps may run concurrently, and may be interrupted at any point. */
export async function takeFollowStep(follower: Follower): Promise<FollowerProgress> {
  const { own, treeId, session } = follower
  const head = await own.journal.head()
  if (!head) return 'stopped'
  if (isLinkReplaced(follower, head)) return 'replaced'
  if (session.source && isHeartbeatOutdated(session.source, head)) delete session.source
  const step = nextFollowStep(head, session.source, session.ownEpochClosed)
  if (session.roleChangePending && step.do !== 'applyStaged' && step.do !== 'fetchNext') return 'waiting'
  session.reported.state = states[step.do]
  switch (step.do) {
    case 'wait':
      return 'stopped'
    case 'applyStaged':
      return afterApplying(follower, head, await applyStagedEntries(own, treeId, head))
    case 'fetchNext': {
      const progress = await fetchNext(follower, head)
      if (progress !== 'worked' && progress !== 'waiting') return progress
      const compared = await takeComparisonStep(follower)
      return compared === 'waiting' ? progress : compared
    }
    case 'stopStaging':
      return afterApplying(follower, head, await stopStagingEntries(own, treeId))
    case 'closeOwnEpoch':
      // a journal that was opened again meanwhile has a later epoch, which stays open
      session.ownEpochClosed = (await endOwnEpoch(own, { epoch: head.epoch })) !== undefined
      return session.ownEpochClosed ? 'worked' : 'waiting'
    case 'resume':
      await own.journal.moveHead(head.mode === 'closed' ? headMoves.follow(head) : headMoves.resume(head))
      return 'worked'
    case 'sync':
      return continueOrBeginSync(follower, head, step)
  }
}

/** The state that status shows during a step. */
const states: Record<Step['do'], FollowerSession['reported']['state']> = {
  wait: 'idle',
  applyStaged: 'stream-wals',
  fetchNext: 'stream-wals',
  stopStaging: 'merkle-diff',
  closeOwnEpoch: 'idle',
  resume: 'stream-wals',
  sync: 'merkle-sync',
}

/** Fetches the next journal entries, stages them, and applies them. */
async function fetchNext(follower: Follower, head: JournalHead): Promise<FollowerProgress> {
  const { link, own, treeId, session } = follower
  const { streaming } = session
  if (!link) return 'stopped'
  const { answer, stored } = (await takePrefetchedEntries(streaming, head)) ?? {
    answer: await requestEntries(link, head),
    stored: false,
  }
  if (answer.kind === 'trimmed') {
    if (session.source) session.source.from = answer.retainedFrom
    return 'worked'
  }
  if (answer.kind === 'diverged') {
    // the source's lineage has changed since its last heartbeat answer, so another heartbeat is due
    delete session.source
    return 'waiting'
  }
  const entries = selectNextEntries(head, answer)
  const newest = entries.at(-1)
  if (!newest) return 'waiting'
  await fetchNeededTerms(follower, termNeedsOfEntries(entries))
  const staged = await stage(own.journal, head, { entries, lineage: answer.lineage, stored })
  if (staged === 'refused') return 'worked'
  streaming.lastStaged = { seq: newest.seq, at: newest.at }
  const hasChanges = entries.some(({ noop }) => !noop)
  if (hasChanges) streaming.lastChangeAt = own.clock.now()
  if (entries.length >= BEHIND) streaming.prefetched = prefetch(follower, link, staged)
  const applied = await applyStagedEntries(own, treeId, staged, entries)
  const progress = await afterApplying(follower, staged, applied)
  // an entry that contains only the time is the primary's last entry
  return applied === 'done' && !hasChanges && entries.length === 1 ? 'waiting' : progress
}

const requestEntries = (link: SourceLink, { lineage, last }: JournalHead): Promise<EntriesAnswer> =>
  link.entries({ lineage, after: last, maxBytes: BYTES })

/**
 * Requests the next journal entries and stores them while the current entries are applied. Prefetched entries do
 * not count until the head includes them. If the prefetch fails, the run requests the entries again.
 */
function prefetch({ own, session }: Follower, link: SourceLink, head: JournalHead): PrefetchedEntries {
  const arrive = async () => {
    const answer = await requestEntries(link, head)
    return { answer, stored: await storeEarly(own.journal, session.held, head, answer).catch(() => false) }
  }
  return { seq: head.last, incarnation: head.incarnation, arrival: arrive().catch(() => undefined) }
}

/**
 * Stores journal entries before the head includes them. Storing early is safe because the writer of an entry writes
 * it once. The prefetch skips entries of a term that this cluster does not hold yet.
 */
async function storeEarly(
  journal: Journal,
  held: TermNeeds | undefined,
  head: JournalHead,
  answer: EntriesAnswer,
): Promise<boolean> {
  if (answer.kind !== 'entries') return false
  const entries = selectNextEntries(head, answer)
  if (!held || !hasNeededTerms(held, termNeedsOfEntries(entries))) return false
  return (await journal.putEntries(entries)) === 'done'
}

/** Returns the prefetched entries once; undefined if nothing was prefetched, or the head has moved since. */
export async function takePrefetchedEntries(
  streaming: StreamState,
  { last, incarnation }: Pick<JournalHead, 'last' | 'incarnation'>,
): Promise<Awaited<PrefetchedEntries['arrival']>> {
  const { prefetched } = streaming
  delete streaming.prefetched
  const isNext = prefetched?.seq === last && prefetched.incarnation === incarnation
  return isNext ? prefetched.arrival : undefined
}

/** Handles the outcome of applying staged entries. */
async function afterApplying(
  follower: Follower,
  head: JournalHead,
  outcome: StagedEntriesOutcome,
): Promise<FollowerProgress> {
  const { own, session } = follower
  if (outcome === 'missing') return stopFollower(session.reported, 'a staged journal entry is missing')
  if (typeof outcome === 'object') return repair(follower, head, outcome.mismatch)
  if (outcome === 'done') delete session.reported.fault
  else await pauseBeforeRetry(own, 1)
  return 'worked'
}

/**
 * Logs the items that differ from the state that the primary's journal entries expect, and begins a sync of these
 * items.
 */
async function repair(
  follower: Follower,
  { applied }: JournalHead,
  wrong: readonly ItemPlace[],
): Promise<FollowerProgress> {
  const { own, session } = follower
  const facts = { count: wrong.length, items: formatItemNames(wrong) }
  own.log.error('stored items differ from the state in the primary’s journal', facts)
  const head = await own.journal.head()
  if (session.roleChangePending) return 'waiting'
  if (head && isLinkReplaced(follower, head)) return 'replaced'
  // another run may have stopped staging meanwhile; while `applied` is unchanged, the sync replays partly applied
  // entries
  if (!head || head.applied !== applied || (head.mode !== 'applying' && head.mode !== 'draining'))
    return 'worked'
  const begun = await syncDifferingItems(follower, head, wrong, {
    fault: 'more items differ from the primary’s than this cluster can track',
  })
  // these items are given up: journal entries overwrite them from now on
  return begun ?? 'worked'
}

/** The journal of the primary as of its last heartbeat answer. */
export type KnownPrimaryJournal = Pick<PrimaryState, 'epoch' | 'lineage' | 'from'>

/**
 * The next step of a secondary. `applyStaged`: the secondary applies the staged entries. `fetchNext`: fetch and
 * stage the next journal entries. `stopStaging`: stage nothing more, because a sync must begin. `closeOwnEpoch`:
 * the secondary closes its own journal at its exact end. `resume`: begin to apply, because the journals fit.
 * `wait`: until the source answers, or the role changes.
 */
type Step =
  | { readonly do: 'applyStaged' | 'fetchNext' | 'stopStaging' | 'closeOwnEpoch' | 'resume' | 'wait' }
  | SyncFollowUp

/** Decides the next step of a secondary. */
export function nextFollowStep(
  head: JournalHead,
  source: KnownPrimaryJournal | undefined,
  ownEpochClosed: boolean,
): Step {
  const { mode, applied, last } = head
  if (mode === 'writing') return { do: 'wait' }
  if ((mode === 'applying' || mode === 'draining') && applied < last) return { do: 'applyStaged' }
  if (mode === 'closed' && !ownEpochClosed) return { do: 'closeOwnEpoch' }
  if (!source) return { do: 'wait' }
  const sync = neededSync(head, source)
  if (!sync) return { do: mode === 'applying' ? 'fetchNext' : 'resume' }
  return mode === 'applying' ? { do: 'stopStaging' } : sync
}

/**
 * Returns the sync that this cluster needs before it can apply the source's journal; undefined if no sync is
 * needed.
 */
function neededSync(head: JournalHead, source: KnownPrimaryJournal): SyncFollowUp | undefined {
  const { forkPoint, diverged } = compareLineages(source, head)
  // items of an unfinished sync are consistent only with the rest of the same source's journal
  const unfinished =
    head.mode === 'syncing' || (head.unfinishedSync !== null && head.unfinishedSyncEpoch !== source.epoch)
  const nothingCommon = forkPoint < 0 || forkPoint < source.from
  // a rewind needs this cluster's journal entries after the fork point, because these entries name the items to
  // fetch
  const notDense = diverged && forkPoint < head.retainedFrom
  const all = nothingCommon || notDense || (unfinished && head.unfinishedSync === 'all')
  if (!all && !diverged && !unfinished) return undefined
  return { do: 'sync', what: all ? 'all' : 'touched', forkPoint, diverged }
}

/** Maximum number of journal entries that are staged and applied together. */
const WINDOW = 1000

/** The entries of an answer do not continue the journal that this cluster follows. */
class WrongEntries extends Error {
  override readonly name = 'WrongEntries'
}

/**
 * Returns the journal entries of an answer that may be staged: the entries begin at the next position, have no
 * gaps, and each is of the epoch in the source's lineage, which continues this cluster's.
 * @throws WrongEntries
 */
export function selectNextEntries(
  head: JournalHead,
  answer: { entries: readonly JournalEntry[]; lineage: JournalLineage },
): readonly JournalEntry[] {
  const { diverged, forkPoint } = compareLineages(answer, head)
  if (diverged || forkPoint < head.last)
    throw new WrongEntries('the lineage of these journal entries differs from the head’s')
  const entries = answer.entries.slice(0, WINDOW)
  for (const [index, { epoch, seq }] of entries.entries()) {
    if (seq !== head.last + 1 + index) throw new WrongEntries(`journal entry ${seq} is not the next one`)
    if (epoch !== epochAt(answer.lineage, seq))
      throw new WrongEntries(`journal entry ${seq} is of another epoch`)
  }
  return entries
}

/**
 * Stores journal entries, then moves the head so that it includes these entries. Once the head includes the
 * entries, this cluster applies them even if the source is lost. The applier reads no entry that the head does not
 * include.
 * @param received `stored`: this run has stored these journal entries already
 * @throws WrongEntries if another journal entry is stored at a position
 */
async function stage(
  journal: Journal,
  head: JournalHead,
  {
    entries,
    lineage,
    stored,
  }: { entries: readonly JournalEntry[]; lineage: JournalLineage; stored: boolean },
): Promise<JournalHead | 'refused'> {
  const last = entries.at(-1)
  if (!last) return head
  const there = stored ? 'done' : await journal.putEntries(entries)
  if (there !== 'done')
    throw new WrongEntries(`a different journal entry is stored at position ${there.epoch}/${there.seq}`)
  return journal.moveHead(headMoves.stage(head, last, lineage))
}

interface CarefulRun {
  readonly pause: number
  readonly warning: string
  readonly failureOf?: (error: unknown) => Error | undefined
}

/**
 * Takes one step of following for an operation that waits for a result. The step first sends a heartbeat if one is
 * due, treats a fault of the link as waiting, and pauses if it found no work.
 * @param run `pause`: milliseconds; `warning`: log text of a fault; `failureOf`: returns the error that ends the operation
 * after a permanent fault, undefined for any other fault
 */
export async function followJournalOrPause(
  follower: Follower,
  { pause, warning, failureOf }: CarefulRun,
): Promise<void> {
  const { clock, log } = follower.own
  try {
    if (!follower.session.source) await sendHeartbeat(follower)
    if ((await takeFollowStep(follower)) === 'worked') return
  } catch (error) {
    delete follower.session.source
    const failure = failureOf?.(error)
    if (failure) throw failure
    log.warn(warning, { error: String(error) })
  }
  await clock.sleep(pause)
}
