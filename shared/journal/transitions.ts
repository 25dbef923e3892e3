import { createFirstHead, type JournalHead, type JournalHeadMode } from './head.ts'
import {
  appendEpoch,
  type Epoch,
  epochAt,
  epochNumber,
  type JournalLineage,
  type JournalPosition,
} from './position.ts'

/*
 * All moves of a journal's head, one row for each. The invariants that every row keeps are in `headRules`.
 * @see docs/spec/journal-head.md
 */

interface Transition<S extends Partial<JournalHead> | undefined, G extends readonly unknown[]> {
  /** `modes`: for each mode in which the head may be (`none`: the journal has no head yet), the mode after the move */
  readonly modes: { readonly [M in JournalHeadMode | 'none']?: JournalHeadMode }
  /** `expects`: fields that must be as the caller read them, in addition to the mode if the caller read it */
  readonly expects: { readonly [K in keyof NonNullable<S>]?: true }
  readonly becomes: (seen: S, ...given: G) => Partial<JournalHead>
  /** `adds`: a field to which the move adds a number, whatever the field's value */
  readonly adds?: Partial<Pick<JournalHead, 'last'>>
  /** `by` is the component that makes the move */
  readonly by: string
  readonly why: string
}

/**
 * Gives a row of the head's moves its type. The parameters of `becomes` are the fields that the caller has read,
 * and further values that the caller passes.
 */
const row = <S extends Partial<JournalHead> | undefined, G extends readonly unknown[]>(
  one: Transition<S, G>,
): Transition<S, G> => one

/** `isOld`: DynamoDB may have deleted entries of the filled positions. Then earlier entries count as not retained. */
interface Filled {
  readonly isOld: boolean
}

const FOLLOWING = {
  applying: 'applying',
  draining: 'draining',
  syncing: 'syncing',
  closed: 'closed',
} as const
const NOTHING_TO_FETCH = { replayUntil: 0, unfinishedSync: null, unfinishedSyncEpoch: '' } as const
const ALL_TO_FETCH = { unfinishedSync: 'all', unfinishedSyncEpoch: '' } as const

