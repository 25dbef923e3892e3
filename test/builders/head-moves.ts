import type { Head, HeadMode } from '../../shared/journal/head.ts'
import { type HeadMove, moves, type TransitionName } from '../../shared/journal/transitions.ts'

export const FIRST = '000001.aaaaaaaaaaaa'
export const SECOND = '000002.bbbbbbbbbbbb'
export const THIRD = '000003.cccccccccccc'

const common: Omit<Head, 'mode'> = {
  ...{ epoch: SECOND, own: '', seq: 9, done: 7, hold: 5, from: 2, until: 0, dirty: null, dirtyFrom: '' },
  line: [
    [FIRST, 1],
    [SECOND, 4],
  ],
  ...{ n: 2, heir: '', stagedAt: 100, link: 'a link' },
}

/** A head of each mode that keeps all rules. */
export const headIn: Readonly<Record<HeadMode, Head>> = {
  writing: { ...common, mode: 'writing', own: SECOND },
  closed: { ...common, mode: 'closed', own: SECOND },
  applying: { ...common, mode: 'applying' },
  draining: { ...common, mode: 'draining' },
  syncing: { ...common, mode: 'syncing', dirty: 'a report' },
}

/** A row as the protocol wants it. */
interface MoveCase {
  /** by the head that somebody has seen; undefined: there was none */
  readonly make: (seen: Head | undefined) => HeadMove
  /** from which modes, and what the mode is then; from all others it is refused */
  readonly modes: Partial<Record<HeadMode | 'none', HeadMode>>
  /** what has to be as it was seen: whoever has changed it meanwhile was faster */
  readonly fencedBy: readonly (keyof Head)[]
  /** what changes besides the mode, of a head of `headIn` */
  readonly becomes: Partial<Head>
}

const of =
  (make: (seen: Head) => HeadMove): MoveCase['make'] =>
  seen =>
    make(seen as Head)

const EMPTY = { until: 0, dirty: null, dirtyFrom: '' } as const
const ALL = { dirty: 'all', dirtyFrom: '' } as const
const ALL_BUT_WRITING = {
  applying: 'applying',
  draining: 'draining',
  syncing: 'syncing',
  closed: 'closed',
} as const
const BEGUN = { seq: 0, done: 0, from: 0, heir: '', hold: 6, ...EMPTY } as const

