import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JournalEntry } from '../../../../shared/journal/journal-entry.ts'
import { treeBucketOf, treeBucketText } from '../../../../shared/journal/tree.ts'
import type { ApplySettings } from '../../../../shared/replication/apply/judge.ts'
import {
  type ApplyTarget,
  applyEntryWindow,
  packEntryComponents,
  splitEntriesIntoComponents,
} from '../../../../shared/replication/apply/window.ts'
import type { StoredItem } from '../../../../shared/storage/requests.ts'
import {
  type Doing,
  nameOf,
  neighbours,
  type Place,
  policyAt,
  TREE_ID,
  tokenAt,
  writer,
} from '../../../builders/journal.ts'
import { seen, tables } from '../../../builders/tables.ts'

const { a, b, apart } = neighbours
const NOW = 2_000_000_000
const DAY = 86_400
const streaming: ApplySettings = { treeId: TREE_ID, incarnation: 1, replayUntil: 0, now: NOW }
const places: readonly Place[] = [a, b, apart, tokenAt('t'), tokenAt('u')]

/** Commits of one or two items each. An item is stored, or deleted if it exists. */
const history = fc.array(
  fc.uniqueArray(
    fc.record({ place: fc.nat(places.length - 1), puts: fc.boolean(), days: fc.constantFrom(1, 5, 9, 50) }),
    { minLength: 1, maxLength: 2, selector: one => one.place },
  ),
  { minLength: 1, maxLength: 25 },
)

function written(commits: readonly { place: number; puts: boolean; days: number }[][]) {
  const w = writer()
  for (const [index, some] of commits.entries()) {
    const doings = some.flatMap(({ place, puts, days }): Doing[] => {
      const one = places[place]
      if (!one) return []
      if (!puts) return w.items.has(nameOf(one)) ? [[one, null]] : []
      return [one.kind === 'token' ? [one, `v${index}`, NOW + days * DAY] : [one, `v${index}`]]
    })
    if (doings.length > 0) w.commit(NOW * 1000, ...doings)
  }
  return w
}

/** Returns the states that journal entries gave an item. */
const stateAt = (entries: readonly JournalEntry[], place: Place): StoredItem | null | undefined =>
  entries.flatMap(entry => entry.body).findLast(one => nameOf(one) === nameOf(place))?.item

/** Random waits and choices. */
function chance(seed: number) {
  let state = seed
  const next = () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) | 0
    return ((state ^ (state >>> 12)) >>> 0) / 2 ** 32
  }
  return {
    of: (share: number) => next() < share,
    wait: async (most: number) => {
      for (let turns = Math.floor(next() * most); turns > 0; turns--) await Promise.resolve()
    },
  }
}

class Crash extends Error {}

/**
 * Makes tables whose calls are delayed, whose answers get lost, and whose callers crash. Some writes take
 * effect long afterwards.
 */
function troubled(at: ReturnType<typeof tables>, seed: number, late: (() => void)[]): ApplyTarget {
  const { of, wait } = chance(seed)
  return {
    find: async pieces => {
      await wait(4)
      const found = at.find(pieces)
      await wait(4)
      return found
    },
    write: async steps => {
      await wait(6)
      if (of(0.1)) return 'conflict'
      if (of(0.1)) late.push(() => at.write(steps))
      if (of(0.1)) throw new Crash('before it took effect')
      const result = at.write(steps)
      await wait(6)
      if (of(0.1)) throw new Crash('after it took effect')
      return result
    },
    pause: () => wait(10),
  }
}

/** Applies a window by several processes concurrently, until one succeeds. */
async function byMany(
  entries: readonly JournalEntry[],
  setting: ApplySettings,
  at: ReturnType<typeof tables>,
  seed: number,
  cuts: readonly number[] = [],
) {
  const late: (() => void)[] = []
  const process = async (target: ApplyTarget, index: number) => {
    const cut = cuts[index] ?? entries.length
    for (let tries = 0; ; tries++) {
      try {
        for (const window of [entries.slice(0, cut), entries.slice(cut)]) {
          const { busy, mismatch } = await applyEntryWindow(window, setting, target)
          expect(mismatch).toEqual([])
          if (busy) throw new Crash('somebody is in the way')
        }
        return
      } catch (error) {
        if (!(error instanceof Crash)) throw error
        if (tries > 200) throw new Error('it never ends')
      }
    }
  }
  await Promise.all([1, 2, 3].map((n, index) => process(troubled(at, seed * 7 + n, late), index)))
  return late
}

