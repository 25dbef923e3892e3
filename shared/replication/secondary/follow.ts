import type { Cell } from '../../journal/cell.ts'
import { endEpoch } from '../../journal/density.ts'
import type { Head } from '../../journal/head.ts'
import type { Journal } from '../../journal/journal.ts'
import { common, type Epoch, epochAt, epochNumber, type Line } from '../../journal/position.ts'
import { meets, needsIn } from '../../journal/terms.ts'
import type { CellsAnswer } from '../../link/source.ts'
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
  stopped,
} from './follower.ts'
import { drain, type Redone, redo } from './redo.ts'
import { resync, type SyncStep } from './resync.ts'

/** Bytes of cells that are asked for at once. */
const BYTES = 3 * 2 ** 20
/** Cells in one answer from which on there are probably more. */
const BEHIND = 200

/** One step of following the primary. It may be taken by several at once, and be left at any point. */
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
  redo: async (follower, head) => afterRedo(follower, head, await redo(follower.own, follower.life, head)),
  stage: async (follower, head) => {
    const progress = await stageOn(follower, head)
    if (progress !== 'worked' && progress !== 'waiting') return progress
    const compared = await compareOn(follower)
    return compared === 'waiting' ? progress : compared
  },
  drain: async (follower, head) => afterRedo(follower, head, await drain(follower.own, follower.life)),
  finish: async (follower, head) => {
    // one that was opened again meanwhile is of a later epoch, and stays open
    follower.session.filled = (await endEpoch(follower.own, { epoch: head.epoch })) !== undefined
    return follower.session.filled ? 'worked' : 'waiting'
  },
  follow: async ({ own }, { mode, hold, seq, link }) => {
    // what is applied from here on stands above what this cluster wrote itself
    const next = mode === 'closed' ? { hold: hold + 1, done: seq } : {}
    await own.journal.moveHead({ mode, hold, seq, link }, { mode: 'applying', own: '', ...next })
    return 'worked'
  },
}

async function stageOn(follower: Follower, head: Head): Promise<Progress> {
  const { link, own, life } = follower
  if (!link) return 'stopped'
  const { answer, stored } = await cellsBehind(follower, link, head)
  if ('trimmed' in answer) {
    follower.session.from = answer.trimmed
    return 'worked'
  }
  if ('diverged' in answer) {
    // the source has another lineage than it told: it is asked again
    delete follower.session.source
    return 'waiting'
  }
  const cells = nextCells(head, answer)
  if (cells.length === 0) return 'waiting'
  await holdFor(follower, needsIn(cells))
  const staged = await stage(own.journal, head, { cells, line: answer.line, stored })
  if (staged === 'refused') return 'worked'
  const newest = cells.at(-1)
  if (newest) follower.session.lastStaged = { seq: newest.seq, at: newest.at }
  const tells = cells.some(({ noop }) => !noop)
  if (tells) follower.session.cameAt = own.clock.now()
  if (cells.length >= BEHIND) follower.session.prefetched = prefetch(follower, link, staged)
  const redone = await redo(own, life, staged, cells)
  const progress = await afterRedo(follower, staged, redone)
  // where only the time was told, nothing comes behind it
  return redone === 'done' && !tells && cells.length === 1 ? 'waiting' : progress
}

const askFor = (link: SourceLink, { line, seq }: Head): Promise<CellsAnswer> =>
  link.cells({ line, from: seq, bytes: BYTES })

/**
 * Asks for what comes next, and stores it, while what has come is applied: one of both always waits for the other's
 * calls. It is not here before the head says so. Whether it fails is seen when it is wanted.
 */
const prefetch = (follower: Follower, link: SourceLink, head: Head): Prefetched => ({
  seq: head.seq,
  hold: head.hold,
  come: askFor(link, head).then(
    async answer => ({ answer, stored: await storePrefetched(follower, head, answer).catch(() => false) }),
    () => undefined,
  ),
})

/** Cells are written once by their owner, so that storing them early, or in vain, changes nothing. */
async function storePrefetched(
  { own, session: { held } }: Follower,
  head: Head,
  answer: CellsAnswer,
): Promise<boolean> {
  if (!('cells' in answer)) return false
  const cells = nextCells(head, answer)
  // nothing is stored before its term is held
  if (!held || !meets(held, needsIn(cells))) return false
  return (await own.journal.putCells(cells)) === 'done'
}

/** What the source has behind a head: asked for before, where the head has not moved since. */
async function cellsBehind(
  follower: Follower,
  link: SourceLink,
  head: Head,
): Promise<{ answer: CellsAnswer; stored: boolean }> {
  const { prefetched } = follower.session
  delete follower.session.prefetched
  const isOfHead = prefetched?.seq === head.seq && prefetched.hold === head.hold
  const known = isOfHead ? await prefetched.come : undefined
  return known ?? { answer: await askFor(link, head), stored: false }
}

async function afterRedo(follower: Follower, head: Head, redone: Redone): Promise<Progress> {
  const { own, session } = follower
  if (redone === 'missing') return stopped(follower, 'a staged cell is not there any more')
  if (typeof redone === 'object') return putRight(follower, head, redone.mismatch)
  if (redone === 'done') delete session.reported.fault
  else await pauseBefore(own, 1)
  return 'worked'
}

