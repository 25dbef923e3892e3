import { endEpoch } from '../../journal/density.ts'
import type { Head } from '../../journal/head.ts'
import { meets, needsIn } from '../../journal/terms.ts'
import { moves } from '../../journal/transitions.ts'
import type { EntriesAnswer, SourceLink } from '../../link/source.ts'
import { pauseBefore } from '../apply/target.ts'
import { compareOn } from './comparison.ts'
import { tagsOf } from './diverging.ts'
import {
  type Follower,
  holdFor,
  isOfBefore,
  isReplaced,
  type Prefetched,
  type Progress,
  stopWith,
} from './follower.ts'
import { countRound } from './loop-guard.ts'
import { nextStep, type Step, type SyncStep } from './next-step.ts'
import { drain, type Redone, redo } from './redo.ts'
import { resync } from './resync.ts'
import { nextEntries, stage } from './stage.ts'

/** Bytes of journal entries that are asked for at once. */
const BYTES = 3 * 2 ** 20
/** Journal entries in one answer from which on there are probably more. */
const BEHIND = 200

/** One step of following the primary. It may be taken by several at once, and be left at any point. */
export async function followOn(follower: Follower): Promise<Progress> {
  const head = await follower.own.journal.head()
  if (!head) return 'stopped'
  if (isReplaced(follower, head)) return 'replaced'
  if (isOfBefore(follower, head)) delete follower.source
  const source = follower.source && { ...follower.source, from: follower.from }
  const step = nextStep(head, source, follower.filled)
  if (follower.roleChangePending && step.do !== 'redo' && step.do !== 'stage') return 'waiting'
  follower.reported.state = stateOf(step)
  return step.do === 'sync' ? resync(follower, head, step) : does[step.do](follower, head)
}

const stateOf = (step: Step): Follower['reported']['state'] => {
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
    // one that was opened again meanwhile is of a later epoch, and stays open
    follower.filled = (await endEpoch(follower.own, { epoch: head.epoch })) !== undefined
    return follower.filled ? 'worked' : 'waiting'
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
    follower.from = answer.trimmed
    return 'worked'
  }
  if ('diverged' in answer) {
    // the source has another lineage than it told: it is asked again
    delete follower.source
    return 'waiting'
  }
  const entries = nextEntries(head, answer)
  if (entries.length === 0) return 'waiting'
  await holdFor(follower, needsIn(entries))
  const staged = await stage(own.journal, head, { entries, lineage: answer.lineage, stored })
  if (staged === 'refused') return 'worked'
  const newest = entries.at(-1)
  if (newest) follower.lastStaged = { seq: newest.seq, at: newest.at }
  const tells = entries.some(({ noop }) => !noop)
  if (tells) follower.cameAt = own.clock.now()
  if (entries.length >= BEHIND) follower.prefetched = prefetch(follower, link, staged)
  const redone = await redo(own, treeId, staged, entries)
  const progress = await afterRedo(follower, staged, redone)
  // where only the time was told, nothing comes behind it
  return redone === 'done' && !tells && entries.length === 1 ? 'waiting' : progress
}

const askFor = (link: SourceLink, { lineage, last }: Head): Promise<EntriesAnswer> =>
  link.entries({ lineage, from: last, bytes: BYTES })

/**
 * Asks for what comes next, and stores it, while what has come is applied: one of both always waits for the other's
 * calls. It is not here before the head says so. Whether it fails is seen when it is wanted.
 */
const prefetch = (follower: Follower, link: SourceLink, head: Head): Prefetched => ({
  seq: head.last,
  incarnation: head.incarnation,
  come: askFor(link, head).then(
    async answer => ({ answer, stored: await storePrefetched(follower, head, answer).catch(() => false) }),
    () => undefined,
  ),
})

/** Journal entries are written once by their owner, so that storing them early, or in vain, changes nothing. */
async function storePrefetched({ own, held }: Follower, head: Head, answer: EntriesAnswer): Promise<boolean> {
  if (!('entries' in answer)) return false
  const entries = nextEntries(head, answer)
  // nothing is stored before its term is held
  if (!held || !meets(held, needsIn(entries))) return false
  return (await own.journal.putEntries(entries)) === 'done'
}

/** What the source has behind a head: asked for before, where the head has not moved since. */
async function entriesBehind(
  follower: Follower,
  link: SourceLink,
  head: Head,
): Promise<{ answer: EntriesAnswer; stored: boolean }> {
  const { prefetched } = follower
  delete follower.prefetched
  const known =
    prefetched?.seq === head.last && prefetched.incarnation === head.incarnation
      ? await prefetched.come
      : undefined
  return known ?? { answer: await askFor(link, head), stored: false }
}

async function afterRedo(follower: Follower, head: Head, redone: Redone): Promise<Progress> {
  const { reported, own } = follower
  if (redone === 'missing') return stopWith(follower, 'a staged journal entry is not there any more')
  if (typeof redone === 'object') return putRight(follower, head, redone.mismatch)
  if (redone === 'done') delete reported.fault
  else await pauseBefore(own, 1)
  return 'worked'
}

/** Something here is not what the source had: it is said, and fetched. */
async function putRight(
  follower: Follower,
  { applied }: Head,
  mismatch: (Redone & object)['mismatch'],
): Promise<Progress> {
  const { own } = follower
  const names = mismatch.slice(0, 10).map(({ kind, pk, sk }) => `${kind} ${pk}/${sk}`)
  own.log.error('items are not as the journal of the primary says', { count: mismatch.length, items: names })
  const head = await own.journal.head()
  if (follower.roleChangePending) return 'waiting'
  if (head && isReplaced(follower, head)) return 'replaced'
  // drained or not: what was applied in part is replayed from where all was applied
  if (!head || head.applied !== applied || (head.mode !== 'applying' && head.mode !== 'draining'))
    return 'worked'
  const left = await countRound(follower, mismatch)
  if (left === 'again') return 'waiting'
  if (left === 'stop')
    return stopWith(follower, `more items than can be kept cannot be brought in line: ${tagsOf(mismatch)}`)
  // all of them are given up: what journal entries say of them is taken from now on
  if (left.length === 0) return 'worked'
  return resync(follower, head, { do: 'sync', what: 'touched', forkPoint: applied, diverged: false }, left)
}