describe('applying a window of journal entries', () => {
  test('a window gives the secondary the source’s items and sums', async () => {
    await fc.assert(
      fc.asyncProperty(history, async commits => {
        const { entries, items } = written(commits)
        const at = tables()
        expect(await applyEntryWindow(entries, streaming, at.target)).toEqual({ busy: false, mismatch: [] })
        expect(seen(at.items)).toEqual(seen(items))
        expect(at.tree(NOW).kept).toEqual(at.tree(NOW).right)
      }),
    )
  })

  test('a window applied by several processes that crash and write late gives the same result', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.nat(), async (commits, seed) => {
        const { entries, items } = written(commits)
        const at = tables()
        const half = Math.ceil(entries.length / 2)
        const late = await byMany(entries.slice(0, half), streaming, at, seed)
        late.push(...(await byMany(entries.slice(half), streaming, at, seed + 1)))
        expect(seen(at.items)).toEqual(seen(items))
        for (const write of late) write()
        expect(seen(at.items)).toEqual(seen(items))
        expect(at.tree(NOW).kept).toEqual(at.tree(NOW).right)
      }),
    )
  })

  test('a window split at any place, differently by each process, gives the same result', async () => {
    const cuts = fc.array(fc.nat(), { minLength: 3, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(history, cuts, fc.nat(), async (commits, moments, seed) => {
        const { entries, items } = written(commits)
        const at = tables()
        const own = moments.map(moment => moment % (entries.length + 1))
        const late = await byMany(entries, streaming, at, seed, own)
        for (const write of late) write()
        expect(seen(at.items)).toEqual(seen(items))
        expect(at.tree(NOW).kept).toEqual(at.tree(NOW).right)
      }),
    )
  })

  test('a window writes each item once however often the item changed, within DynamoDB’s transaction limits', async () => {
    const w = writer()
    for (let n = 0; n < 250; n++) w.commit(0, [n % 2 ? a : b, `${n}`], [policyAt(`n${n}`), 'v'])
    const large = 'x'.repeat(300_000)
    for (let n = 0; n < 12; n++) w.commit(0, [policyAt(`large${n}`), large])
    const at = tables()
    const sizes: { puts: number; bytes: number }[] = []
    const target: ApplyTarget = {
      ...at.target,
      write: async steps => {
        const puts = steps.flatMap(({ items }) => items)
        sizes.push({ puts: puts.length + steps.length, bytes: JSON.stringify(puts).length })
        return at.write(steps)
      },
    }
    expect(await applyEntryWindow(w.entries, streaming, target)).toEqual({ busy: false, mismatch: [] })
    expect(seen(at.items)).toEqual(seen(w.items))
    expect(at.tree(NOW).kept).toEqual(at.tree(NOW).right)
    expect(sizes.reduce((sum, { puts }) => sum + puts, 0)).toBeLessThan(2 * (w.items.size + 1))
    expect(Math.max(...sizes.map(({ puts }) => puts))).toBeLessThanOrEqual(98)
    expect(Math.max(...sizes.map(({ bytes }) => bytes))).toBeLessThan(4 * 2 ** 20)
  })

  test('a window replayed over items that a sync fetched during writes gives the same result', async () => {
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.nat(),
        fc.array(fc.nat(), { minLength: places.length, maxLength: places.length }),
        fc.nat(),
        async (commits, cut, moments, seed) => {
          const { entries, items } = written(commits)
          const start = cut % (entries.length + 1)
          // each item is fetched in its state at some moment after the start
          const fetched = new Map<string, StoredItem>()
          for (const [index, place] of places.entries()) {
            const moment = start + ((moments[index] ?? 0) % (entries.length - start + 1))
            const item = stateAt(entries.slice(0, moment), place)
            if (item) fetched.set(nameOf(place), item)
          }
          const at = tables(fetched)
          await byMany(
            entries.slice(start),
            { ...streaming, incarnation: 3, replayUntil: entries.length },
            at,
            seed,
          )
          expect(seen(at.items)).toEqual(seen(items))
          expect(at.tree(NOW).kept).toEqual(at.tree(NOW).right)
        },
      ),
    )
  })

  test('a window returns the items that mismatch, and applies all unrelated changes', async () => {
    const w = writer()
    w.commit(0, [a, '1'], [apart, '1'])
    w.commit(0, [a, '2'])
    w.commit(0, [apart, '2'])
    w.commit(0, [b, '1'])
    const at = tables()
    const result = await applyEntryWindow(w.entries.slice(1), streaming, at.target)
    expect(result).toEqual({ busy: false, mismatch: [a, apart] })
    expect(at.items.size).toBe(0)
  })

  test('a window is busy while all its writes conflict', async () => {
    const w = writer()
    w.commit(0, [a, '1'])
    const at = tables()
    const target: ApplyTarget = { ...at.target, write: async () => 'conflict' }
    expect(await applyEntryWindow(w.entries, streaming, target)).toEqual({ busy: true, mismatch: [] })
  })
})

