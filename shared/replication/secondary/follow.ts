import { endEpoch } from '../../journal/density.ts'
import type { Head } from '../../journal/head.ts'
import type { Journal } from '../../journal/journal.ts'
import type { JournalEntry } from '../../journal/journal-entry.ts'
import { compareLineages, type Epoch, epochAt, type Lineage } from '../../journal/position.ts'
import { meets, needsIn } from '../../journal/terms.ts'
import { moves } from '../../journal/transitions.ts'
import type { EntriesAnswer } from '../../link/source.ts'
import type { SourceLink } from '../../link/source-link.ts'
import { pauseBefore } from '../apply/window.ts'
import { compareOn } from './comparison.ts'
import { countRound, tagsOf } from './diverging.ts'
import {
  ask,
  type Follower,
  type FollowerSession,
  holdFor,
  isOfBefore,
  isReplaced,
  type Prefetched,
  type Progress,
  stopWith,
} from './follower.ts'
import { drain, type Redone, redo } from './redo.ts'
import { resync, type SyncStep } from './resync.ts'

/** Bytes of journal entries that are asked for at once. */
const BYTES = 3 * 2 ** 20
/** Journal entries in one answer from which on there are probably more. */
const BEHIND = 200

/** One step of following the primary. Several may run at once, and each may be interrupted at any point. */
export async function followOn(follower: Follower): Promise<Progress> {
  const head = await follower.own.journal.head()
  if (!head) return 'stopped'
  if (isReplaced(follower, head)) return 'replaced'
  if (isOfBefore(follower, head)) delete follower.session.source
  const source = follower.session.source && { ...follower.session.source, from: follower.session.from }
  const step = nextStep(head, source, follower.session.filled)
  if (follower.session.roleChangePending && step.do !== 'redo' && step.do !== 'stage') return 'waiting'
  follower.session.reported.state = stateOf(step)
  return step.do === 'sync' ? resync(follower, head, step) : does[step.do](follower, head)
}

const stateOf = (step: Step): FollowerSession['reported']['state'] => {
  if (step.do === 'sync') return 'merkle-sync'
  if (step.do === 'drain') return 'merkle-diff'
  return step.do === 'nothing' || step.do === 'finish' ? 'idle' : 'stream-wals'
}

type Simple = Exclude<Step, SyncStep>['do']

const does: Record<Simple, (follower: Follower, head: Head) => Promise<Progress>> = {
  nothing: async () => 'stopped',
  redo: async (follower, head) => afterRedo(follower, head, await redo(follower.own, follower.treeId, head)),
  stage: async (follower, head) => {
    const progress = await stageOn(follower, head)
    if (progress !== 'worked' && progress !== 'waiting') return progress
    const compared = await compareOn(follower)
    return compared === 'waiting' ? progress : compared
  },
  drain: async (follower, head) => afterRedo(follower, head, await drain(follower.own, follower.treeId)),
  finish: async (follower, head) => {
    // a journal that was opened again meanwhile is in a later epoch, and stays open
    follower.session.filled = (await endEpoch(follower.own, { epoch: head.epoch })) !== undefined
    return follower.session.filled ? 'worked' : 'waiting'
  },
  follow: async ({ own }, head) => {
    await own.journal.moveHead(head.mode === 'closed' ? moves.follow(head) : moves.resume(head))
    return 'worked'
  },
}

async function stageOn(follower: Follower, head: Head): Promise<Progress> {
  const { link, own, treeId } = follower
  if (!link) return 'stopped'
  const { answer, stored } = await entriesBehind(follower, link, head)
  if ('trimmed' in answer) {
    follower.session.from = answer.trimmed
    return 'worked'
  }
  if ('diverged' in answer) {
    // the lineage of the source has changed since its last answer: ask again
    delete follower.session.source
    return 'waiting'
  }
  const entries = nextEntries(head, answer)
  if (entries.length === 0) return 'waiting'
  await holdFor(follower, needsIn(entries))
  const staged = await stage(own.journal, head, { entries, lineage: answer.lineage, stored })
  if (staged === 'refused') return 'worked'
  const newest = entries.at(-1)
  if (newest) follower.session.lastStaged = { seq: newest.seq, at: newest.at }
  const tells = entries.some(({ noop }) => !noop)
  if (tells) follower.session.cameAt = own.clock.now()
  if (entries.length >= BEHIND) follower.session.prefetched = prefetch(follower, link, staged)
  const redone = await redo(own, treeId, staged, entries)
  const progress = await afterRedo(follower, staged, redone)
  // behind an entry with only the time there are no others
  return redone === 'done' && !tells && entries.length === 1 ? 'waiting' : progress
}

const askFor = (link: SourceLink, { lineage, last }: Head): Promise<EntriesAnswer> =>
  link.entries({ lineage, from: last, bytes: BYTES })

/**
 * Asks for the next journal entries and stores them while the present ones are applied, to use the time of both. They do not
 * count before the head says so. A failure shows when they are needed.
 */
const prefetch = (follower: Follower, link: SourceLink, head: Head): Prefetched => ({
  seq: head.last,
  incarnation: head.incarnation,
  come: askFor(link, head).then(
    async answer => ({ answer, stored: await storePrefetched(follower, head, answer).catch(() => false) }),
    () => undefined,
  ),
})