export const headTransitions = {
  begin: row({
    modes: { none: 'writing', closed: 'writing' },
    expects: { maxEpoch: true, incarnation: true },
    becomes: (old: JournalHead | undefined, epoch: Epoch) => ({
      ...createFirstHead(epoch, epochNumber(epoch)),
      incarnation: (old?.incarnation ?? 0) + 1,
    }),
    by: 'a cluster that becomes the primary of a new set, and writes its record',
    why: 'the new journal begins in an epoch above all known epochs; a journal in use never restarts',
  }),
  allocate: row({
    modes: { writing: 'writing' },
    expects: { epoch: true },
    becomes: (_: Pick<JournalHead, 'epoch'>) => ({}),
    adds: { last: 1 },
    by: 'every commit of a primary, before its transaction',
    why: 'the position belongs to this commit alone; a closed journal gives no position',
  }),
  noteDense: row({
    modes: { writing: 'writing' },
    expects: { epoch: true, incarnation: true, applied: true },
    becomes: (_: JournalHead, dense: number, { isOld }: Filled = { isOld: false }) => ({
      applied: dense,
      ...(isOld ? { retainedFrom: dense } : {}),
    }),
    by: 'the worker of the journal after it filled holes; a primary before it sends entries',
    why: 'up to this position no journal entry is missing, so later runs need not check again',
  }),
  close: row({
    modes: { writing: 'closed' },
    expects: { epoch: true },
    becomes: (head: JournalHead, successor: string, seenNumber: number) => ({
      successor,
      maxEpoch: Math.max(head.maxEpoch, seenNumber),
    }),
    by: 'a demotion, handover or fence, primary/disable, a restored copy',
    why: 'new commits get no position, so positions without an entry can be filled',
  }),
  noteEnd: row({
    modes: { closed: 'closed' },
    expects: { epoch: true, incarnation: true },
    becomes: ({ last }: JournalHead, { isOld }: Filled) => ({
      applied: last,
      ...(isOld ? { retainedFrom: last } : {}),
    }),
    by: 'the step-down, after every position has a journal entry',
    why: 'the journal’s end is exact, so the call may return it',
  }),
  nameSuccessor: row({
    modes: { closed: 'closed' },
    expects: { epoch: true, successor: true },
    becomes: (_: JournalHead, successor: string) => ({ successor }),
    by: 'a handover of an epoch that was closed without successor',
    why: 'only one cluster takes over a closed epoch',
  }),
  noteFence: row({
    modes: { closed: 'closed' },
    expects: { epoch: true, maxEpoch: true, successor: true },
    becomes: (_: JournalHead, successor: string, number: number) => ({ successor, maxEpoch: number }),
    by: 'a cluster whose epoch was ended by a fence, or was closed before',
    why: 'this cluster’s next epoch gets a higher number than the claimant’s; only the claimant takes over the closed epoch',
  }),
  trim: row({
    modes: { writing: 'writing', closed: 'closed', applying: 'applying' },
    expects: { epoch: true, incarnation: true, retainedFrom: true },
    becomes: (_: JournalHead, from: number) => ({ retainedFrom: from }),
    by: 'the journal worker, twice a day',
    why: 'no cluster reads journal entries that DynamoDB may delete soon',
  }),
  distrustOwn: row({
    modes: { writing: 'writing', closed: 'closed' },
    expects: {},
    becomes: (_: Pick<JournalHead, never>) => ALL_TO_FETCH,
    by: 'a primary whose tables are a restored copy',
    why: 'the restored tables mix states of several times, so the cluster fetches everything from the next primary',
  }),
  distrustCopy: row({
    modes: FOLLOWING,
    expects: {},
    becomes: (_: Pick<JournalHead, never>, link: string) => ({ ...ALL_TO_FETCH, link }),
    by: 'a secondary whose tables are a restored copy',
    why: 'the restored tables mix states of several times; entries that arrive over the link of the copied cluster are rejected',
  }),
  stage: row({
    modes: { applying: 'applying' },
    expects: { incarnation: true, last: true, epoch: true, applied: true, link: true },
    becomes: (
      { maxEpoch }: JournalHead,
      last: JournalPosition & { at: number },
      lineage: JournalLineage,
    ) => ({
      last: last.seq,
      epoch: last.epoch,
      lineage: lineage.filter(([, start]) => start <= last.seq),
      maxEpoch: Math.max(maxEpoch, epochNumber(last.epoch)),
      stagedAt: last.at,
    }),
    by: 'a secondary that stored journal entries of its source',
    why: 'the staged entries will be applied, even if the source is lost',
  }),
  noteApplied: row({
    modes: { applying: 'applying', draining: 'draining' },
    expects: { incarnation: true, applied: true },
    becomes: ({ last, replayUntil }: JournalHead) => ({
      applied: last,
      ...(replayUntil > 0 && last >= replayUntil ? NOTHING_TO_FETCH : {}),
    }),
    by: 'a run that applied the staged entries',
    why: 'no run applies these entries again; at the end of a replay the sync is complete',
  }),
  stopStaging: row({
    modes: { applying: 'draining' },
    expects: { incarnation: true, link: true },
    becomes: (_: JournalHead) => ({}),
    by: 'a sync or a promotion',
    why: 'nothing more is staged, so everything staged can be applied',
  }),
  resume: row({
    modes: { draining: 'applying' },
    expects: { incarnation: true, last: true, link: true },
    becomes: (_: JournalHead) => ({}),
    by: 'a secondary whose journal matches its source’s, or that follows no cluster now; a failed promotion',
    why: 'entries may be staged again',
  }),
  follow: row({
    modes: { closed: 'applying' },
    expects: { incarnation: true, last: true, link: true },
    becomes: ({ incarnation, last }: JournalHead) => ({
      ownEpoch: '',
      incarnation: incarnation + 1,
      applied: last,
    }),
    by: 'a former primary whose journal is part of its new source’s',
    why: 'entries applied from now on give higher bucket marks than this cluster’s own writes',
  }),
  beginSync: row({
    modes: { applying: 'syncing', draining: 'syncing', closed: 'syncing', syncing: 'syncing' },
    expects: { incarnation: true, last: true, applied: true, link: true },
    becomes: ({ incarnation }: JournalHead, unfinishedSync: 'all' | string) => ({
      incarnation: incarnation + 1,
      unfinishedSync,
      unfinishedSyncEpoch: '',
    }),
    by: 'a secondary that cannot reach its source’s state by applying entries',
    why: 'the head notes what the sync may change before the sync changes it; writes of an earlier sync are rejected',
  }),
  refetchAll: row({
    modes: { draining: 'syncing' },
    expects: { incarnation: true },
    becomes: ({ incarnation }: Pick<JournalHead, 'mode' | 'incarnation'>) => ({
      incarnation: incarnation + 1,
      ...ALL_TO_FETCH,
    }),
    by: 'a change of the primary, if staged entries cannot be applied',
    why: 'some staged entries may be applied already, so everything is fetched from the next primary',
  }),
  stopSync: row({
    modes: { syncing: 'syncing' },
    expects: { incarnation: true, last: true, maxEpoch: true },
    becomes: ({ incarnation, last }: JournalHead, number: number) => ({
      incarnation: incarnation + 1,
      applied: last,
      maxEpoch: number,
    }),
    by: 'a promotion by force during a sync',
    why: 'late writes of the sync are rejected; the new epoch is above every epoch that the sync may have fetched',
  }),
  endSync: row({
    modes: { syncing: 'applying' },
    expects: { incarnation: true, link: true },
    becomes: (head: JournalHead, sync: CompletedSync) => afterSync(head, sync),
    by: 'a secondary that fetched everything and closed the segments of the sync',
    why: 'the replay covers the entries written during the fetches; until the replay ends, items may be newer than their journal entries',
  }),
  requestSync: row({
    modes: { applying: 'applying' },
    expects: { incarnation: true, replayUntil: true, unfinishedSync: true },
    becomes: (_: JournalHead, report: string) => ({ unfinishedSync: report, unfinishedSyncEpoch: '' }),
    by: 'a comparison with the primary that found differences',
    why: 'the next sync also fetches what the report names',
  }),
  changeLink: row({
    modes: { ...FOLLOWING, applying: 'draining' },
    expects: { incarnation: true, link: true },
    becomes: (_: JournalHead, link: string) => ({ link }),
    by: 'a change of the primary, or a secondary that leaves its set',
    why: 'there is one link at a time: everything that arrives over the old link is rejected, however late',
  }),
  restoreLink: row({
    modes: FOLLOWING,
    expects: { link: true },
    becomes: (_: Pick<JournalHead, 'link'>, link: string) => ({ link }),
    by: 'a change of the primary that fails before the cluster record names the new primary',
    why: 'this cluster follows its old primary again',
  }),
  leaveSet: row({
    modes: { applying: 'closed', draining: 'closed', syncing: 'closed', closed: 'closed' },
    expects: { incarnation: true, last: true, applied: true, link: true },
    becomes: (_: JournalHead, number: number) => ({ ownEpoch: '', maxEpoch: number, ...NOTHING_TO_FETCH }),
    by: 'a secondary that leaves its set, and changes its record and keyring',
    why: 'the cluster follows no source; its next journal gets an epoch above that of every item here',
  }),
  takeOver: row({
    modes: { closed: 'writing', draining: 'writing', syncing: 'writing' },
    expects: {
      incarnation: true,
      last: true,
      applied: true,
      epoch: true,
      maxEpoch: true,
      unfinishedSync: true,
    },
    becomes: ({ incarnation, last, lineage, unfinishedSync }: JournalHead, epoch: Epoch) => ({
      epoch,
      ownEpoch: epoch,
      maxEpoch: epochNumber(epoch),
      incarnation: incarnation + 1,
      applied: last,
      ...NOTHING_TO_FETCH,
      ...(unfinishedSync === null
        ? { lineage: appendEpoch(before(lineage, last), epoch, last + 1) }
        : // what an unfinished sync has touched leads from nowhere
          { lineage: [[epoch, last + 1]], retainedFrom: last }),
    }),
    by: 'a promotion that also writes record and membership',
    why: 'this cluster writes in an epoch of its own, from the next position on',
  }),
  startEmpty: row({
    modes: { none: 'syncing', closed: 'syncing' },
    expects: { incarnation: true, last: true },
    becomes: (old: JournalHead | undefined, link: string) => ({
      ...createFirstHead('', old?.maxEpoch ?? 0),
      lineage: [],
      incarnation: (old?.incarnation ?? 0) + 1,
      unfinishedSync: 'all',
      link,
    }),
    by: 'the activation of a secondary, before the old items are deleted',
    why: 'the secondary fetches everything; writes of earlier runs are rejected',
  }),
  skipStaged: row({
    modes: { draining: 'draining' },
    expects: { incarnation: true, last: true, applied: true },
    becomes: ({ last }: JournalHead) => ({ applied: last, ...ALL_TO_FETCH }),
    by: 'a promotion by force, if staged entries cannot be applied',
    why: 'some of these entries may be applied already, the others never will be: the journal does not lead to this state',
  }),
}