describe('components of a window', () => {
  test('each change is in exactly one piece, and no two components share a bucket', () => {
    const place = fc.oneof(
      fc.constantFrom(a, b, apart),
      fc.integer({ min: 0, max: 5 }).map(n => tokenAt(`t${n}`)),
    )
    const commits = fc.array(
      fc.uniqueArray(place, { minLength: 1, maxLength: 4, selector: one => one.pk + one.sk }),
      {
        maxLength: 12,
      },
    )
    fc.assert(
      fc.property(commits, all => {
        const { commit, entries } = writer()
        for (const places of all) commit(0, ...places.map(one => [one, 'v'] as const))
        const components = splitEntriesIntoComponents(TREE_ID, entries)
        const buckets = components.map(one => [
          ...new Set(
            one.flatMap(piece =>
              piece.changes.map(({ kind, pk, sk }) => treeBucketText(treeBucketOf(TREE_ID, kind, pk, sk))),
            ),
          ),
        ])
        expect(buckets.every(one => one.length === 1)).toBe(true)
        expect(new Set(buckets.flat()).size).toBe(components.length)
        expect(components.flatMap(one => one.flatMap(piece => piece.changes)).length).toBe(
          entries.flatMap(entry => entry.body).length,
        )
        for (const one of components) {
          const seqs = one.map(piece => piece.seq)
          expect(seqs).toEqual([...new Set(seqs)].sort((x, y) => x - y))
        }
      }),
    )
  })

  test('two changes of one journal entry in one bucket are one piece', () => {
    const { commit, entries } = writer()
    commit(0, [a, '1'], [apart, '1'], [b, '1'])
    const components = splitEntriesIntoComponents(TREE_ID, entries)
    expect(components.map(one => one.map(piece => piece.changes.map(change => change.sk)))).toEqual([
      [[a.sk, b.sk]],
      [[apart.sk]],
    ])
  })

  test('a token whose expiry changes stays in one component, in journal order', () => {
    const { commit, entries } = writer()
    const token = tokenAt('t')
    const DAY = 86_400
    for (const days of [1, 9, 3, 400, 2]) commit(0, [token, `${days}`, days * DAY])
    const [only, ...others] = splitEntriesIntoComponents(TREE_ID, entries)
    expect(others).toEqual([])
    expect(only?.map(piece => piece.seq)).toEqual([1, 2, 3, 4, 5])
  })

  test('a journal entry without changes is in no component', () => {
    expect(
      splitEntriesIntoComponents(TREE_ID, [
        { epoch: '000001.aaaaaaaaaaaa', seq: 1, id: '', at: 0, body: [], noop: true },
      ]),
    ).toEqual([])
  })
})

describe('grouping pieces into transactions', () => {
  const pieces = (count: number, changes = 1) => {
    const { commit, entries } = writer()
    for (let n = 0; n < count; n++)
      commit(0, ...Array.from({ length: changes }, (_, i) => [policyAt(`n${n}-${i}`), 'v'] as const))
    return splitEntriesIntoComponents(TREE_ID, entries).map(one => one.slice(0, 1))
  }

  test('a transaction has at most 98 elements, and each piece is in one', () => {
    const all = pieces(300)
    const groups = packEntryComponents(all, 2)
    expect(groups.flat()).toEqual(all)
    for (const group of groups)
      expect(group.flat().reduce((sum, { changes }) => sum + changes.length + 1, 0)).toBeLessThanOrEqual(98)
  })

  test('pieces are distributed to all workers before transactions are filled', () => {
    expect(packEntryComponents(pieces(16), 8).map(one => one.length)).toEqual([2, 2, 2, 2, 2, 2, 2, 2])
  })
})