/** Stores journal entries early, which changes nothing: their owner writes each once. */
async function storePrefetched(
  { own, session: { held } }: Follower,
  head: Head,
  answer: EntriesAnswer,
): Promise<boolean> {
  if (!('entries' in answer)) return false
  const entries = nextEntries(head, answer)
  // nothing is stored before this cluster has its term
  if (!held || !meets(held, needsIn(entries))) return false
  return (await own.journal.putEntries(entries)) === 'done'
}

/** The source's entries behind a head: the prefetched ones, if the head has not moved since. */
async function entriesBehind(
  follower: Follower,
  link: SourceLink,
  head: Head,
): Promise<{ answer: EntriesAnswer; stored: boolean }> {
  const { prefetched } = follower.session
  delete follower.session.prefetched
  const isOfHead = prefetched?.seq === head.last && prefetched.incarnation === head.incarnation
  const known = isOfHead ? await prefetched.come : undefined
  return known ?? { answer: await askFor(link, head), stored: false }
}

async function afterRedo(follower: Follower, head: Head, redone: Redone): Promise<Progress> {
  const { own, session } = follower
  if (redone === 'missing') return stopWith(follower, 'a staged journal entry is not there any more')
  if (typeof redone === 'object') return putRight(follower, head, redone.mismatch)
  if (redone === 'done') delete session.reported.fault
  else await pauseBefore(own, 1)
  return 'worked'
}

/** Logs items that differ from the source's, and requests a sync of them. */
async function putRight(
  follower: Follower,
  { applied }: Head,
  mismatch: (Redone & object)['mismatch'],
): Promise<Progress> {
  const { own } = follower
  const names = mismatch.slice(0, 10).map(({ kind, pk, sk }) => `${kind} ${pk}/${sk}`)
  own.log.error('items are not as the journal of the primary says', { count: mismatch.length, items: names })
  const head = await own.journal.head()
  if (follower.session.roleChangePending) return 'waiting'
  if (head && isReplaced(follower, head)) return 'replaced'
  // drained or not: what was applied in part is replayed from where all was applied
  if (!head || head.applied !== applied || (head.mode !== 'applying' && head.mode !== 'draining'))
    return 'worked'
  const left = await countRound(follower, mismatch)
  if (left === 'again') return 'waiting'
  if (left === 'stop')
    return stopWith(follower, `more items than can be kept cannot be brought in line: ${tagsOf(mismatch)}`)
  // all of them are given up: from now on they become what journal entries say
  if (left.length === 0) return 'worked'
  return resync(follower, head, { do: 'sync', what: 'touched', forkPoint: applied, diverged: false }, left)
}

/** What is known of the cluster that this one follows. */
export interface Source {
  readonly epoch: Epoch
  readonly lineage: Lineage
  /** it keeps journal entries behind this position; 0: not told yet */
  readonly from: number
}

/**
 * What a secondary does next.
 * `redo`: apply what is staged. `stage`: fetch and store the next journal entries. `drain`: stop staging, something else is to
 * be done. `finish`: give the own closed journal its exact end. `follow`: begin to apply, everything fits.
 */
type Step = { readonly do: 'redo' | 'stage' | 'drain' | 'finish' | 'follow' | 'nothing' } | SyncStep

/**
 * The next step, from the own head and what is known of the source.
 * @param filled whether the own closed journal is known to have no hole
 */
export function nextStep(head: Head, source: Source | undefined, filled: boolean): Step {
  const { mode, applied, last } = head
  if (mode === 'writing') return { do: 'nothing' }
  if ((mode === 'applying' || mode === 'draining') && applied < last) return { do: 'redo' }
  if (mode === 'closed' && !filled) return { do: 'finish' }
  if (!source) return { do: 'nothing' }
  const wanted = syncOf(head, source)
  if (!wanted) return { do: mode === 'applying' ? 'stage' : 'follow' }
  return mode === 'applying' ? { do: 'drain' } : wanted
}

function syncOf(head: Head, source: Source): SyncStep | undefined {
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
 * Stores journal entries, and then moves the head to say so: from then on they will be applied, even if the source is lost.
 * Nothing of them is applied before.
 * @param given `stored`: this run has put these journal entries into the table already
 * @throws WrongEntries when another journal entry stands in the place of one
 */
async function stage(
  journal: Journal,
  head: Head,
  {
    entries,
    lineage,
    stored = false,
  }: { entries: readonly JournalEntry[]; lineage: Lineage; stored?: boolean },
): Promise<Head | 'refused'> {
  const last = entries.at(-1)
  if (!last) return head
  const there = stored ? 'done' : await journal.putEntries(entries)
  if (there !== 'done') throw new WrongEntries(`another journal entry stands at ${there.epoch}/${there.seq}`)
  return journal.moveHead(moves.stage(head, last, lineage))
}

interface FollowingOtherwise {
  readonly pause: number
  readonly warning: string
  readonly givenUp?: (error: unknown) => Error | undefined
}

/**
 * One step of following for an operation that waits for a result: it asks the source first, a fault of the link counts as
 * waiting, and it pauses if there was nothing to do.
 * @param otherwise `pause` milliseconds; `warning` goes to the log with a fault; `givenUp`: what a fault comes to that
 * stays; undefined: it is as any other
 */
export async function followCarefully(
  follower: Follower,
  { pause, warning, givenUp }: FollowingOtherwise,
): Promise<void> {
  const { clock, log } = follower.own
  try {
    if (!follower.session.source) await ask(follower)
    if ((await followOn(follower)) === 'worked') return
  } catch (error) {
    delete follower.session.source
    const given = givenUp?.(error)
    if (given) throw given
    log.warn(warning, { error: String(error) })
  }
  await clock.sleep(pause)
}