/** Returns the part of a lineage up to a position. */
const before = (lineage: JournalLineage, seq: number): JournalLineage =>
  lineage.filter(([, start]) => start <= seq)

/** A sync whose segments are closed. */
export interface CompletedSync {
  readonly what: 'all' | 'touched'
  /** `start` is the position after which the replay begins */
  readonly start: number
  /** lineage of the source */
  readonly lineage: JournalLineage
  /** `hasFetched`: whether the sync fetched items that may be newer than their journal entries */
  readonly hasFetched: boolean
  /** `end` is the end of the source's journal after the last fetch */
  readonly end: JournalPosition
}

function afterSync(
  head: JournalHead,
  { what, start, lineage: known, hasFetched, end }: CompletedSync,
): Partial<JournalHead> {
  const until = end.seq > start && (what === 'all' || hasFetched) ? end.seq : 0
  const lineage = before(known, start)
  return {
    // `unfinishedSync` stays set until the replay ends
    ...(until > 0 ? { replayUntil: until, unfinishedSyncEpoch: end.epoch } : NOTHING_TO_FETCH),
    ...(what === 'all' ? { retainedFrom: start } : {}),
    incarnation: head.incarnation + 1,
    epoch: epochAt(known, start) || end.epoch,
    ownEpoch: '',
    last: start,
    applied: start,
    lineage: lineage.length > 0 ? lineage : known.slice(0, 1),
    maxEpoch: Math.max(head.maxEpoch, epochNumber(end.epoch)),
    stagedAt: 0,
  }
}

