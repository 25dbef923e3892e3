import type { JournalHead, JournalHeadMode } from '../../shared/journal/head.ts'
import { type HeadMove, type HeadTransitionName, headMoves } from '../../shared/journal/transitions.ts'

export const FIRST = '000001.aaaaaaaaaaaa'
export const SECOND = '000002.bbbbbbbbbbbb'
export const THIRD = '000003.cccccccccccc'

const common: Omit<JournalHead, 'mode'> = {
  epoch: SECOND,
  ownEpoch: '',
  last: 9,
  applied: 7,
  incarnation: 5,
  retainedFrom: 2,
  replayUntil: 0,
  unfinishedSync: null,
  unfinishedSyncEpoch: '',
  lineage: [
    [FIRST, 1],
    [SECOND, 4],
  ],
  maxEpoch: 2,
  successor: '',
  stagedAt: 100,
  link: 'a link',
}

/** A journal head of each mode that keeps all rules. */
export const headIn: Readonly<Record<JournalHeadMode, JournalHead>> = {
  writing: { ...common, mode: 'writing', ownEpoch: SECOND },
  closed: { ...common, mode: 'closed', ownEpoch: SECOND },
  applying: { ...common, mode: 'applying' },
  draining: { ...common, mode: 'draining' },
  syncing: { ...common, mode: 'syncing', unfinishedSync: 'a report' },
}

/** The expected properties of a row. */
interface MoveCase {
  /** makes the move from the head that its caller has read; undefined: there was no head */
  readonly make: (seen: JournalHead | undefined) => HeadMove
  /** the mode after the move, for each mode in which the move is allowed; other modes are refused */
  readonly modes: Partial<Record<JournalHeadMode | 'none', JournalHeadMode>>
  /** the fields that must not change between the caller's read and the move */
  readonly fencedBy: readonly (keyof JournalHead)[]
  /** the changes that the move makes to a head of `headIn`, without the mode */
  readonly becomes: Partial<JournalHead>
}

const of =
  (make: (seen: JournalHead) => HeadMove): MoveCase['make'] =>
  seen =>
    make(seen as JournalHead)

const EMPTY = { replayUntil: 0, unfinishedSync: null, unfinishedSyncEpoch: '' } as const
const ALL = { unfinishedSync: 'all', unfinishedSyncEpoch: '' } as const
const ALL_BUT_WRITING = {
  applying: 'applying',
  draining: 'draining',
  syncing: 'syncing',
  closed: 'closed',
} as const
const BEGUN = { last: 0, applied: 0, retainedFrom: 0, successor: '', incarnation: 6, ...EMPTY } as const

