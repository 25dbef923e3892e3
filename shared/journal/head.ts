import { type Epoch, epochNumber, type Lineage, LONGEST_LINEAGE, type Position } from './position.ts'

/**
 * What the journal of a cluster is doing. `writing`: it is a primary's. `closed`: it has an exact end, or gets one.
 * `applying`: it follows another cluster's. `draining`: it follows, and takes nothing new. `syncing`: items are fetched.
 */
export type HeadMode = 'writing' | 'closed' | 'applying' | 'draining' | 'syncing'

/**
 * The head of a journal: one small item. It moves by the rows of `transitions.ts` alone, and `headRules` binds its fields
 * to each other.
 * @see docs/spec/journal-head.md
 */
export interface Head {
  /** What the journal is doing. It decides who may move the head, and how. */
  mode: HeadMode
  /** The epoch of the last position. Whoever takes a position, or ends the epoch, names it. */
  epoch: Epoch
  /** The epoch that this cluster itself writes, or wrote last; empty where it follows. Only its owner gives a journal away. */
  own: Epoch | ''
  /** The last position that was given to a commit, or staged. The next one is behind it. */
  last: number
  /**
   * The last position up to which all is applied; of a cluster that writes, up to which no journal entry is known to be missing.
   * Work that was left half done begins again behind it.
   */
  applied: number
  /** The first part of all marks; grows with every take-over, sync and end of a sync. It fences what was begun before. */
  incarnation: number
  /** The lineage: epochs with their first positions. It tells where two journals fork. */
  lineage: Lineage
  /** Journal entries are kept from behind this position on. Nobody reads, or rewinds, what stands before. */
  retainedFrom: number
  /** Where the replay after a sync ends; 0 outside. Up to there an item may be ahead of its journal entry. */
  replayUntil: number
  /** What a sync that is not finished may have touched: nothing, everything, or what a report names. The next sync fetches it. */
  unfinishedSync: null | 'all' | string
  /** The epoch of the source of the last sync, while its replay lasts; else empty. Another source makes the sync anew. */
  unfinishedSyncEpoch: Epoch | ''
  /** The highest number of an epoch that was ever seen. A new epoch lies above it. */
  maxEpoch: number
  /** UUID of the only cluster that may take the closed epoch over; empty: none has asked. It means nothing while writing. */
  successor: string
  /** When the last staged journal entry was written, epoch milliseconds by the clock of its writer; 0 or absent: unknown. Status shows it. */
  stagedAt?: number
  /** Name of the link by which this cluster follows; empty: it never followed. What comes by another link is not taken any more. */
  link: string
}

/** Names of fields, each as it is called. */
type Fields = { readonly [K in keyof Head]-?: K }

const all: { readonly [K in keyof Head]-?: true } = {
  mode: true,
  epoch: true,
  own: true,
  last: true,
  applied: true,
  incarnation: true,
  lineage: true,
  retainedFrom: true,
  replayUntil: true,
  unfinishedSync: true,
  unfinishedSyncEpoch: true,
  maxEpoch: true,
  successor: true,
  stagedAt: true,
  link: true,
}

const f = Object.fromEntries(Object.keys(all).map(name => [name, name])) as unknown as Fields

/**
 * A statement about a head that the engine can judge as well: the value of a field, or the field against another one.
 * `within`: the number of an epoch is not above the other field.
 */
export type Fact =
  | { readonly field: keyof Head; readonly among: readonly unknown[] }
  | { readonly field: keyof Head; readonly isNot: unknown }
  | { readonly field: keyof Head; readonly than: FieldRelation; readonly other: keyof Head }

export type FieldRelation = 'upTo' | 'below' | 'same' | 'within'

/** Relations between fields, each as a sentence: one of the facts holds; or, of the lineage, what only we can judge. */
export type HeadRule =
  | { readonly says: string; readonly oneOf: readonly Fact[] }
  | {
      readonly says: string
      readonly of: readonly (keyof Head)[]
      readonly holds: (head: Head) => boolean
    }

const is = (field: keyof Head, ...among: readonly unknown[]): Fact => ({ field, among })
const isNot = (field: keyof Head, value: unknown): Fact => ({ field, isNot: value })
const compared = (field: keyof Head, than: FieldRelation, other: keyof Head): Fact => ({ field, than, other })
const modeIs = (...among: readonly HeadMode[]): Fact => is(f.mode, ...among)

