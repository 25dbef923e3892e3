import { endEpoch } from '../../journal/density.ts'
import type { Head } from '../../journal/head.ts'
import type { Journal, Place } from '../../journal/journal.ts'
import type { JournalEntry } from '../../journal/journal-entry.ts'
import { compareLineages, epochAt, type Lineage } from '../../journal/position.ts'
import { hasNeededTerms, type TermNeeds, termNeedsOfEntries } from '../../journal/terms.ts'
import { moves } from '../../journal/transitions.ts'
import type { EntriesAnswer } from '../../link/source.ts'
import type { SourceLink } from '../../link/source-link.ts'
import { pauseBeforeRetry } from '../apply/window.ts'
import { takeComparisonStep } from './comparison.ts'
import { nameItems } from './diverging.ts'
import {
  type Follower,
  type FollowerSession,
  fetchTerms,
  isOutdated,
  isReplaced,
  type Prefetched,
  type Progress,
  type Source,
  type Streaming,
  sendHeartbeat,
  stopWith,
} from './follower.ts'
import { resync, type SyncStep, syncDiffering } from './resync.ts'
import { applyStaged, type StagedOutcome, stopStaging } from './staged.ts'

/** Bytes of journal entries that are asked for at once. */
const BYTES = 3 * 2 ** 20
/** Journal entries in one answer from which on there are probably more. */
const BEHIND = 200

/** One step of following the primary. Several may run at once, and each may be interrupted at any point. */
export async function takeFollowStep(follower: Follower): Promise<Progress> {
  const { own, treeId, session } = follower
  const head = await own.journal.head()
  if (!head) return 'stopped'
  if (isReplaced(follower, head)) return 'replaced'
  if (session.source && isOutdated(session.source, head)) delete session.source
  const step = nextFollowStep(head, session.source, session.ownEpochClosed)
  if (session.roleChangePending && step.do !== 'applyStaged' && step.do !== 'fetchNext') return 'waiting'
  session.reported.state = states[step.do]
  switch (step.do) {
    case 'wait':
      return 'stopped'
    case 'applyStaged':
      return afterApplying(follower, head, await applyStaged(own, treeId, head))
    case 'fetchNext': {
      const progress = await fetchNext(follower, head)
      if (progress !== 'worked' && progress !== 'waiting') return progress
      const compared = await takeComparisonStep(follower)
      return compared === 'waiting' ? progress : compared
    }
    case 'stopStaging':
      return afterApplying(follower, head, await stopStaging(own, treeId))
    case 'closeOwnEpoch':
      // a journal that was opened again meanwhile is in a later epoch, and stays open
      session.ownEpochClosed = (await endEpoch(own, { epoch: head.epoch })) !== undefined
      return session.ownEpochClosed ? 'worked' : 'waiting'
    case 'resume':
      await own.journal.moveHead(head.mode === 'closed' ? moves.follow(head) : moves.resume(head))
      return 'worked'
    case 'sync':
      return resync(follower, head, step)
  }
}

/** What status shows during a step. */
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
async function fetchNext(follower: Follower, head: Head): Promise<Progress> {
  const { link, own, treeId, session } = follower
  const { streaming } = session
  if (!link) return 'stopped'
  const { answer, stored } = (await takePrefetched(streaming, head)) ?? {
    answer: await requestEntries(link, head),
    stored: false,
  }
  if (answer.kind === 'trimmed') {
    if (session.source) session.source.from = answer.retainedFrom
    return 'worked'
  }
  if (answer.kind === 'diverged') {
    // the lineage of the source has changed since its last answer: ask again
    delete session.source
    return 'waiting'
  }
  const entries = nextEntries(head, answer)
  const newest = entries.at(-1)
  if (!newest) return 'waiting'
  await fetchTerms(follower, termNeedsOfEntries(entries))
  const staged = await stage(own.journal, head, { entries, lineage: answer.lineage, stored })
  if (staged === 'refused') return 'worked'
  streaming.lastStaged = { seq: newest.seq, at: newest.at }
  const hasChanges = entries.some(({ noop }) => !noop)
  if (hasChanges) streaming.lastChangeAt = own.clock.now()
  if (entries.length >= BEHIND) streaming.prefetched = prefetch(follower, link, staged)
  const applied = await applyStaged(own, treeId, staged, entries)
  const progress = await afterApplying(follower, staged, applied)
  // behind an entry with only the time there are no others
  return applied === 'done' && !hasChanges && entries.length === 1 ? 'waiting' : progress
}