export type HeadTransitionName = keyof typeof headTransitions

declare const made: unique symbol

/** A move of the head. Only the rows of `headTransitions` create moves of the head. */
export interface HeadMove {
  readonly [made]: true
  readonly name: HeadTransitionName
  /**
   * `from`: modes in which the head may be; empty if the caller has read a mode that the row does not allow;
   * `none`: the journal has no head yet
   */
  readonly from: readonly JournalHeadMode[] | 'none'
  readonly expect: Partial<JournalHead>
  readonly next: Partial<JournalHead>
  readonly add: Partial<Pick<JournalHead, 'last'>>
  /** `after`: fields of the head after the move, as far as the caller knows them */
  readonly after: Partial<JournalHead>
}

type Rows = typeof headTransitions

/**
 * The moves of the head by the names of their rows. Each move takes the head as its caller has read it, and further
 * values that the row needs.
 */
export const headMoves = Object.fromEntries(
  Object.entries(headTransitions).map(([name, one]) => [
    name,
    (seen: Partial<JournalHead> | undefined, ...given: readonly unknown[]) =>
      moveBy(
        name as HeadTransitionName,
        one as unknown as Transition<Partial<JournalHead> | undefined, readonly unknown[]>,
        seen,
        given,
      ),
  ]),
) as unknown as { readonly [N in HeadTransitionName]: (...given: Parameters<Rows[N]['becomes']>) => HeadMove }

function moveBy(
  name: HeadTransitionName,
  { modes, expects, becomes, adds = {} }: Transition<Partial<JournalHead> | undefined, readonly unknown[]>,
  seen: Partial<JournalHead> | undefined,
  given: readonly unknown[],
): HeadMove {
  const { none, ...there } = modes
  const to = seen ? seen.mode && there[seen.mode] : none
  const isOfNone = seen?.mode !== undefined && to === undefined
  const { mode: _, ...changes } = becomes(seen, ...given)
  const next = { ...changes, ...(to && to !== seen?.mode ? { mode: to } : {}) }
  const expected = Object.entries(seen ?? {}).filter(([field]) => field === 'mode' || field in expects)
  const move: Omit<HeadMove, typeof made> = {
    name,
    from: seen ? (isOfNone ? [] : (Object.keys(there) as JournalHeadMode[])) : 'none',
    expect: Object.fromEntries(expected),
    next,
    add: adds,
    after: { ...seen, ...next },
  }
  return move as HeadMove
}
