import {
  type Epoch,
  epochNumber,
  type JournalLineage,
  type JournalPosition,
  MAX_LINEAGE_EPOCHS,
} from './position.ts'

/**
 * The state of a cluster's journal. `writing`: the primary appends to its journal. `closed`: the journal's epoch
 * has ended, or is about to end. `applying`: a secondary stages and applies entries of its source. `draining`: a
 * secondary applies its staged entries and stages no new entry. `syncing`: a secondary fetches items.
 */
export type JournalHeadMode = 'writing' | 'closed' | 'applying' | 'draining' | 'syncing'

/**
 * The head of a journal: one small item. The head changes only by the rows of `transitions.ts`. Every write of the
 * head checks `headRules`.
 * @see docs/spec/journal-head.md
 */
export interface JournalHead {
  /** `mode` names what the journal is doing. `mode` decides which moves of the head are possible. */
  mode: JournalHeadMode
  /** `epoch` is the epoch of the last journal position. A call that takes a position or ends the epoch names `epoch`. */
  epoch: Epoch
  /** `ownEpoch` is the epoch that this cluster writes, or wrote last; on a follower `ownEpoch` is empty. Only the owner of an epoch serves the journal to other clusters. */
  ownEpoch: Epoch | ''
  /** `last` is the last journal position given to a commit, or staged. The next commit gets `last` + 1. */
  last: number
  /** On a secondary, `applied` is the last position whose items are written. On a primary, no journal entry is missing up to `applied`. Unfinished work restarts after `applied`. */
  applied: number
  /** `incarnation` is the first part of all bucket marks. `incarnation` grows with every promotion, sync and end of a sync, so DynamoDB rejects writes of earlier runs. */
  incarnation: number
  /** `lineage` lists epochs with their first positions. The lineages of two journals show where the journals fork. */
  lineage: JournalLineage
  /** The cluster keeps journal entries after the position `retainedFrom`. Entries up to `retainedFrom` are neither read nor rewound. */
  retainedFrom: number
  /** `replayUntil` is the position at which the replay after a sync ends; 0 means no replay. During a replay an item may be newer than its journal entry. */
  replayUntil: number
  /**
   * `unfinishedSync` names what an unfinished sync may have changed: nothing, everything, or the items of a report.
   * The next sync fetches the items that an unfinished sync may have changed.
   */
  unfinishedSync: null | 'all' | string
  /** During a replay, `unfinishedSyncEpoch` is the epoch of the source of the last sync; otherwise empty. If the source has another epoch, the sync starts again. */
  unfinishedSyncEpoch: Epoch | ''
  /** `maxEpoch` is the highest epoch number that this cluster has seen. A new epoch of this cluster gets a higher number. */
  maxEpoch: number
  /** `successor` is the UUID of the only cluster that may take over the closed epoch. An empty `successor` means that no cluster has asked to take over. */
  successor: string
  /** `stagedAt` is the time when the last staged entry was written, in epoch milliseconds by its writer’s clock; 0 or absent means unknown. The status shows `stagedAt`. */
  stagedAt?: number
  /** `link` is the name of the link by which this cluster follows; empty means that this cluster never followed. Entries by another link are rejected. */
  link: string
}

/**
 * A statement about a head that DynamoDB can check in a condition: the value of one field, or a relation of two
 * fields. `within`: the number of an epoch is not above the other field.
 */
export type HeadFact =
  | { readonly kind: 'among'; readonly field: keyof JournalHead; readonly among: readonly unknown[] }
  | { readonly kind: 'isNot'; readonly field: keyof JournalHead; readonly value: unknown }
  | { readonly kind: HeadFieldRelation; readonly field: keyof JournalHead; readonly other: keyof JournalHead }

export type HeadFieldRelation = 'upTo' | 'below' | 'same' | 'within'

/**
 * An invariant of the head, with the sentence that describes it. Either at least one fact of the invariant holds,
 * or, for the lineage, `holds` returns true. DynamoDB cannot check `holds`.
 */
export type HeadRule =
  | { readonly says: string; readonly oneOf: readonly HeadFact[]; readonly holds?: undefined }
  | {
      readonly says: string
      readonly of: readonly (keyof JournalHead)[]
      readonly holds: (head: JournalHead) => boolean
    }

const is = (field: keyof JournalHead, ...among: readonly unknown[]): HeadFact => ({
  kind: 'among',
  field,
  among,
})
const isNot = (field: keyof JournalHead, value: unknown): HeadFact => ({ kind: 'isNot', field, value })
const compared = (field: keyof JournalHead, kind: HeadFieldRelation, other: keyof JournalHead): HeadFact => ({
  kind,
  field,
  other,
})
const modeIs = (...among: readonly JournalHeadMode[]): HeadFact => is('mode', ...among)

/**
 * The invariants of the head, for example `retainedFrom <= applied <= last`. Every write of the head carries the
 * invariants in its condition, so DynamoDB refuses a move that would break an invariant.
 */