const requestEntries = (link: SourceLink, { lineage, last }: Head): Promise<EntriesAnswer> =>
  link.entries({ lineage, after: last, maxBytes: BYTES })

/**
 * Requests the next journal entries and stores them while the present ones are applied, so that neither waits for the
 * other. They do not count before the head says so. The run requests them again if that fails.
 */
function prefetch({ own, session }: Follower, link: SourceLink, head: Head): Prefetched {
  const arrive = async () => {
    const answer = await requestEntries(link, head)
    return { answer, stored: await storeEarly(own.journal, session.held, head, answer).catch(() => false) }
  }
  return { seq: head.last, incarnation: head.incarnation, arrival: arrive().catch(() => undefined) }
}

/**
 * Stores journal entries before the head counts them, which changes nothing, because their owner writes each once.
 * Entries of a term that this cluster does not hold are not stored yet.
 */
async function storeEarly(
  journal: Journal,
  held: TermNeeds | undefined,
  head: Head,
  answer: EntriesAnswer,
): Promise<boolean> {
  if (answer.kind !== 'entries') return false
  const entries = nextEntries(head, answer)
  if (!held || !hasNeededTerms(held, termNeedsOfEntries(entries))) return false
  return (await journal.putEntries(entries)) === 'done'
}

/** Returns the prefetched entries, once; undefined if there are none, or the head has moved since. */
export async function takePrefetched(
  streaming: Streaming,
  { last, incarnation }: Pick<Head, 'last' | 'incarnation'>,
): Promise<Awaited<Prefetched['arrival']>> {
  const { prefetched } = streaming
  delete streaming.prefetched
  const isNext = prefetched?.seq === last && prefetched.incarnation === incarnation
  return isNext ? prefetched.arrival : undefined
}

/** Acts on the outcome of applying staged entries. */
async function afterApplying(follower: Follower, head: Head, outcome: StagedOutcome): Promise<Progress> {
  const { own, session } = follower
  if (outcome === 'missing') return stopWith(session.reported, 'a staged journal entry is not there any more')
  if (typeof outcome === 'object') return repair(follower, head, outcome.mismatch)
  if (outcome === 'done') delete session.reported.fault
  else await pauseBeforeRetry(own, 1)
  return 'worked'
}

/** Logs items that are not as the source's journal entries expect, and begins a sync of them. */
async function repair(follower: Follower, { applied }: Head, wrong: readonly Place[]): Promise<Progress> {
  const { own, session } = follower
  const facts = { count: wrong.length, items: nameItems(wrong) }
  own.log.error('items are not as the journal of the primary says', facts)
  const head = await own.journal.head()
  if (session.roleChangePending) return 'waiting'
  if (head && isReplaced(follower, head)) return 'replaced'
  // staging may have stopped meanwhile: the sync replays what was applied in part, as long as `applied` has not moved
  if (!head || head.applied !== applied || (head.mode !== 'applying' && head.mode !== 'draining'))
    return 'worked'
  const begun = await syncDiffering(follower, head, wrong, {
    fault: 'more items than can be kept cannot be brought in line',
  })
  // given-up items become what journal entries say from now on
  return begun ?? 'worked'
}

/** What is known of the cluster that this one follows. */
export type KnownSource = Pick<Source, 'epoch' | 'lineage' | 'from'>

/**
 * What a secondary does next.
 * `applyStaged`: apply the staged entries. `fetchNext`: fetch the next journal entries, and stage them. `stopStaging`: stage
 * nothing more, because a sync is to begin. `closeOwnEpoch`: give the own closed journal its exact end. `resume`: begin to
 * apply, because everything fits. `wait`: until the source answers, or the role changes.
 */
