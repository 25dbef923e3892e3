import { beforeAll, describe, expect, test } from 'vitest'
import { invariants } from '../../support/set/checks/all.ts'
import { cellsIn } from '../../support/set/checks/cells.ts'
import { type Changed, type Entry, type History, placeName, violationsIn } from '../../support/set/history.ts'
import type { RawItem } from '../../support/set/mirror.ts'
import { NAMES, play, warmSnapshot } from '../../support/set/play.ts'

// A check that finds nothing proves nothing: each of them is shown a history in which its rule is broken.

let good: History

beforeAll(async () => {
  const { history, violations } = await play(2, await warmSnapshot(), 25)
  expect(violations).toEqual([])
  good = history
})

type Patch = (history: Entry[]) => void

const rulesBroken = (patch: Patch): string[] => {
  const history = [...good]
  patch(history)
  return violationsIn(history, invariants).map(({ rule }) => rule)
}

const isWritten = (entry: Entry): entry is Extract<Entry, { changes: unknown }> => entry.what === 'written'

/** The last entry that fits. */
function last(history: readonly Entry[], fits: (entry: Extract<Entry, { changes: unknown }>) => boolean) {
  const index = history.findLastIndex(entry => isWritten(entry) && fits(entry))
  const entry = history[index]
  if (!entry || !isWritten(entry)) throw new Error('nothing in this history fits')
  return { index, entry }
}

const isCommit = (entry: Entry): boolean =>
  entry.cluster === 'east' &&
  'changes' in entry &&
  entry.changes.length > 1 &&
  cellsIn(entry).some(({ body }) => body.length > 0)

/** The last commit, without some of its changes. */
const without =
  (gone: (change: Changed) => boolean): Patch =>
  history => {
    const { index, entry } = last(history, isCommit)
    history[index] = { ...entry, changes: entry.changes.filter(change => !gone(change)) }
  }

/** What stands at a place of the table `cluster` in the end. */
function standingAt(history: readonly Entry[], cluster: string, name: string): Changed {
  const all = history.flatMap(entry => ('changes' in entry && entry.cluster === cluster ? entry.changes : []))
  const found = all.findLast(change => change.table === 'cluster' && placeName(change) === name)
  if (!found?.after) throw new Error(`${cluster} has no ${name}`)
  return found
}

/** Something is written over an item of a cluster, before all come to rest. */
const over =
  (cluster: string, name: string, change: (item: RawItem) => RawItem): Patch =>
  history => {
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

/** A cell behind the end of the primary's journal. */
const laterCell =
  (cluster: string): Patch =>
  history => {
    const { entry } = last(history, isCommit)
    const cell = entry.changes.find(({ pk }) => pk.startsWith('j#')) as Changed
    const sk = String(Number(cell.sk) + 1000).padStart(12, '0')
    const changes = [{ ...cell, sk, after: { ...cell.after, sk } }]
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
  oneOwner: laterCell('west'),
  immutable: history => {
    const { entry } = last(history, isCommit)
    const cell = entry.changes.find(({ pk }) => pk.startsWith('j#')) as Changed
    const changes = [{ ...cell, before: undefined, after: { ...cell.after, id: 'another' } }]
    history.push({ ...entry, cluster: 'west', changes })
  },
  exactEnd: together(over('east', record, withData({ mode: 'secondary' })), laterCell('east')),
  staged: over('west', head, item => ({ ...item, seq: Number(item['seq']) + 1 })),
  named: without(({ pk }) => pk.startsWith('j#')),
  sums: without(isBucket),
  order: history => {
    const { entry } = last(history, isCommit)
    const bucket = entry.changes.find(isBucket) as Changed
    const changes = [{ ...bucket, before: bucket.after, after: { ...bucket.after, mark: '000000000/' } }]
    history.push({ ...entry, changes })
  },
  prefix: history => {
    const { index, entry } = last(history, one => one.cluster === 'west' && one.changes.some(isItem))
    history[index] = { ...entry, changes: entry.changes.filter(change => !isItem(change)) }
  },
  onePrimary: over('west', head, item => ({ ...item, mode: 'writing' })),
  oneSet: over('west', record, withData({ set: 'another' })),
  acknowledged: history => {
    history.push({ cluster: 'east', at: 0, process: -7, what: 'acknowledged', request: 'POST /x' })
  },
  even: over('west', head, item => ({
    ...item,
    seq: Number(item['seq']) - 1,
    done: Number(item['done']) - 1,
  })),
  kept: laterCell('east'),
}

describe('a check finds a history in which its rule is broken', () => {
  test('and nothing in one that is sound', () => {
    expect(violationsIn(good, invariants)).toEqual([])
    expect(good.at(-1)).toMatchObject({ what: 'rest', clusters: NAMES })
  })

  test.each(Object.entries(broken))('%s', (rule, patch) => {
    expect(rulesBroken(patch)).toContain(rule)
  })
})