export const moveCases: Readonly<Record<HeadTransitionName, MoveCase>> = {
  begin: {
    make: old => headMoves.begin(old, THIRD),
    modes: { none: 'writing', closed: 'writing' },
    fencedBy: ['mode', 'incarnation', 'maxEpoch'],
    becomes: { ...BEGUN, epoch: THIRD, ownEpoch: THIRD, maxEpoch: 3, lineage: [[THIRD, 1]], link: '' },
  },
  allocate: {
    make: of(({ epoch }) => headMoves.allocate({ epoch })),
    modes: { writing: 'writing' },
    fencedBy: ['mode', 'epoch'],
    becomes: { last: 10 },
  },
  noteDense: {
    make: of(head => headMoves.noteDense(head, 8)),
    modes: { writing: 'writing' },
    fencedBy: ['mode', 'epoch', 'incarnation', 'applied'],
    becomes: { applied: 8 },
  },
  close: {
    make: of(head => headMoves.close(head, 'successor', 7)),
    modes: { writing: 'closed' },
    fencedBy: ['mode', 'epoch'],
    becomes: { successor: 'successor', maxEpoch: 7 },
  },
  noteEnd: {
    make: of(head => headMoves.noteEnd(head, { isOld: false })),
    modes: { closed: 'closed' },
    fencedBy: ['mode', 'epoch', 'incarnation'],
    becomes: { applied: 9 },
  },
  nameSuccessor: {
    make: of(head => headMoves.nameSuccessor(head, 'successor')),
    modes: { closed: 'closed' },
    fencedBy: ['mode', 'epoch', 'successor'],
    becomes: { successor: 'successor' },
  },
  noteFence: {
    make: of(head => headMoves.noteFence(head, 'successor', 8)),
    modes: { closed: 'closed' },
    fencedBy: ['mode', 'epoch', 'maxEpoch', 'successor'],
    becomes: { successor: 'successor', maxEpoch: 8 },
  },
  trim: {
    make: of(head => headMoves.trim(head, 6)),
    modes: { writing: 'writing', closed: 'closed', applying: 'applying' },
    fencedBy: ['mode', 'epoch', 'incarnation', 'retainedFrom'],
    becomes: { retainedFrom: 6 },
  },
  distrustOwn: {
    make: () => headMoves.distrustOwn({}),
    modes: { writing: 'writing', closed: 'closed' },
    fencedBy: [],
    becomes: ALL,
  },
  distrustCopy: {
    make: () => headMoves.distrustCopy({}, 'nobody’s'),
    modes: ALL_BUT_WRITING,
    fencedBy: [],
    becomes: { ...ALL, link: 'nobody’s' },
  },
  stage: {
    make: of(head =>
      headMoves.stage(head, { epoch: THIRD, seq: 11, at: 300 }, [...head.lineage, [THIRD, 11]]),
    ),
    modes: { applying: 'applying' },
    fencedBy: ['mode', 'incarnation', 'last', 'epoch', 'applied', 'link'],
    becomes: {
      last: 11,
      epoch: THIRD,
      maxEpoch: 3,
      stagedAt: 300,
      lineage: [...common.lineage, [THIRD, 11]],
    },
  },
  noteApplied: {
    make: of(head => headMoves.noteApplied(head)),
    modes: { applying: 'applying', draining: 'draining' },
    fencedBy: ['mode', 'incarnation', 'applied'],
    becomes: { applied: 9 },
  },
  stopStaging: {
    make: of(head => headMoves.stopStaging(head)),
    modes: { applying: 'draining' },
    fencedBy: ['mode', 'incarnation', 'link'],
    becomes: {},
  },
  resume: {
    make: of(head => headMoves.resume(head)),
    modes: { draining: 'applying' },
    fencedBy: ['mode', 'incarnation', 'last', 'link'],
    becomes: {},
  },
  follow: {
    make: of(head => headMoves.follow(head)),
    modes: { closed: 'applying' },
    fencedBy: ['mode', 'incarnation', 'last', 'link'],
    becomes: { ownEpoch: '', incarnation: 6, applied: 9 },
  },
  beginSync: {
    make: of(head => headMoves.beginSync(head, 'new report')),
    modes: { applying: 'syncing', draining: 'syncing', closed: 'syncing', syncing: 'syncing' },
    fencedBy: ['mode', 'incarnation', 'last', 'applied', 'link'],
    becomes: { incarnation: 6, unfinishedSync: 'new report', unfinishedSyncEpoch: '' },
  },
  refetchAll: {
    make: of(head => headMoves.refetchAll(head)),
    modes: { draining: 'syncing' },
    fencedBy: ['mode', 'incarnation'],
    becomes: { incarnation: 6, ...ALL },
  },
  stopSync: {
    make: of(head => headMoves.stopSync(head, 9)),
    modes: { syncing: 'syncing' },
    fencedBy: ['mode', 'incarnation', 'last', 'maxEpoch'],
    becomes: { incarnation: 6, applied: 9, maxEpoch: 9 },
  },
  endSync: {
    make: of(head => {
      const lineage = [...head.lineage, [THIRD, 20]] as const
      const end = { epoch: THIRD, seq: 30 }
      return headMoves.endSync(head, { what: 'touched', start: 8, lineage, hasFetched: true, end })
    }),
    modes: { syncing: 'applying' },
    fencedBy: ['mode', 'incarnation', 'link'],
    becomes: {
      ownEpoch: '',
      last: 8,
      applied: 8,
      incarnation: 6,
      replayUntil: 30,
      unfinishedSyncEpoch: THIRD,
      maxEpoch: 3,
      stagedAt: 0,
    },
  },
  requestSync: {
    make: of(head => headMoves.requestSync(head, 'new report')),
    modes: { applying: 'applying' },
    fencedBy: ['mode', 'incarnation', 'replayUntil', 'unfinishedSync'],
    becomes: { unfinishedSync: 'new report', unfinishedSyncEpoch: '' },
  },
  changeLink: {
    make: of(head => headMoves.changeLink(head, 'new link')),
    modes: { applying: 'draining', draining: 'draining', syncing: 'syncing', closed: 'closed' },
    fencedBy: ['mode', 'incarnation', 'link'],
    becomes: { link: 'new link' },
  },
  restoreLink: {
    make: of(({ link }) => headMoves.restoreLink({ link }, 'old link')),
    modes: ALL_BUT_WRITING,
    fencedBy: ['link'],
    becomes: { link: 'old link' },
  },
  leaveSet: {
    make: of(head => headMoves.leaveSet(head, 10)),
    modes: { applying: 'closed', draining: 'closed', syncing: 'closed', closed: 'closed' },
    fencedBy: ['mode', 'incarnation', 'last', 'applied', 'link'],
    becomes: { ownEpoch: '', maxEpoch: 10, ...EMPTY },
  },
  takeOver: {
    make: of(head => headMoves.takeOver({ ...head, unfinishedSync: null }, THIRD)),
    modes: { closed: 'writing', draining: 'writing', syncing: 'writing' },
    fencedBy: ['mode', 'incarnation', 'last', 'applied', 'epoch', 'maxEpoch', 'unfinishedSync'],
    becomes: {
      epoch: THIRD,
      ownEpoch: THIRD,
      maxEpoch: 3,
      incarnation: 6,
      applied: 9,
      lineage: [...common.lineage, [THIRD, 10]],
      ...EMPTY,
    },
  },
  startEmpty: {
    make: old => headMoves.startEmpty(old, 'first link'),
    modes: { none: 'syncing', closed: 'syncing' },
    fencedBy: ['mode', 'incarnation', 'last'],
    becomes: { ...BEGUN, epoch: '', ownEpoch: '', lineage: [], unfinishedSync: 'all', link: 'first link' },
  },
  skipStaged: {
    make: of(head => headMoves.skipStaged(head)),
    modes: { draining: 'draining' },
    fencedBy: ['mode', 'incarnation', 'last', 'applied'],
    becomes: { applied: 9, ...ALL },
  },
}
