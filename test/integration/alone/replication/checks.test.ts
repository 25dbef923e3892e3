import { beforeAll, describe, expect, test } from 'vitest'
import type { JournalHead } from '../../../../shared/journal/head.ts'
import type { Journal, TransactionElement } from '../../../../shared/journal/journal.ts'
import { invariants } from '../../../support/set/checks/all.ts'
import { entriesIn } from '../../../support/set/checks/entries.ts'
import {
  type Changed,
  type Entry,
  follow,
  type History,
  placeName,
  type Standing,
  violationsIn,
} from '../../../support/set/history.ts'
import type { RawItem } from '../../../support/set/mirror.ts'
import { NAMES, play, type Warm, warmSnapshot } from '../../../support/set/play.ts'

// Tests the checks of games. Each check gets a history in which its rule is broken, because a check that
// never fails proves nothing.

let good: History
let from: Warm
/** The names of the cluster that writes at the end, and of a cluster that follows it. */
const who = { primary: '', follower: '' }

beforeAll(async () => {
  from = await warmSnapshot({ memory: true })
  const { history, violations } = await play(2, from, { length: 25, memory: true })
  expect(violations).toEqual([])
  good = history
  const world = new Map<string, Standing>()
  for (const entry of good) follow(world, entry)
  const named = (mode: JournalHead['mode']) =>
    [...world].find(([, { head }]) => head?.mode === mode)?.[0] ?? ''
  Object.assign(who, { primary: named('writing'), follower: named('applying') })
})

type Patch = (history: Entry[]) => void

const rulesBroken = (patch: Patch): string[] => {
  const history = [...good]
  patch(history)
  return violationsIn(history, invariants).map(({ rule }) => rule)
}

const isWritten = (entry: Entry): entry is Extract<Entry, { changes: unknown }> => entry.what === 'written'

/** Returns the last matching event of a history. */
function last(history: readonly Entry[], fits: (entry: Extract<Entry, { changes: unknown }>) => boolean) {
  const index = history.findLastIndex(entry => isWritten(entry) && fits(entry))
  const entry = history[index]
  if (!entry || !isWritten(entry)) throw new Error('nothing in this history fits')
  return { index, entry }
}

const isCommit = (entry: Entry): boolean =>
  entry.cluster === who.primary &&
  'changes' in entry &&
  entry.changes.length > 1 &&
  entriesIn(entry).some(({ body }) => body.length > 0)

/** Returns the last commit without some of its changes. */
const without =
  (gone: (change: Changed) => boolean): Patch =>
  history => {
    const { index, entry } = last(history, isCommit)
    history[index] = { ...entry, changes: entry.changes.filter(change => !gone(change)) }
  }

/** Returns the final item at a place of the table `cluster`. */
function standingAt(history: readonly Entry[], cluster: string, name: string): Changed {
  const all = history.flatMap(entry => ('changes' in entry && entry.cluster === cluster ? entry.changes : []))
  const found = all.findLast(change => change.table === 'cluster' && placeName(change) === name)
  if (!found?.after) throw new Error(`${cluster} has no ${name}`)
  return found
}

/** Overwrites an item of a cluster before the set comes to rest. */
const over =
  (of: keyof typeof who, name: string, change: (item: RawItem) => RawItem): Patch =>
  history => {
    const cluster = who[of]
    const { table, pk, sk, after = {} } = standingAt(history, cluster, name)
    const changes = [{ table, pk, sk, before: after, after: change(after) }]
    const rest = history.findLastIndex(({ what }) => what === 'rest')
    history.splice(rest, 0, { cluster, at: good.at(-1)?.at ?? 0, process: -1, what: 'written', changes })
  }

const head = 'journal\nhead'
const record = 'cluster\nrecord'
const withData = (change: object) => (item: RawItem) => ({
  ...item,
  data: { ...(item['data'] as object), ...change },
})

/** Adds a journal entry after the end of the primary's journal. */
const laterEntry =
  (of: keyof typeof who): Patch =>
  history => {
    const cluster = who[of]
    const { entry } = last(history, isCommit)
    const journalEntry = entry.changes.find(({ pk }) => pk.startsWith('j#')) as Changed
    const sk = String(Number(journalEntry.sk) + 1000).padStart(12, '0')
    const changes = [{ ...journalEntry, sk, after: { ...journalEntry.after, sk } }]
    const rest = history.findLastIndex(({ what }) => what === 'rest')
    history.splice(rest, 0, { ...entry, cluster, changes })
  }

