import type { Ports } from '../ports.ts'
import { JOURNAL_PROMISED_FOR_MS } from '../values/bounds.ts'
import { CONFLICT_RESULT, ok } from '../values/result.ts'
import { retryOnConflict } from '../values/retrying.ts'
import type { JournalHead } from './head.ts'
import type { Journal } from './journal.ts'
import { createNoopEntry } from './journal-entry.ts'
import { epochNumber } from './position.ts'
import { journalBusyError } from './refusals.ts'
import { headMoves } from './transitions.ts'

type Dependencies = Pick<Ports, 'journal' | 'clock'>

const WINDOW = 500
/** Milliseconds for which an entry may be missing below a later entry, before its position is closed. */
const HOLE_GRACE_MS = 300
const SETTLINGS = 40

/** Returns the frontier: the last position up to which no entry is missing. A follower's journal is always dense. */
export async function findDenseFrontier(journal: Journal, head: JournalHead): Promise<number> {
  if (head.mode !== 'writing' && head.mode !== 'closed') return head.last
  for (let at = Math.max(head.applied, head.retainedFrom); at < head.last; at += WINDOW) {
    const entries = await journal.entries(head.lineage, at, Math.min(at + WINDOW, head.last))
    const hole = entries.indexOf(undefined)
    if (hole >= 0) return at + hole
  }
  return head.last
}

/**
 * Returns the frontier of the journal, and the positions after it without an entry. `below`: a later position has
 * an entry.
 */
async function findHoles(
  { journal }: Dependencies,
  head: JournalHead,
): Promise<{ dense: number; open: { seq: number; below: boolean; since: number }[] }> {
  const dense = await findDenseFrontier(journal, head)
  const entries = await journal.entries(head.lineage, dense, head.last)
  const last = entries.findLastIndex(entry => entry !== undefined)
  const open = entries.flatMap((entry, index) => {
    if (entry) return []
    const later = entries.slice(index).find(one => one !== undefined)
    return [{ seq: dense + 1 + index, below: index < last, since: later?.at ?? Number.POSITIVE_INFINITY }]
  })
  return { dense, open }
}

/**
 * Reports whether DynamoDB may have deleted expired entries after the last position up to which all entries are known.
 * If entries expired, a position without an entry may have been a commit, and the journal cannot tell.
 */
async function mayHaveLost(
  { journal, clock }: Dependencies,
  { lineage, applied, retainedFrom }: JournalHead,
): Promise<boolean> {
  if (applied <= retainedFrom) return false
  const [last] = await journal.entries(lineage, applied - 1, applied)
  return last === undefined || last.at < clock.now() - JOURNAL_PROMISED_FOR_MS
}

/**
 * Closes positions of this cluster's own epoch whose commits failed, and stores in the head up to where the journal
 * is dense. A conflict does not decide a position, because the other writer may still succeed.
 * @param which `below`: positions below an existing entry; `all`: also the newest positions
 * @returns the frontier of the journal
 */
export async function fillJournalHoles(ports: Dependencies, which: 'below' | 'all'): Promise<number> {
  const { journal, clock } = ports
  const head = await journal.head()
  if (head?.mode !== 'writing' || head.ownEpoch !== head.epoch) return head?.applied ?? 0
  const { dense: before, open } = await findHoles(ports, head)
  const found = open.filter(({ below }) => below || which === 'all')
  const isOld = found.length > 0 && (await mayHaveLost(ports, head))
  if (found.length > 0) {
    const age = Math.min(...found.map(({ since }) => clock.now() - since))
    if (age < HOLE_GRACE_MS) await clock.sleep(Math.min(HOLE_GRACE_MS, HOLE_GRACE_MS - Math.max(age, 0)))
    await Promise.all(
      found.map(({ seq }) => journal.putEntry(createNoopEntry({ epoch: head.epoch, seq }, clock.now()))),
    )
  }
  const dense = found.length > 0 ? await findDenseFrontier(journal, head) : before
  if (dense > head.applied) await journal.moveHead(headMoves.noteDense(head, dense, { isOld }))
  return dense
}

/**
 * Closes every open position of the epoch that this cluster wrote. The function tries each position until it is
 * decided.
 * @returns `isOld`: some of the closed positions may have been commits
 * @throws ApiError `busy` when a position stays undecided; the caller then repeats the call
 */
async function fillAllHoles(
  { journal, clock }: Dependencies,
  head: JournalHead,
): Promise<{ isOld: boolean }> {
  const { open } = await findHoles({ journal, clock }, head)
  const isOld = open.length > 0 && (await mayHaveLost({ journal, clock }, head))
  for (const { seq } of open) {
    const result = await retryOnConflict(
      { tries: SETTLINGS, pause: tried => clock.sleep(25 * Math.min(tried, 8)) },
      async () => {
        const put = await journal.putEntry(createNoopEntry({ epoch: head.epoch, seq }, clock.now()))
        return put === 'conflict' ? CONFLICT_RESULT : ok()
      },
    )
    if (!result.ok) throw journalBusyError()
  }
  return { isOld }
}

/** The epoch that must end: `epoch`, or any epoch lower than `below`. */
export interface EpochToEnd {
  readonly epoch?: string
  readonly below?: string
}

const mustEnd = ({ epoch, below = '' }: EpochToEnd, head: Pick<JournalHead, 'epoch'>): boolean =>
  epoch === undefined ? head.epoch < below : head.epoch === epoch

/**
 * Ends this cluster's epoch permanently: no commit is possible in the epoch any more, and its last position is
 * known. The call may be repeated at any time. A late call does not end an epoch that this cluster has begun since.
 * @param ending if given, the number of `below` is stored in `maxEpoch`
 * @param successor UUID of the cluster that may take the epoch over; stored if this call closes the epoch
 * @returns the end of the epoch, which the caller may send to others; undefined if this cluster has no such epoch
 */
export async function endOwnEpoch(
  ports: Dependencies,
  ending: EpochToEnd,
  successor = '',
): Promise<{ epoch: string; seq: number } | undefined> {
  const { journal } = ports
  const before = await journal.head()
  const seen = ending.below === undefined ? 0 : epochNumber(ending.below)
  if (before?.mode === 'writing' && mustEnd(ending, before))
    await journal.moveHead(headMoves.close(before, successor, seen))
  const head = await journal.head()
  if (head?.mode !== 'closed' || head.ownEpoch !== head.epoch || !mustEnd(ending, head)) return undefined
  await journal.moveHead(headMoves.noteEnd(head, await fillAllHoles(ports, head)))
  const last = await journal.head()
  return last?.mode === 'closed' && last.epoch === head.epoch
    ? { epoch: head.epoch, seq: head.last }
    : undefined
}