/** Something here is not what the source had: it is said, and fetched. */
async function putRight(
  follower: Follower,
  { done }: Head,
  mismatch: (Redone & object)['mismatch'],
): Promise<Progress> {
  const { own } = follower
  const names = mismatch.slice(0, 10).map(({ kind, pk, sk }) => `${kind} ${pk}/${sk}`)
  own.log.error('items are not as the journal of the primary says', { count: mismatch.length, items: names })
  const head = await own.journal.head()
  if (follower.session.roleChangePending) return 'waiting'
  if (head && isReplaced(follower, head)) return 'replaced'
  // drained or not: what was applied in part is replayed from where all was applied
  if (!head || head.done !== done || (head.mode !== 'applying' && head.mode !== 'draining')) return 'worked'
  const left = await countRound(follower, mismatch)
  if (left === 'again') return 'waiting'
  if (left === 'stop')
    return stopped(follower, `more items than can be kept cannot be brought in line: ${tagsOf(mismatch)}`)
  // all of them are given up: what cells say of them is taken from now on
  if (left.length === 0) return 'worked'
  return resync(follower, head, { do: 'sync', what: 'touched', cut: done, diverged: false }, left)
}

/** What is known of the cluster that this one follows. */
export interface Source {
  readonly epoch: Epoch
  readonly line: Line
  /** its cells are kept from behind this position on; 0 as long as it has not said otherwise */
  readonly from: number
}

/**
 * What a secondary does next.
 * `redo`: apply what is staged. `stage`: fetch and store the next cells. `drain`: stop staging, something else is to
 * be done. `finish`: give the own closed journal its exact end. `follow`: begin to apply, everything fits.
 */
type Step = { readonly do: 'redo' | 'stage' | 'drain' | 'finish' | 'follow' | 'nothing' } | SyncStep

/**
 * The next step, from the own head and what is known of the source.
 * @param filled whether the own closed journal is known to have no hole
 */
export function nextStep(head: Head, source: Source | undefined, filled: boolean): Step {
  const { mode, done, seq } = head
  if (mode === 'writing') return { do: 'nothing' }
  if ((mode === 'applying' || mode === 'draining') && done < seq) return { do: 'redo' }
  if (mode === 'closed' && !filled) return { do: 'finish' }
  if (!source) return { do: 'nothing' }
  const wanted = syncOf(head, source)
  if (!wanted) return { do: mode === 'applying' ? 'stage' : 'follow' }
  return mode === 'applying' ? { do: 'drain' } : wanted
}

function syncOf(head: Head, source: Source): SyncStep | undefined {
  const { cut, diverged } = common(source, head)
  // what an unfinished sync has touched is right only together with the rest of the same source's journal
  const unfinished = head.mode === 'syncing' || (head.dirty !== null && head.dirtyFrom !== source.epoch)
  const nothingCommon = cut < 0 || cut < source.from
  // a rewind needs the own cells from the cut on: they say what has to be fetched
  const notDense = diverged && cut < head.from
  const all = nothingCommon || notDense || (unfinished && head.dirty === 'all')
  if (!all && !diverged && !unfinished) return undefined
  return { do: 'sync', what: all ? 'all' : 'touched', cut, diverged }
}

/** Cells that are staged, and then applied, together. */
const WINDOW = 1000

/** What the source sent is not the journal that this cluster follows. */
class WrongCells extends Error {
  override readonly name = 'WrongCells'
}

/**
 * The cells of an answer that may be staged: from the next position on without gaps, each in the epoch that the
 * source's lineage says, and the lineage goes on from the own one.
 * @throws WrongCells
 */
export function nextCells(head: Head, answer: { cells: readonly Cell[]; line: Line }): readonly Cell[] {
  const { diverged, cut } = common(answer, head)
  if (diverged || cut < head.seq) throw new WrongCells('the lineage of these cells is another one')
  const cells = answer.cells.slice(0, WINDOW)
  for (const [index, { epoch, seq }] of cells.entries()) {
    if (seq !== head.seq + 1 + index) throw new WrongCells(`cell ${seq} is not the next one`)
    if (epoch !== epochAt(answer.line, seq)) throw new WrongCells(`cell ${seq} is of another epoch`)
  }
  return cells
}

/**
 * Stores cells, and then says in the head that they are here: from then on they are applied whatever happens to the
 * source. Nothing of them is applied before.
 * @param given `stored`: this run has put these cells into the table already
 * @throws WrongCells when another cell stands in the place of one
 */
async function stage(
  journal: Journal,
  head: Head,
  { cells, line, stored = false }: { cells: readonly Cell[]; line: Line; stored?: boolean },
): Promise<Head | 'refused'> {
  const last = cells.at(-1)
  if (!last) return head
  const there = stored ? 'done' : await journal.putCells(cells)
  if (there !== 'done') throw new WrongCells(`another cell stands at ${there.epoch}/${there.seq}`)
  const { hold, seq, epoch, done, link } = head
  return journal.moveHead(
    { mode: 'applying', hold, seq, epoch, done, link },
    {
      seq: last.seq,
      epoch: last.epoch,
      line: line.filter(([, start]) => start <= last.seq),
      n: Math.max(head.n, epochNumber(last.epoch)),
      stagedAt: last.at,
    },
  )
}

interface FollowingOtherwise {
  readonly pause: number
  readonly warning: string
  readonly givenUp?: (error: unknown) => Error | undefined
}

/**
 * One step of following, for who has to come to something by it: the source is asked first, a fault of the link is none,
 * and where nothing was to be done some time passes.
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
