import { endEpoch } from '../../journal/density.ts'
import type { Head } from '../../journal/head.ts'
import { meets, needsIn } from '../../journal/terms.ts'
import type { CellsAnswer } from '../../link/source.ts'
import type { SourceLink } from '../../link/source-link.ts'
import { pauseBefore } from '../apply/target.ts'
import { compareOn } from './comparison.ts'
import { tagsOf } from './diverging.ts'
import {
  type Ahead,
  type Follower,
  holdFor,
  isOfBefore,
  isReplaced,
  type Progress,
  stopped,
} from './follower.ts'
import { countRound } from './loop-guard.ts'
import { nextStep, type Step, type SyncStep } from './next-step.ts'
import { drain, type Redone, redo } from './redo.ts'
import { resync } from './resync.ts'
import { nextCells, stage } from './stage.ts'

/** Bytes of cells that are asked for at once. */
const BYTES = 3 * 2 ** 20
/** Cells in one answer from which on there are probably more. */
const BEHIND = 200

/** One step of following the primary. It may be taken by several at once, and be left at any point. */
export async function followOn(follower: Follower): Promise<Progress> {
  const head = await follower.own.journal.head()
  if (!head) return 'stopped'
  if (isReplaced(follower, head)) return 'replaced'
  if (isOfBefore(follower, head)) delete follower.source
  const source = follower.source && { ...follower.source, from: follower.from }
  const step = nextStep(head, source, follower.filled)
  if (follower.handsOff && step.do !== 'redo' && step.do !== 'stage') return 'waiting'
  follower.told.state = stateOf(step)
  return step.do === 'sync' ? resync(follower, head, step) : does[step.do](follower, head)
}

const stateOf = (step: Step): Follower['told']['state'] => {
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
    follower.filled = (await endEpoch(follower.own, { epoch: head.epoch })) !== undefined
    return follower.filled ? 'worked' : 'waiting'
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
    follower.from = answer.trimmed
    return 'worked'
  }
  if ('diverged' in answer) {
    // the source has another lineage than it told: it is asked again
    delete follower.source
    return 'waiting'
  }
  const cells = nextCells(head, answer)
  if (cells.length === 0) return 'waiting'
  await holdFor(follower, needsIn(cells))
  const staged = await stage(own.journal, head, { cells, line: answer.line, stored })
  if (staged === 'refused') return 'worked'
  const newest = cells.at(-1)
  if (newest) follower.newest = { seq: newest.seq, at: newest.at }
  const tells = cells.some(({ noop }) => !noop)
  if (tells) follower.cameAt = own.clock.now()
  if (cells.length >= BEHIND) follower.ahead = askAhead(follower, link, staged)
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
const askAhead = (follower: Follower, link: SourceLink, head: Head): Ahead => ({
  seq: head.seq,
  hold: head.hold,
  come: askFor(link, head).then(
    async answer => ({ answer, stored: await storeAhead(follower, head, answer).catch(() => false) }),
    () => undefined,
  ),
})

/** Cells are written once by their owner, so that storing them early, or in vain, changes nothing. */
async function storeAhead({ own, held }: Follower, head: Head, answer: CellsAnswer): Promise<boolean> {
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
  const { ahead } = follower
  delete follower.ahead
  const known = ahead?.seq === head.seq && ahead.hold === head.hold ? await ahead.come : undefined
  return known ?? { answer: await askFor(link, head), stored: false }
}

async function afterRedo(follower: Follower, head: Head, redone: Redone): Promise<Progress> {
  const { told, own } = follower
  if (redone === 'missing') return stopped(follower, 'a staged cell is not there any more')
  if (typeof redone === 'object') return putRight(follower, head, redone.mismatch)
  if (redone === 'done') delete told.fault
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
  if (follower.handsOff) return 'waiting'
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