const together =
  (...patches: Patch[]): Patch =>
  history => {
    for (const patch of patches) patch(history)
  }

const isBucket = ({ pk }: Changed): boolean => pk.startsWith('t#')
const isItem = ({ table }: Changed): boolean => table === 'data'

const broken: Record<keyof typeof invariants, Patch> = {
  oneOwner: laterEntry('follower'),
  immutable: history => {
    const { entry } = last(history, isCommit)
    const journalEntry = entry.changes.find(({ pk }) => pk.startsWith('j#')) as Changed
    const changes = [{ ...journalEntry, before: undefined, after: { ...journalEntry.after, id: 'another' } }]
    history.push({ ...entry, cluster: who.follower, changes })
  },
  exactEnd: together(over('primary', record, withData({ mode: 'secondary' })), laterEntry('primary')),
  lawful: over('follower', head, item => ({ ...item, applied: Number(item['last']) + 1 })),
  staged: over('follower', head, item => ({ ...item, last: Number(item['last']) + 1 })),
  named: without(({ pk }) => pk.startsWith('j#')),
  sums: without(isBucket),
  order: history => {
    const { entry } = last(history, isCommit)
    const bucket = entry.changes.find(isBucket) as Changed
    const changes = [{ ...bucket, before: bucket.after, after: { ...bucket.after, mark: '000000000/' } }]
    history.push({ ...entry, changes })
  },
  prefix: history => {
    const { index, entry } = last(history, one => one.cluster === who.follower && one.changes.some(isItem))
    history[index] = { ...entry, changes: entry.changes.filter(change => !isItem(change)) }
  },
  onePrimary: over('follower', head, item => ({ ...item, mode: 'writing' })),
  oneSet: over('follower', record, withData({ set: 'another' })),
  acknowledged: history => {
    history.push({ cluster: who.primary, at: 0, process: -7, what: 'acknowledged', request: 'POST /x' })
  },
  even: over('follower', head, item => ({
    ...item,
    last: Number(item['last']) - 1,
    applied: Number(item['applied']) - 1,
  })),
  kept: laterEntry('primary'),
}

/** Writes the last journal entry of the primary to a cluster a second time. */
const again =
  (of: keyof typeof who): Patch =>
  history => {
    const { entry } = last(history, isCommit)
    const { after, ...journalEntry } = entry.changes.find(({ pk }) => pk.startsWith('j#')) as Changed
    history.push({
      ...entry,
      cluster: who[of],
      changes: [{ ...journalEntry, before: after, after: { ...after } }],
    })
  }

describe('the invariant checks of these tests', () => {
  test('find no broken rule in a sound history', () => {
    expect(violationsIn(good, invariants)).toEqual([])
    expect(good.at(-1)).toMatchObject({ what: 'rest', clusters: NAMES })
  })

  test('find a head field that decreases although the field may only grow', () => {
    const falls = over('follower', head, item => ({ ...item, incarnation: Number(item['incarnation']) - 1 }))
    expect(rulesBroken(falls)).toContain('lawful')
  })

  test('find a journal entry that its owner writes twice, but allow a follower to copy an entry twice', () => {
    expect(rulesBroken(again('follower'))).not.toContain('immutable')
    expect(rulesBroken(again('primary'))).toContain('immutable')
  })

  test.each(Object.entries(broken))('find a violation of the rule %s', (rule, patch) => {
    expect(rulesBroken(patch)).toContain(rule)
  })
})

describe('a random game of these tests finds a faulty cluster', () => {
  /** Removes some elements of each transaction. */
  const lacking =
    (lacks: (element: TransactionElement) => boolean) =>
    (journal: Journal): Journal => ({
      ...journal,
      transact: elements => journal.transact(elements.filter(element => !lacks(element))),
    })

  test.each<[rule: string, flaw: string, broken: (journal: Journal) => Journal]>([
    [
      'staged',
      'journal entries are not stored before the head names them',
      one => ({ ...one, putEntry: async () => 'done', putEntries: async () => 'done' }),
    ],
    ['sums', 'items are applied without their sums', lacking(element => 'bucket' in element)],
    [
      'prefix',
      'sums are applied without their items',
      lacking(element => 'item' in element && element.item.kind === 'policy'),
    ],
  ])('%s: %s', async (rule, _, broken) => {
    const { violations } = await play(2, from, { length: 25, memory: true, broken })
    expect(violations.map(one => one.rule)).toContain(rule)
  })
})