/**
 * The invariants of the head, `retainedFrom <= applied <= last` first. What a move would break is refused, by the engine too: they
 * stand in the condition of every write.
 */
export const headRules = {
  applied: {
    says: 'nothing is applied, or known to be dense, that was not given away or staged',
    oneOf: [compared(f.applied, 'upTo', f.last)],
  },
  kept: {
    says: 'what is not applied yet is kept',
    oneOf: [compared(f.retainedFrom, 'upTo', f.applied)],
  },
  writer: {
    says: 'who writes, writes in its own epoch',
    oneOf: [modeIs('closed', 'applying', 'draining', 'syncing'), compared(f.own, 'same', f.epoch)],
  },
  follower: {
    says: 'who applies the journal of another cluster has no epoch of its own',
    oneOf: [modeIs('writing', 'closed', 'syncing'), is(f.own, '')],
  },
  owner: {
    says: 'an own epoch is that of the last position',
    oneOf: [is(f.own, ''), compared(f.own, 'same', f.epoch)],
  },
  numbered: {
    says: 'no epoch has a number above the highest that was seen',
    oneOf: [compared(f.epoch, 'within', f.maxEpoch)],
  },
  touching: {
    says: 'a sync under way has noted what it may touch',
    oneOf: [modeIs('writing', 'closed', 'applying', 'draining'), isNot(f.unfinishedSync, null)],
  },
  replaying: {
    says: 'a replay lasts only while what its sync has touched is noted',
    oneOf: [is(f.replayUntil, 0), isNot(f.unfinishedSync, null)],
  },
  replayed: {
    says: 'a replay with its source ends where all of it is applied',
    oneOf: [is(f.unfinishedSyncEpoch, ''), compared(f.applied, 'below', f.replayUntil)],
  },
  alone: {
    says: 'who writes, or has ended its journal, replays nothing',
    oneOf: [modeIs('applying', 'draining', 'syncing'), is(f.replayUntil, 0)],
  },
  lineage: {
    says: 'the lineage rises, ends at the last position or before it, and has twelve epochs at most',
    of: [f.lineage, f.epoch, f.last],
    holds: ({ lineage, epoch, last }) => {
      const [lastEpoch, lastStart] = lineage.at(-1) ?? ['', 0]
      const rises = lineage.every(([one, start], index) => {
        const [before, startBefore] = lineage[index - 1] ?? ['', 0]
        return one > before && start > startBefore
      })
      return rises && lineage.length <= LONGEST_LINEAGE && lastEpoch <= epoch && lastStart <= last + 1
    },
  },
} satisfies Readonly<Record<string, HeadRule>>

export type HeadRuleName = keyof typeof headRules

export const headRuleList: readonly (readonly [HeadRuleName, HeadRule])[] = Object.entries(
  headRules,
) as unknown as readonly (readonly [HeadRuleName, HeadRule])[]

/** Fields that no move makes less. */
export const growing: readonly (keyof Head)[] = [f.incarnation, f.maxEpoch]

/** Whether a fact holds; undefined where a field that it speaks of is not known. */
export function judgeFact(fact: Fact, head: Partial<Head>): boolean | undefined {
  const value = head[fact.field]
  if (value === undefined) return undefined
  if ('among' in fact) return fact.among.includes(value)
  if ('isNot' in fact) return value !== fact.isNot
  const other = head[fact.other]
  if (other === undefined) return undefined
  if (fact.than === 'same') return value === other
  if (fact.than === 'within') return epochNumber(String(value)) <= Number(other)
  return fact.than === 'upTo' ? Number(value) <= Number(other) : Number(value) < Number(other)
}

/** Rules that a head breaks, by name; of one that is known in part, those that it breaks whatever the rest is. */
export function brokenRules(head: Partial<Head>): HeadRuleName[] {
  return headRuleList.flatMap(([name, rule]) => {
    if ('oneOf' in rule) return rule.oneOf.every(fact => judgeFact(fact, head) === false) ? [name] : []
    return rule.of.some(field => head[field] === undefined) || rule.holds(head as Head) ? [] : [name]
  })
}

/** The last position given away, or staged. */
export const lastPosition = ({ epoch, last }: Pick<Head, 'epoch' | 'last'>): Position => ({
  epoch,
  seq: last,
})

/** The head of a journal that begins. @param number of the epoch */
export const firstHead = (epoch: Epoch, number: number): Head => ({
  mode: 'writing',
  epoch,
  own: epoch,
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