export const moveCases: Readonly<Record<TransitionName, MoveCase>> = {
  begin: {
    make: old => moves.begin(old, THIRD),
    modes: { none: 'writing', closed: 'writing' },
    fencedBy: ['mode', 'hold', 'n'],
    becomes: { ...BEGUN, epoch: THIRD, own: THIRD, n: 3, line: [[THIRD, 1]], link: '' },
  },
  allocate: {
    make: of(({ epoch }) => moves.allocate({ epoch })),
    modes: { writing: 'writing' },
    fencedBy: ['mode', 'epoch'],
    becomes: { seq: 10 },
  },
  noteDense: {
    make: of(head => moves.noteDense(head, 8)),
    modes: { writing: 'writing' },
    fencedBy: ['mode', 'epoch', 'hold', 'done'],
    becomes: { done: 8 },
  },
  close: {
    make: of(head => moves.close(head, 'heir', 7)),
    modes: { writing: 'closed' },
    fencedBy: ['mode', 'epoch'],
    becomes: { heir: 'heir', n: 7 },
  },
  noteEnd: {
    make: of(head => moves.noteEnd(head, { isOld: false })),
    modes: { closed: 'closed' },
    fencedBy: ['mode', 'epoch', 'hold'],
    becomes: { done: 9 },
  },
  nameSuccessor: {
    make: of(head => moves.nameSuccessor(head, 'heir')),
    modes: { closed: 'closed' },
    fencedBy: ['mode', 'epoch', 'heir'],
    becomes: { heir: 'heir' },
  },
  noteFence: {
    make: of(head => moves.noteFence(head, 'heir', 8)),
    modes: { closed: 'closed' },
    fencedBy: ['mode', 'epoch', 'n', 'heir'],
    becomes: { heir: 'heir', n: 8 },
  },
  trim: {
    make: of(head => moves.trim(head, 6)),
    modes: { writing: 'writing', closed: 'closed', applying: 'applying' },
    fencedBy: ['mode', 'epoch', 'hold', 'from'],
    becomes: { from: 6 },
  },
  distrustOwn: {
    make: () => moves.distrustOwn({}),
    modes: { writing: 'writing', closed: 'closed' },
    fencedBy: [],
    becomes: ALL,
  },
  distrustCopy: {
    make: () => moves.distrustCopy({}, 'nobody’s'),
    modes: ALL_BUT_WRITING,
    fencedBy: [],
    becomes: { ...ALL, link: 'nobody’s' },
  },
  stage: {
    make: of(head => moves.stage(head, { epoch: THIRD, seq: 11, at: 300 }, [...head.line, [THIRD, 11]])),
    modes: { applying: 'applying' },
    fencedBy: ['mode', 'hold', 'seq', 'epoch', 'done', 'link'],
    becomes: { seq: 11, epoch: THIRD, n: 3, stagedAt: 300, line: [...common.line, [THIRD, 11]] },
  },
  noteApplied: {
    make: of(head => moves.noteApplied(head)),
    modes: { applying: 'applying', draining: 'draining' },
    fencedBy: ['mode', 'hold', 'done'],
    becomes: { done: 9 },
  },
  stopStaging: {
    make: of(head => moves.stopStaging(head)),
    modes: { applying: 'draining' },
    fencedBy: ['mode', 'hold', 'link'],
    becomes: {},
  },
  resume: {
    make: of(head => moves.resume(head)),
    modes: { draining: 'applying' },
    fencedBy: ['mode', 'hold', 'seq', 'link'],
    becomes: {},
  },
  follow: {
    make: of(head => moves.follow(head)),
    modes: { closed: 'applying' },
    fencedBy: ['mode', 'hold', 'seq', 'link'],
    becomes: { own: '', hold: 6, done: 9 },
  },
  beginSync: {
    make: of(head => moves.beginSync(head, 'new report')),
    modes: { applying: 'syncing', draining: 'syncing', closed: 'syncing', syncing: 'syncing' },
    fencedBy: ['mode', 'hold', 'seq', 'done', 'link'],
    becomes: { hold: 6, dirty: 'new report', dirtyFrom: '' },
  },
  refetchAll: {
    make: of(head => moves.refetchAll(head)),
    modes: { draining: 'syncing' },
    fencedBy: ['mode', 'hold'],
    becomes: { hold: 6, ...ALL },
  },
  stopSync: {
    make: of(head => moves.stopSync(head, 9)),
    modes: { syncing: 'syncing' },
    fencedBy: ['mode', 'hold', 'seq', 'n'],
    becomes: { hold: 6, done: 9, n: 9 },
  },
  endSync: {
    make: of(head => {
      const line = [...head.line, [THIRD, 20]] as const
      const end = { epoch: THIRD, seq: 30 }
      return moves.endSync(head, { what: 'touched', start: 8, line, hasFetched: true, end })
    }),
    modes: { syncing: 'applying' },
    fencedBy: ['mode', 'hold', 'link'],
    becomes: {
      ...{ own: '', seq: 8, done: 8, hold: 6, until: 30, dirtyFrom: THIRD, n: 3, stagedAt: 0 },
    },
  },
  requestSync: {
    make: of(head => moves.requestSync(head, 'new report')),
    modes: { applying: 'applying' },
    fencedBy: ['mode', 'hold', 'until', 'dirty'],
    becomes: { dirty: 'new report', dirtyFrom: '' },
  },
  changeLink: {
    make: of(head => moves.changeLink(head, 'new link')),
    modes: { applying: 'draining', draining: 'draining', syncing: 'syncing', closed: 'closed' },
    fencedBy: ['mode', 'hold', 'link'],
    becomes: { link: 'new link' },
  },
  restoreLink: {
    make: of(({ link }) => moves.restoreLink({ link }, 'old link')),
    modes: ALL_BUT_WRITING,
    fencedBy: ['link'],
    becomes: { link: 'old link' },
  },
  leaveSet: {
    make: of(head => moves.leaveSet(head, 10)),
    modes: { applying: 'closed', draining: 'closed', syncing: 'closed', closed: 'closed' },
    fencedBy: ['mode', 'hold', 'seq', 'done', 'link'],
    becomes: { own: '', n: 10, ...EMPTY },
  },
  takeOver: {
    make: of(head => moves.takeOver({ ...head, dirty: null }, THIRD)),
    modes: { closed: 'writing', draining: 'writing', syncing: 'writing' },
    fencedBy: ['mode', 'hold', 'seq', 'done', 'epoch', 'n', 'dirty'],
    becomes: {
      epoch: THIRD,
      own: THIRD,
      n: 3,
      hold: 6,
      done: 9,
      line: [...common.line, [THIRD, 10]],
      ...EMPTY,
    },
  },
  startEmpty: {
    make: old => moves.startEmpty(old, 'first link'),
    modes: { none: 'syncing', closed: 'syncing' },
    fencedBy: ['mode', 'hold', 'seq'],
    becomes: { ...BEGUN, epoch: '', own: '', line: [], dirty: 'all', link: 'first link' },
  },
  skipStaged: {
    make: of(head => moves.skipStaged(head)),
    modes: { draining: 'draining' },
    fencedBy: ['mode', 'hold', 'seq', 'done'],
    becomes: { done: 9, ...ALL },
  },
}