export const headRules = {
  applied: {
    says: '`applied` is at most `last`: only a position that a commit received, or that was staged, is applied',
    oneOf: [compared('applied', 'upTo', 'last')],
  },
  kept: {
    says: '`retainedFrom` is at most `applied`: journal entries that are not applied yet are kept',
    oneOf: [compared('retainedFrom', 'upTo', 'applied')],
  },
  writer: {
    says: 'a cluster writes entries only in its own epoch',
    oneOf: [modeIs('closed', 'applying', 'draining', 'syncing'), compared('ownEpoch', 'same', 'epoch')],
  },
  follower: {
    says: 'a cluster that applies another cluster’s journal has an empty `ownEpoch`',
    oneOf: [modeIs('writing', 'closed', 'syncing'), is('ownEpoch', '')],
  },
  owner: {
    says: '`ownEpoch` is empty, or equals `epoch`',
    oneOf: [is('ownEpoch', ''), compared('ownEpoch', 'same', 'epoch')],
  },
  numbered: {
    says: 'the number of `epoch` is at most `maxEpoch`',
    oneOf: [compared('epoch', 'within', 'maxEpoch')],
  },
  touching: {
    says: '`unfinishedSync` is set while a sync runs',
    oneOf: [modeIs('writing', 'closed', 'applying', 'draining'), isNot('unfinishedSync', null)],
  },
  replaying: {
    says: 'during a replay the head still names the items that the sync may have changed',
    oneOf: [is('replayUntil', 0), isNot('unfinishedSync', null)],
  },
  replayed: {
    says: 'while `unfinishedSyncEpoch` names the epoch of a replay’s source, `applied` is below `replayUntil`',
    oneOf: [is('unfinishedSyncEpoch', ''), compared('applied', 'below', 'replayUntil')],
  },
  alone: {
    says: 'no replay runs while a cluster writes its journal, or after the cluster has closed its journal',
    oneOf: [modeIs('applying', 'draining', 'syncing'), is('replayUntil', 0)],
  },
  lineage: {
    says: 'epochs and start positions in the lineage rise, no epoch begins after the last position, and the lineage has at most twelve epochs',
    of: ['lineage', 'epoch', 'last'],
    holds: ({ lineage, epoch, last }) => {
      const [lastEpoch, lastStart] = lineage.at(-1) ?? ['', 0]
      const rises = lineage.every(([one, start], index) => {
        const [before, startBefore] = lineage[index - 1] ?? ['', 0]
        return one > before && start > startBefore
      })
      return rises && lineage.length <= MAX_LINEAGE_EPOCHS && lastEpoch <= epoch && lastStart <= last + 1
    },
  },
} satisfies Readonly<Record<string, HeadRule>>

export type HeadRuleName = keyof typeof headRules

export const headRuleList: readonly (readonly [HeadRuleName, HeadRule])[] = Object.entries(
  headRules,
) as unknown as readonly (readonly [HeadRuleName, HeadRule])[]

/** The fields of the head that never decrease. */
export const growingHeadFields: readonly (keyof JournalHead)[] = ['incarnation', 'maxEpoch']

/** Evaluates a fact about a head. Returns undefined if one of the fact's fields is unknown. */
export function evaluateHeadFact(fact: HeadFact, head: Partial<JournalHead>): boolean | undefined {
  const value = head[fact.field]
  if (value === undefined) return undefined
  if (fact.kind === 'among') return fact.among.includes(value)
  if (fact.kind === 'isNot') return value !== fact.value
  const other = head[fact.other]
  if (other === undefined) return undefined
  if (fact.kind === 'same') return value === other
  if (fact.kind === 'within') return epochNumber(String(value)) <= Number(other)
  return fact.kind === 'upTo' ? Number(value) <= Number(other) : Number(value) < Number(other)
}

/**
 * Returns the names of the rules that a head breaks. If fields of the head are unknown, the function returns only
 * rules that the known fields break.
 */
export function findBrokenHeadRules(head: Partial<JournalHead>): HeadRuleName[] {
  return headRuleList.flatMap(([name, rule]) => {
    if (!rule.holds) return rule.oneOf.every(fact => evaluateHeadFact(fact, head) === false) ? [name] : []
    return rule.of.some(field => head[field] === undefined) || rule.holds(head as JournalHead) ? [] : [name]
  })
}

/** Returns the last position that was allocated to a commit, or staged. */
export const lastPosition = ({ epoch, last }: Pick<JournalHead, 'epoch' | 'last'>): JournalPosition => ({
  epoch,
  seq: last,
})

/**
 * Returns the head of a new journal.
 * @param number of the new journal's epoch
 */
export const createFirstHead = (epoch: Epoch, number: number): JournalHead => ({
  mode: 'writing',
  epoch,
  ownEpoch: epoch,
  last: 0,
  applied: 0,
  incarnation: 1,
  lineage: [[epoch, 1]],
  retainedFrom: 0,
  replayUntil: 0,
  unfinishedSync: null,
  unfinishedSyncEpoch: '',
  maxEpoch: number,
  successor: '',
  link: '',
})