type Step =
  | { readonly do: 'applyStaged' | 'fetchNext' | 'stopStaging' | 'closeOwnEpoch' | 'resume' | 'wait' }
  | SyncStep

/** Decides the next step. */
export function nextFollowStep(head: Head, source: KnownSource | undefined, ownEpochClosed: boolean): Step {
  const { mode, applied, last } = head
  if (mode === 'writing') return { do: 'wait' }
  if ((mode === 'applying' || mode === 'draining') && applied < last) return { do: 'applyStaged' }
  if (mode === 'closed' && !ownEpochClosed) return { do: 'closeOwnEpoch' }
  if (!source) return { do: 'wait' }
  const sync = neededSync(head, source)
  if (!sync) return { do: mode === 'applying' ? 'fetchNext' : 'resume' }
  return mode === 'applying' ? { do: 'stopStaging' } : sync
}

/** Returns the sync without which the source's journal does not fit this cluster's items; undefined if it fits. */
function neededSync(head: Head, source: KnownSource): SyncStep | undefined {
  const { forkPoint, diverged } = compareLineages(source, head)
  // items of an unfinished sync are consistent only together with the rest of the same source's journal
  const unfinished =
    head.mode === 'syncing' || (head.unfinishedSync !== null && head.unfinishedSyncEpoch !== source.epoch)
  const nothingCommon = forkPoint < 0 || forkPoint < source.from
  // a rewind needs the own journal entries behind the fork point: they tell what has to be fetched
  const notDense = diverged && forkPoint < head.retainedFrom
  const all = nothingCommon || notDense || (unfinished && head.unfinishedSync === 'all')
  if (!all && !diverged && !unfinished) return undefined
  return { do: 'sync', what: all ? 'all' : 'touched', forkPoint, diverged }
}

/** Journal entries that are staged, and then applied, together. */
const WINDOW = 1000

/** The entries that the source sent are not of the journal that this cluster follows. */
class WrongEntries extends Error {
  override readonly name = 'WrongEntries'
}

/**
 * The journal entries of an answer that may be staged: from the next position on, without gaps, each in the epoch by the
 * source's lineage, which continues the own one.
 * @throws WrongEntries
 */
export function nextEntries(
  head: Head,
  answer: { entries: readonly JournalEntry[]; lineage: Lineage },
): readonly JournalEntry[] {
  const { diverged, forkPoint } = compareLineages(answer, head)
  if (diverged || forkPoint < head.last)
    throw new WrongEntries('the lineage of these journal entries is another one')
  const entries = answer.entries.slice(0, WINDOW)
  for (const [index, { epoch, seq }] of entries.entries()) {
    if (seq !== head.last + 1 + index) throw new WrongEntries(`journal entry ${seq} is not the next one`)
    if (epoch !== epochAt(answer.lineage, seq))
      throw new WrongEntries(`journal entry ${seq} is of another epoch`)
  }
  return entries
}

/**
 * Stores journal entries, and then moves the head to say so. From then on they will be applied, even if the source is lost;
 * none of them is applied before that.
 * @param received `stored`: this run has put these journal entries into the table already
 * @throws WrongEntries when another journal entry stands in the place of one
 */
async function stage(
  journal: Journal,
  head: Head,
  { entries, lineage, stored }: { entries: readonly JournalEntry[]; lineage: Lineage; stored: boolean },
): Promise<Head | 'refused'> {
  const last = entries.at(-1)
  if (!last) return head
  const there = stored ? 'done' : await journal.putEntries(entries)
  if (there !== 'done') throw new WrongEntries(`another journal entry stands at ${there.epoch}/${there.seq}`)
  return journal.moveHead(moves.stage(head, last, lineage))
}

interface CarefulRun {
  readonly pause: number
  readonly warning: string
  readonly failureOf?: (error: unknown) => Error | undefined
}

/**
 * Takes one step of following for an operation that waits for a result. It asks the source first, treats a fault of the
 * link as waiting, and pauses if there was nothing to do.
 * @param run `pause`: milliseconds; `warning`: logged with a fault; `failureOf`: returns the error with which a lasting
 * fault ends the operation, and undefined for any other fault
 */
export async function followOrPause(
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
